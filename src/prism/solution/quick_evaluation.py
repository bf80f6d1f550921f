"""The error that is shown while training."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Array

from prism.networks.model import Model
from prism.numerics.ahead import trace
from prism.numerics.chunks import map_chunks
from prism.numerics.keys import items
from prism.objective.residuals import solution_value
from prism.problem.family import Family
from prism.problem.terms import sample_pair
from prism.shapes import Key
from prism.solution.evaluation import relative_l2, standard_error

WORK = 2e7
"""How many coordinates it may take."""


@dataclass(frozen=True)
class QuickError:
    """The relative L2 error on a small sample, and its standard error."""

    relative_l2: float
    standard_error: float


class QuickEvaluation:
    """The relative L2 error of a run's network on one small held-out sample, shown while training.

    It is built from the network's shapes, so that `compile` can run before the first network exists.
    """

    def __init__(self, model: Model, family: Family, key: Key):
        count = int(np.clip(WORK / family.domain.coordinates, 16, 1_000))
        self._arguments = family, key, count
        self._compare = trace(_values_at_pairs, model, *self._arguments)

    def compile(self) -> None:
        """Make it ready."""
        self._compare.compile()

    def __call__(self, model: Model) -> QuickError:
        found = self._compare(model, *self._arguments)
        predicted, exact = (np.asarray(values, np.float64) for values in found)
        error = predicted - exact
        return QuickError(relative_l2(error, exact), standard_error(error**2, exact**2))


def _values_at_pairs(model: Model, family: Family, key: Key, count: int) -> tuple[Array, Array]:
    """u and the exact solution at random pairs."""
    at = lambda key: _values_at_pair(model, family, key)
    return map_chunks(at, items(key, count), model.lift.workspace, most=count)


def _values_at_pair(model: Model, family: Family, key: Key) -> tuple[Array, Array]:
    """u and the exact solution at one random pair."""
    x, mu = sample_pair(family, key)
    return solution_value(model, family, x, mu), family.exact(x, family.parameters.named(mu))
