"""The loop on the host: chunks of compiled steps until a budget of steps or minutes is spent.

`train` yields after every chunk; what the caller does in between (a progress bar, a test error, a checkpoint) is
not counted as training.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp

from prism.errors import FailedRun, InputError
from prism.numerics.ranges import LARGEST_SINGLE, MOST_COUNTED, fits_single_precision
from prism.training.advance import PATIENCE, TrainingState
from prism.training.guards import first_non_finite
from prism.training.optimisers import Optimiser
from prism.training.program import Program

CHUNK_SECONDS = 0.5
"""How long one compiled call should last: often enough to stop on a signal, seldom enough to cost nothing."""
RESCUES = 5
"""How often a failing run is rolled back and its rate halved before it is given up."""


@dataclass(frozen=True)
class Budget:
    """So many steps, or so many minutes of training: what is compiled, measured and saved beside it does not count."""

    steps: int | None = None
    minutes: float | None = None

    def __post_init__(self):
        if (self.steps is None) == (self.minutes is None):
            raise InputError("give one of steps and minutes")
        if self.steps is not None and self.steps < 1:
            raise InputError(f"steps={self.steps} does nothing; give 1 or more")
        if self.steps is not None and self.steps > MOST_COUNTED:
            raise InputError(f"more than {MOST_COUNTED} steps cannot be counted; give fewer")
        if self.minutes is not None and self.minutes > LARGEST_SINGLE / 60.0 and self.minutes != math.inf:
            raise InputError("minutes is beyond what a clock can count; give a smaller number")
        if self.minutes is not None and not (self.minutes > 0.0 and fits_single_precision(self.minutes)):
            raise InputError(f"minutes={self.minutes:g} does nothing; give a positive number")

    @property
    def seconds(self) -> float | None:
        """Of training; None where steps are counted."""
        return None if self.minutes is None else 60.0 * self.minutes

    def fraction(self, step: int, seconds: float) -> float:
        """How much of it is spent."""
        return min(1.0, step / self.steps if self.steps else seconds / (self.seconds or math.inf))

    def is_spent(self, step: int, seconds: float, seconds_per_step: float) -> bool:
        """Whether a run that has come so far makes no further step: none is left, or none would fit."""
        return step >= self.steps if self.steps is not None else seconds + seconds_per_step >= (self.seconds or 0.0)

    def describe(self) -> str:
        """For a reader."""
        return f"{self.steps:,} steps" if self.steps is not None else f"{self.minutes:g} minutes of training"


@dataclass(frozen=True)
class Progress:
    """Where a run stands after a chunk."""

    state: TrainingState
    step: int
    loss: float | None
    seconds: float
    seconds_per_step: float
    skipped: int
    fraction: float
    trained: bool = True
    """Whether any step of this session was finite."""


def train(
    program: Program,
    state: TrainingState,
    budget: Budget,
    seconds: float,
    restore: Callable[[TrainingState], TrainingState],
    per_step: float | None = None,
) -> Iterator[Progress]:
    """Train until the budget is spent.

    `seconds` of it are spent already; `restore` gives the last good state of a failing run; `per_step` is what a step
    took before, of a run that goes on.
    """
    step, rescues, trained = int(state.step), 0, False
    while (count := _chunk(budget, step, seconds, per_step)) > 0:
        begun = time.perf_counter()
        state, loss = program(state, count, _horizon(budget, step, seconds, per_step))
        done, failing = int(state.step) - step, int(state.skipped_in_a_row) >= PATIENCE
        elapsed = time.perf_counter() - begun
        seconds += elapsed
        per_step = elapsed / max(1, done)
        if failing:
            rescues += 1
            state = _rescue(state, program.optimiser, restore, rescues)
        step = int(state.step)
        mean = None if math.isnan(loss) else float(loss)
        trained = trained or mean is not None
        fraction = budget.fraction(step, seconds)
        yield Progress(state, step, mean, seconds, per_step, int(state.skipped), fraction, trained)


def refuse_untrained(progress: Progress, optimiser: Optimiser) -> None:
    """Refuse a training none of whose steps was finite: its network is the one that it began with."""
    if not progress.trained:
        reason = first_non_finite(_before_last_step(progress.state), optimiser)
        raise FailedRun(f"training failed: all of its {progress.skipped} steps were skipped, for {reason}")


def _before_last_step(state: TrainingState) -> TrainingState:
    """A state whose last step failed, as it was before: the weights are still those."""
    return eqx.tree_at(lambda s: s.step, state, jnp.maximum(state.step - 1, 0))


def _chunk(budget: Budget, step: int, seconds: float, per_step: float | None) -> int:
    """How many steps the next call takes: one to measure, then half a second's worth, within the budget."""
    count = 1 if per_step is None else max(1, round(CHUNK_SECONDS / per_step))
    if budget.seconds is None:
        return min(count, (budget.steps or 0) - step)
    remaining = budget.seconds - seconds
    if per_step is None:
        return 1 if remaining > 0 else 0
    # Never more than half of what is left, so that a machine slower than expected hardly oversteps the end.
    return min(count, math.ceil(remaining / per_step / 2)) if remaining > per_step else 0


def _horizon(budget: Budget, step: int, seconds: float, per_step: float | None) -> float:
    """The step at which the rate reaches zero: known, or predicted from the speed so far."""
    if budget.seconds is None:
        return float(budget.steps or 0)
    remaining = budget.seconds - seconds
    return step + max(1.0, remaining / per_step if per_step else 1e6)


def _rescue(
    state: TrainingState, optimiser: Optimiser, restore: Callable[[TrainingState], TrainingState], rescues: int
) -> TrainingState:
    """The last good state at half the rate; at last the name of what fails."""
    if rescues > RESCUES:
        reason = first_non_finite(_before_last_step(state), optimiser)
        raise FailedRun(
            f"training failed at step {int(state.step)}: {reason} "
            f"({int(state.skipped)} steps skipped, rate lowered {RESCUES} times)"
        )
    skipped, factor = state.skipped, 0.5 * state.rate_factor
    return eqx.tree_at(
        lambda s: (s.skipped, s.skipped_in_a_row, s.rate_factor),
        restore(state),
        (skipped, jnp.zeros_like(skipped), factor),
    )
