"""Training steps side by side: rounds in turn, ratios within a round, and a training that begins anew."""

from types import SimpleNamespace

import pytest
from studies.bench import SMALL

from prism import Adam, Sampling
from prism.families import GKdV
from prism.solving.settings import Settings
from prism.studies import steppers
from prism.studies.peers.nested import NestedObjective
from prism.studies.steppers import EACH_ROUND, Stepper, measured, ratio_quartiles, speed, timed


class Counted(Stepper):
    """A stepper that makes no steps: each takes so many seconds, as long as the machine is not slower."""

    flop = 5.0

    def __init__(self, name: str, seconds: float, calls: list):
        self.name, self.seconds, self.calls, self.compile_seconds = name, seconds, calls, 3.0

    def seconds_per_step(self, steps: int) -> float:
        self.calls.append((self.name, steps))
        return self.seconds

    def evaluated(self, seconds: float, points: int | None = None):
        self.calls.append((self.name, seconds))
        return SimpleNamespace(relative_l2=0.1, trivial_error=0.9, mu_blind_error=0.2, skill=0.5), 17


def pair(calls: list, first: float = 0.1) -> dict:
    return {"first": Counted("first", first, calls), "second": Counted("second", 0.4, calls)}


def test_rounds_go_through_all_in_turn():
    """As many steps of each as the first of them makes in the time of a round; before that each is tried."""
    calls = []
    found = timed(pair(calls))
    rounds = calls[-2 * steppers.ROUNDS :]
    assert rounds == [("first", 5), ("second", 5)] * steppers.ROUNDS
    assert {name for name, _ in calls[: -2 * steppers.ROUNDS]} == {"first", "second"}
    assert found == {"first": [0.1] * steppers.ROUNDS, "second": [0.4] * steppers.ROUNDS}


def test_a_round_has_a_step_more_than_one():
    calls = []
    timed(pair(calls, first=10.0))
    assert calls[-1] == ("second", steppers.FEWEST_STEPS)


def test_each_has_its_measurement():
    """Timed together, then trained one after the other for the same seconds."""
    calls = []
    found = measured("way", pair(calls), 7.0, {"d": 3})
    assert calls[-2:] == [("first", 7.0), ("second", 7.0)]
    assert [one["way"] for one in found] == ["first", "second"]
    assert [one[EACH_ROUND][0] for one in found] == [0.1, 0.4]
    expected = {"d": 3, "compile seconds": 3.0, "FLOP per step": 5.0, "seconds": 7.0, "steps": 17}
    errors = {"relative L2": 0.1, "trivial": 0.9, "μ-blind": 0.2, "skill": 0.5}
    for one in found:
        assert {**one, **expected, **errors} == one


def test_a_slow_round_changes_neither_speed_nor_ratio():
    assert speed({EACH_ROUND: [0.5, 50.0, 0.25]}) == 2.0
    assert ratio_quartiles([2.0, 20.0, 200.0], [1.0, 10.0, 100.0]) == (2.0, 2.0, 2.0)
    assert ratio_quartiles([1.0, 2.0, 3.0], [1.0, 1.0, 1.0]) == (1.5, 2.0, 2.5)


def small(family, **choices) -> Settings:
    return Settings.choose(family, optimiser=Adam(), architecture=SMALL, sampling=Sampling(4, 4), **choices)


def test_training_begins_anew():
    """The program overwrites the state that it is given, but not the one that all trainings begin with."""
    family = GKdV.create()
    stepper = Stepper(family, small(family))
    assert stepper.flop > 0
    assert stepper.bytes > 0
    assert stepper.seconds_per_step(100) > 0
    for _ in range(2):
        state, steps = stepper.trained(0.02)
        assert 0 < steps == int(state.step)


@pytest.mark.slow
def test_what_is_exchanged_is_what_is_minimised():
    family = GKdV.create()
    state, steps = Stepper(family, small(family), NestedObjective.of).trained(0.05)
    assert isinstance(state.objective, NestedObjective)
    assert steps > 0
