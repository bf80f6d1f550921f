"""What ended without a solution says so; what did not, says nothing."""

import numpy as np
import pytest

from prism.errors import FailedRun
from prism.solution.evaluation import Evaluation
from prism.solution.held_out import HeldOutResidual
from prism.solution.training_record import TrainingRecord
from prism.solving.verdict import doubts, fall_in_the_second_half, refuse_diverged


def evaluation(error: float, trivial: float = 0.5, blind: float = 0.2, uncertainty: float | None = None) -> Evaluation:
    skill = error / blind
    errors = (error, 0.0, error, trivial, blind, None, skill)
    return Evaluation(10, 5, *errors, (), error, trivial, blind, "a multiple", uncertainty)


def history(fall: float, errors: bool = True, count: int = 40):
    """A curve that falls by a factor between its middle and its end, geometrically."""
    sizes = np.exp(-np.log(fall) * np.linspace(0.0, 2.0, count))
    error = lambda size: float(size) if errors else None
    return tuple(TrainingRecord(n, float(n), float(s) ** 2, error(s), None, 0) for n, s in enumerate(sizes, start=1))


CALM = history(1.5)
GOOD, BAD = evaluation(0.01), evaluation(0.6)

SAID = {
    "no step": ((0, None, ()), "no step was made"),
    "above the trivial answer": ((9, BAD, CALM), "no better than the trivial answer (0.6 against 0.5)"),
    "μ ignored": ((9, evaluation(0.3), CALM), "ignores the parameters (skill 1.5)"),
    "a residual above that of a constant": ((9, HeldOutResidual(9, 0.8, 0.7, {}), CALM), "no better than the trivial"),
    "a residual that means nothing": ((9, HeldOutResidual(9, 0.3, 0.9, {}), CALM), "still 30 % of that of predicting"),
    "a condition that is missed": ((9, HeldOutResidual(9, 1e-3, 0.9, {"rim": 0.5}), CALM), "still 50 %"),
    "an error that falls": ((9, GOOD, history(10.0)), "still falling fast"),
    "a loss that falls": ((9, GOOD, history(10.0, errors=False)), "still falling fast"),
    "nothing known": ((9, None, history(10.0)), "still falling fast"),
}
UNSAID = {
    "a good run": (9, GOOD, CALM),
    "rounding": (9, evaluation(1.1e-7, trivial=1e-7), CALM),
    "as good as its reference": (9, evaluation(2e-5, trivial=1.9e-5, uncertainty=5e-5), CALM),
    "a small residual": (9, HeldOutResidual(9, 1e-3, 0.9, {}), CALM),
    "good already": (9, evaluation(1e-3), history(10.0)),
    "too short to tell": (9, GOOD, history(10.0, count=4)),
    "one record": (1, GOOD, history(1.0, count=1)),
}


@pytest.mark.parametrize("judged", [evaluation(2e3), HeldOutResidual(9, 2e3, 0.9, {})], ids=["error", "residual"])
def test_what_is_thousands_of_times_as_wrong_as_nothing_is_no_result(judged):
    with pytest.raises(FailedRun, match=r"training diverged: it ended 2e\+03 times as wrong .*lower rate"):
        refuse_diverged(judged, lambda: evaluation(1.0))


@pytest.mark.parametrize(("error", "before"), [(30.0, 1e-3), (5e3, 5e3)], ids=["a bad one", "a bad beginning"])
def test_what_is_bad_is_a_result_still(error, before):
    refuse_diverged(evaluation(error), lambda: evaluation(before))


@pytest.mark.parametrize(("ended", "words"), SAID.values(), ids=SAID)
def test_a_doubt_is_one_line(ended, words):
    found = doubts(*ended)
    assert any(words in doubt for doubt in found), found
    assert all(len(doubt.splitlines()) == 1 for doubt in found)


@pytest.mark.parametrize("ended", UNSAID.values(), ids=UNSAID)
def test_no_doubt_without_a_reason(ended):
    assert doubts(*ended) == ()


def test_the_fall_is_from_the_middle_to_the_end():
    # Means of logarithms over [0.4, 0.6] and [0.9, 1.0]: 0.45 of the whole time apart, of a fall of 100 over all of it.
    curve = [(float(n), float(10.0 ** (-2.0 * n / 100.0))) for n in range(101)]
    assert fall_in_the_second_half(curve) == pytest.approx(100.0**0.45)
