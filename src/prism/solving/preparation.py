"""Before the first step: the program of the steps, refused where it cannot fit, and the first state of a run.

The state is traced first, for its shapes; the program of the steps, which takes longest, is then compiled in a thread
while the rest is made ready beside it.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp

from prism.networks.model import Model
from prism.numerics.ahead import TracedFunction, trace, without_garbage_collection
from prism.numerics.compilation import RUNS_ONCE
from prism.numerics.keys import Purpose, child, stream
from prism.objective.rows import Objective
from prism.objective.units import with_units
from prism.problem.family import Family
from prism.shapes import Key
from prism.solution.quick_evaluation import QuickError, QuickEvaluation
from prism.solving.refusals import advice, refuse_impossible
from prism.solving.settings import Settings, default_sampling
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
    """What a run needs before its first step; the quick evaluation, of a network, where the truth is known."""

    program: Program
    state: TrainingState
    quick_evaluation: Callable[[Any], QuickError] | None


@without_garbage_collection()
def prepare(family: Family, settings: Settings) -> Prepared:
    """Everything compiled; the first state is made only if the program of the steps fits into memory."""
    refuse_impossible(family, settings)
    traced_state, quick_evaluation = _traced_state(family, settings), None
    program = Program.trace(traced_state.shapes, settings.optimiser)
    program.lower()
    with ThreadPoolExecutor(1) as executor:
        compiling = executor.submit(program.compile)
        if family.has_exact:
            key = child(stream(settings.seed, Purpose.EVALUATION), Purpose.QUICK)
            quick_evaluation = QuickEvaluation(traced_state.shapes.model, family, key)
            quick_evaluation.compile()
        traced_state.compile()
        compiling.result()
    shapes = lambda points: state_shapes(family, settings.with_points(points))
    fewest = max(1, default_sampling(family, settings.optimiser).points // 4)
    refuse_too_large(program, settings.sampling.points, shapes, lambda share: advice(family, settings, share), fewest)
    return Prepared(program, traced_state(*_arguments(family, settings)), quick_evaluation)


def _traced_state(family: Family, settings: Settings) -> TracedFunction:
    return trace(_state, *_arguments(family, settings), options=RUNS_ONCE)


def _arguments(family: Family, settings: Settings) -> tuple[Family, Settings, Key, Key, Key]:
    """Of `_state`: the seed enters through the keys alone."""
    keys = (stream(settings.seed, purpose) for purpose in (Purpose.MODEL, Purpose.UNITS, Purpose.TRAINING))
    model_key, units_key, training_key = keys
    return family, replace(settings, seed=0), model_key, units_key, training_key


def _state(family: Family, settings: Settings, model_key: Key, units_key: Key, training_key: Key) -> TrainingState:
    model = Model.create(settings.architecture, family.domain, family.parameters, model_key)
    objective = Objective(
        family,
        settings.estimator,
        jnp.ones(()),
        settings.sampling,
        settings.independent,
        settings.slopes,
        worst_case=settings.worst_case,
    )
    model, objective = with_units(model, objective, units_key)
    return TrainingState.create(model, settings.optimiser, objective, training_key)
