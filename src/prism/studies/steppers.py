"""Compiled training steps side by side: how long one takes, and what it leads to after so many seconds.

Rounds go through all steppers in turn, so that a load of the machine meets them alike; ratios are taken within a round.
"""

import time
from collections.abc import Callable, Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from prism.numerics.keys import Purpose, stream
from prism.objective.rows import Objective
from prism.problem.family import Family
from prism.solution.evaluation import Evaluation, evaluate
from prism.solving.preparation import first_state
from prism.solving.settings import Settings
from prism.studies.trials import Measurement
from prism.training.advance import TrainingState
from prism.training.loop import Budget, train
from prism.training.memory import compiled_bytes
from prism.training.program import Program

ROUNDS, ROUND_SECONDS = 11, 0.5
FEWEST_STEPS = 2
"""Of a round."""
EACH_ROUND = "seconds per step in each round"
"""The column of a measurement that has them."""
Quartiles = tuple[float, float, float]


class Stepper:
    """Training steps of one family under some settings, compiled; `exchange` puts another objective in the place of
    theirs."""

    def __init__(
        self,
        family: Family,
        settings: Settings,
        exchange: Callable[[Objective], Objective] = lambda objective: objective,
    ):
        first = first_state(family, settings)
        self.settings, self._first = settings, eqx.tree_at(lambda s: s.objective, first, exchange(first.objective))
        self._now = self._begun()
        begun = time.perf_counter()
        self.program = Program.trace(self._first, settings.optimiser)
        self.program.compile()
        self.compile_seconds = time.perf_counter() - begun

    @property
    def flop(self) -> float:
        """Floating-point operations of one step: the compiler counts the body of the loop once."""
        return float((self.program.compile().cost_analysis() or {}).get("flops", float("nan")))

    @property
    def bytes(self) -> int:
        """What the program needs of memory."""
        return compiled_bytes(self.program.compile())

    def seconds_per_step(self, steps: int) -> float:
        """Measured over so many steps, which it takes."""
        begun = time.perf_counter()
        self._now, loss = self.program(self._now, steps, 1e6)
        jax.block_until_ready(loss)
        return (time.perf_counter() - begun) / steps

    def trained(self, seconds: float) -> tuple[TrainingState, int]:
        """The state after so many seconds of training from the beginning, and how many steps fitted into them."""
        state = self._begun()
        for progress in train(self.program, state, Budget(minutes=seconds / 60.0), 0.0, lambda _: self._begun()):
            state = progress.state
        return state, int(state.step)

    def evaluated(self, seconds: float, points: int | None = None) -> tuple[Evaluation, int]:
        """The errors after so many seconds of training, and the steps that were made."""
        state, steps = self.trained(seconds)
        key = stream(self.settings.seed, Purpose.EVALUATION)
        sizes = {} if points is None else {"points": points}
        return evaluate(state.model, state.objective.family, key, **sizes), steps

    def _begun(self) -> TrainingState:
        """The first state; the program overwrites the one that it is given."""
        return jax.tree.map(lambda leaf: jnp.copy(leaf) if eqx.is_array(leaf) else leaf, self._first)


def timed(steppers: Mapping[str, Stepper]) -> dict[str, list[float]]:
    """The seconds per step of each, round by round. A round of the first of them takes about ROUND_SECONDS; the others
    make as many steps."""
    for stepper in steppers.values():
        stepper.seconds_per_step(FEWEST_STEPS)
    leader = next(iter(steppers.values()))
    steps = max(FEWEST_STEPS, round(ROUND_SECONDS / leader.seconds_per_step(FEWEST_STEPS)))
    found: dict[str, list[float]] = {name: [] for name in steppers}
    for _ in range(ROUNDS):
        for name, stepper in steppers.items():
            found[name].append(stepper.seconds_per_step(steps))
    return found


def measured(column: str, steppers: Mapping[str, Stepper], seconds: float, labels: Measurement) -> list[Measurement]:
    """One measurement for each, its name in `column`: what a step costs, then the errors after so many seconds of
    training."""
    rounds, found = timed(steppers), []
    for name, stepper in steppers.items():
        evaluation, steps = stepper.evaluated(seconds)
        found.append(
            {
                **labels,
                column: name,
                EACH_ROUND: rounds[name],
                "compile seconds": stepper.compile_seconds,
                "FLOP per step": stepper.flop,
                "seconds": seconds,
                "steps": steps,
                "relative L2": evaluation.relative_l2,
                "trivial": evaluation.trivial_error,
                "μ-blind": evaluation.mu_blind_error,
                "skill": evaluation.skill,
            }
        )
    return found


def speed(one: Measurement | Mapping) -> float:
    """Steps per second: the median over rounds."""
    return float(1.0 / np.median(one[EACH_ROUND]))


def ratio_quartiles(numerator: Sequence[float], denominator: Sequence[float]) -> Quartiles:
    """Lower quartile, median and upper quartile of the ratio within a round."""
    lower, median, upper = np.quantile(np.asarray(numerator) / np.asarray(denominator), (0.25, 0.5, 0.75)).tolist()
    return lower, median, upper
