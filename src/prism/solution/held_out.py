"""The size of the residual on pairs never trained on: what can be said of a solution whose truth is not known.

It is measured in units of the residual of N = 0, beside that of the trivial answer, the constant N that leaves least.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.networks.model import Model
from prism.numerics.keys import Purpose, child
from prism.objective.batches import Batch, Draws, Sampling, draw_batch
from prism.objective.estimation import judging_estimator
from prism.objective.residuals import residual, span_width
from prism.objective.units import best_constant, constant_residuals, for_constants
from prism.problem.family import Family
from prism.shapes import Key, Scalar

PAIRS, FEWEST_PAIRS = 1_000, 32
WORK = 2e7
"""Coordinates of the points; fewer points at large d."""


@dataclass(frozen=True)
class HeldOutResidual:
    """Root mean squares over held-out pairs, in units of the residual of N = 0."""

    pairs: int
    scaled_residual: float
    trivial_residual: float

    def describe(self) -> list[str]:
        """For a reader."""
        return [
            f"scaled residual    {self.scaled_residual:.3e}   on {self.pairs:,} unseen pairs; 1 = predicting nothing",
            f"  trivial answer   {self.trivial_residual:.3e}   the best constant network",
            "the error is not known: the family has no exact solution",
        ]

    def as_json(self) -> dict[str, object]:
        """The numbers by name."""
        return asdict(self)


def held_out_residual(model: Model, family: Family, key: Key) -> HeldOutResidual:
    """The residual of a network on fresh pairs, beside the trivial answer's."""
    pairs = int(np.clip(WORK / family.domain.coordinates, FEWEST_PAIRS, PAIRS))
    size, trivial, unit = (float(value) for value in _sizes(model, family, Sampling(pairs, pairs), key))
    unit = unit or 1.0
    return HeldOutResidual(pairs, size / unit, trivial / unit)


@eqx.filter_jit
def _sizes(model: Model, family: Family, sampling: Sampling, key: Key) -> Float[Array, "3"]:
    """Root mean squares of the residual: of the network, of the best constant and of N = 0."""
    estimator = judging_estimator(model, family)
    batch = draw_batch(family, estimator, sampling, span_width(model, family), True, key)
    constant_batch = for_constants(batch, family, estimator, child(key, Purpose.WHOLE), twice=True)
    best = best_constant(family, constant_batch)
    of_constant = lambda value, draws: constant_residuals(family, constant_batch, value, draws)
    constant = lambda value: _size(lambda draws: of_constant(value, draws), constant_batch)
    zero = constant(jnp.zeros(()))
    network = _size(lambda draws: _in_chunks(model, family, replace(batch, draws=draws)), batch)
    return jnp.stack([network, jnp.fmin(constant(best), zero), zero])


def _in_chunks(model: Model, family: Family, batch: Batch) -> Float[Array, "N"]:
    """The residual of every pair, in chunks that bound the memory of its lift."""
    at = lambda pair: residual(model, family, pair.draws, pair.x, pair.mu)
    return batch.pairs().map(at, model.lift.workspace)


def _size(residuals: Callable[[Draws], Float[Array, "N"]], batch: Batch) -> Scalar:
    """√ mean r·r' of two independent estimates: the variance of one would be added to its square."""
    assert batch.second_draws is not None
    return jnp.sqrt(jnp.maximum(jnp.mean(residuals(batch.draws) * residuals(batch.second_draws)), 0.0))
