"""Before the first step: the program of the steps, refused where it cannot fit, and the first state of a run.

Both are traced here and compiled at the same time, each in a thread.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import equinox as eqx
import jax.numpy as jnp

from prism.networks.model import Model
from prism.numerics.compilation import RUNS_ONCE
from prism.numerics.keys import Purpose, child, stream
from prism.objective.calibration import calibrate
from prism.objective.rows import Objective
from prism.problem.family import Family
from prism.shapes import Key
from prism.solution.evaluation import QuickCheck
from prism.solving.settings import Settings
from prism.training.advance import TrainingState
from prism.training.program import Program, compile_within_memory


def first_state(family: Family, settings: Settings) -> TrainingState:
    """A network in the units of the problem, before the first step. Seeds of a problem share what is compiled."""
    return _make_state(*_arguments(family, settings))


def state_shapes(family: Family, settings: Settings) -> TrainingState:
    """The shapes of that state; nothing of its size is allocated."""
    return eqx.filter_eval_shape(_state, *_arguments(family, settings))


@dataclass(frozen=True)
class Prepared:
    """What a run needs before its first step; the check only where an exact solution is known."""

    program: Program
    state: TrainingState
    check: QuickCheck | None


def prepare(family: Family, settings: Settings) -> Prepared:
    """Everything compiled; the first state is made only if the program of the steps fits into memory."""
    arguments, shapes = _arguments(family, settings), state_shapes(family, settings)
    state, check = _make_state.lower(*arguments), None
    with ThreadPoolExecutor(1) as aside:
        compiling = aside.submit(state.compile)
        if family.has_exact:
            key = child(stream(settings.seed, Purpose.EVALUATION), Purpose.QUICK)
            check = QuickCheck(shapes.model, family, key)
            aside.submit(check.compile)
        smaller = lambda points: state_shapes(family, settings.with_points(points))
        program = compile_within_memory(smaller, settings.optimiser, settings.sampling.points)
        return Prepared(program, compiling.result()(*arguments), check)


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


_make_state = eqx.filter_jit(_state, compiler_options=dict(RUNS_ONCE))  # pyright: ignore[reportCallIssue]
