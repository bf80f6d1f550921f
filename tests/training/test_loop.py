"""The loop: budgets of steps and minutes, and a failing run that goes back and halves its rate."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import pytest
from training.states import Recorder, finite, recorded_state

from prism.errors import FailedRun, InputError
from prism.training import loop
from prism.training.advance import PATIENCE, TrainingState
from prism.training.loop import RESCUES, Budget, train
from prism.training.program import Program


def same(state: TrainingState) -> TrainingState:
    return state


def test_a_failing_run_goes_back_and_halves_its_rate():
    recorder = Recorder(100, frozenset({3}))
    program = Program.trace(recorded_state(recorder), recorder)
    failing, seen = [], []

    def restore(state: TrainingState) -> TrainingState:
        failing.append(int(state.skipped))
        return recorded_state(recorder)  # at step 0, as from a checkpoint

    def run() -> None:
        for progress in train(program, recorded_state(recorder), Budget(steps=1000), 0.0, restore):
            seen.append((progress.step, float(progress.state.rate_factor), finite(progress.state.model)))

    with pytest.raises(FailedRun, match=rf"training failed at step {3 + PATIENCE}: .*rate lowered {RESCUES} times"):
        run()
    assert failing == [PATIENCE * (k + 1) for k in range(RESCUES)]
    factors = [factor for _, factor, _ in seen]
    assert sorted(set(factors), reverse=True) == [0.5**k for k in range(RESCUES + 1)]
    assert [step for step, factor, _ in seen].count(0) == RESCUES, "back to the checkpoint each time"
    assert all(finite for _, _, finite in seen)


# The budget of minutes, by a clock that only the program moves


class TimeChannel:
    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@dataclass(frozen=True)
class Pretended(Program):
    """A program whose k-th step of a run takes `seconds[k]` (the last for all that follow) and does nothing."""

    clock: TimeChannel | None = None
    seconds: tuple[float, ...] = (0.01,)
    horizons: tuple[list, ...] = ()

    def __call__(self, state, count, horizon):
        assert self.clock is not None
        first = int(state.step)
        taken = [self.seconds[min(k, len(self.seconds) - 1)] for k in range(first, first + count)]
        self.clock.now += sum(taken)
        self.horizons[0].append((first, count, horizon))
        return eqx.tree_at(lambda s: s.step, state, jnp.asarray(first + count, jnp.int32)), jnp.ones(())


@pytest.mark.parametrize("spent", [0.0, 4.0])
@pytest.mark.parametrize("seconds", [(0.01,), (0.3, 0.01), (0.001,), (0.4,)], ids=str)
def test_minutes_are_kept(monkeypatch, seconds, spent):
    clock = TimeChannel()
    monkeypatch.setattr(loop, "time", clock)
    recorder = Recorder(1)
    program = Pretended(None, recorder, clock, seconds, ([],))
    *_, last = train(program, recorded_state(recorder), Budget(minutes=0.1), spent, same)
    assert last.seconds == pytest.approx(spent + clock.now)
    # Spent up to the step that would not fit any more.
    assert 6.0 - seconds[-1] - 1e-6 <= last.seconds <= 6.0 + 1e-6
    first, count, horizon = program.horizons[0][-1]
    assert first + count == last.step
    assert horizon == pytest.approx(last.step, abs=1.0 + 0.01 * last.step), "the rate ends near zero"


def test_a_run_that_goes_on_keeps_its_pace(monkeypatch):
    """The rate of its first step is that of its place in the budget, not of a beginning."""
    clock = TimeChannel()
    monkeypatch.setattr(loop, "time", clock)
    recorder = Recorder(1)
    program = Pretended(None, recorder, clock, (0.01,), ([],))
    list(train(program, recorded_state(recorder), Budget(minutes=0.1), 5.9, same, per_step=0.01))
    assert program.horizons[0][0][2] == pytest.approx(10.0)
    assert list(train(program, recorded_state(recorder), Budget(minutes=0.1), 5.995, same, per_step=0.01)) == []


def test_a_spent_budget_takes_no_step(monkeypatch):
    recorder = Recorder(1)
    program = Pretended(None, recorder, TimeChannel(), (0.01,), ([],))
    state = recorded_state(recorder)
    assert list(train(program, state, Budget(minutes=0.1), 6.0, same)) == []
    later = eqx.tree_at(lambda s: s.step, state, jnp.asarray(10, jnp.int32))
    assert list(train(program, later, Budget(steps=10), 0.0, same)) == []
    assert list(train(program, later, Budget(steps=5), 0.0, same)) == []


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({}, "give one of steps and minutes"),
        ({"steps": 1, "minutes": 1.0}, "give one of steps and minutes"),
        ({"steps": 0}, "steps=0 does nothing"),
        ({"minutes": 0.0}, "minutes=0 does nothing"),
        ({"minutes": float("inf")}, "minutes=inf does nothing"),
    ],
    ids=str,
)
def test_a_budget_is_one_positive_number(budget, message):
    with pytest.raises(InputError, match=message):
        Budget(**budget)


def test_a_budget_is_spent_where_no_step_is_left_or_none_would_fit():
    assert Budget(steps=5).is_spent(5, 0.0, 1.0)
    assert not Budget(steps=5).is_spent(4, 1e9, 1.0)
    assert Budget(minutes=1.0).is_spent(1, 59.5, 1.0)
    assert not Budget(minutes=1.0).is_spent(10**9, 58.5, 1.0)
