"""Time gone and left, and durations in words."""

import pytest

from prism.reporting.countdown import Countdown, duration


def test_what_is_left_is_the_plan_at_the_speed_of_this_machine():
    """Parts of 10, 20 and 30 planned seconds that take twice as long; 20 s, the mean, counts as planned besides."""
    said: list[str] = []
    times = iter([100.0, 100.0, 120.0, 160.0])
    begin = Countdown([10.0, 20.0, 30.0], said.append, lambda: next(times))
    for name in ("first", "second", "third"):
        begin(name)
    assert said == [
        "1 of 3, 00:00 gone, about 01:00 left: first",
        "2 of 3, 00:20 gone, about 01:06 left: second",  # (20 + 20)/(10 + 20) of 50 s
        "3 of 3, 01:00 gone, about 00:48 left: third",  # (60 + 20)/(30 + 20) of 30 s
    ]


def test_more_parts_than_planned():
    said: list[str] = []
    begin = Countdown([10.0], said.append, lambda: 0.0)
    begin("planned")
    begin("not planned")
    assert said[-1] == "2 of 2, 00:00 gone, about 00:00 left: not planned"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3.0, "10 seconds"), (64.0, "60 seconds"), (340.0, "6 minutes"), (5_900.0, "98 minutes"), (7_353.0, "2.0 hours")],
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words
