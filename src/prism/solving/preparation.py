"""Before the first step: the program of the steps, refused where it cannot fit, and the first state of a run.

The state is traced first, for its shapes; the program of the steps, which takes longest, is then compiled in a thread
while the rest is made ready beside it.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import jax.numpy as jnp

from prism.networks.model import Model
from prism.numerics.ahead import Traced, no_garbage, trace
from prism.numerics.compilation import RUNS_ONCE
from prism.numerics.keys import Purpose, child, stream
from prism.objective.calibration import calibrate
from prism.objective.rows import Objective
from prism.problem.family import Family
from prism.shapes import Key
from prism.solution.evaluation import QuickCheck
from prism.solving.settings import Settings
from prism.training.advance import TrainingState
from prism.training.program import Program, refuse_too_large


def first_state(family: Family, settings: Settings) -> TrainingState:
    """A network in the units of the problem, before the first step. Seeds of a problem share what is compiled."""
    return _traced_state(family, settings)(*_arguments(family, settings))


def state_shapes(family: Family, settings: Settings) -> TrainingState:
    """The shapes of that state; nothing of its size is allocated."""
    return _traced_state(family, settings).shapes


@dataclass(frozen=True)
class Prepared:
    """What a run needs before its first step; the check only where an exact solution is known."""

    program: Program
    state: TrainingState
    check: QuickCheck | None


@no_garbage()
def prepare(family: Family, settings: Settings) -> Prepared:
    """Everything compiled; the first state is made only if the program of the steps fits into memory."""
    first = _traced_state(family, settings)
    program, check = Program.trace(first.shapes, settings.optimiser), None
    program.traced.lower()
    with ThreadPoolExecutor(1) as aside:
        compiling = aside.submit(lambda: program.compiled)
        if family.has_exact:
            key = child(stream(settings.seed, Purpose.EVALUATION), Purpose.QUICK)
            check = QuickCheck(first.shapes.model, family, key)
            check.compile()
        first.compile()
        compiling.result()
    shapes = lambda points: state_shapes(family, settings.with_points(points))
    refuse_too_large(program, settings.sampling.points, shapes)
    return Prepared(program, first(*_arguments(family, settings)), check)


def _traced_state(family: Family, settings: Settings) -> Traced:
    return trace(_state, *_arguments(family, settings), options=RUNS_ONCE)


def _arguments(family: Family, settings: Settings) -> tuple[Family, Settings, Key, Key, Key]:
    """Of `_state`: the seed enters through the keys alone."""
    keys = (stream(settings.seed, purpose) for purpose in (Purpose.MODEL, Purpose.CALIBRATION, Purpose.TRAINING))
    first, calibration, training = keys
    return family, replace(settings, seed=0), first, calibration, training


def _state(family: Family, settings: Settings, first: Key, calibration: Key, training: Key) -> TrainingState:
    model = Model.create(settings.architecture, family.domain, family.parameters, first)
    objective = Objective(
        family, settings.estimator, jnp.ones(()), settings.sampling, settings.independent, settings.slopes
    )
    model, objective = calibrate(model, objective, calibration)
    return TrainingState.create(model, settings.optimiser, objective, training)
