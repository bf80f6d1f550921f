"""Worst-case training: before each step the points of its batch climb to where the residual is largest,

    (x, t) ← (x, t) + rate · size · sign ∇(r²),     size the spread of a coordinate, or the horizon of time,

so that the largest error falls with the mean one (Wang et al. 2022, for Hamilton-Jacobi-Bellman equations).
"""

import dataclasses
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from prism.derivatives.estimators import Estimator
from prism.errors import InputError
from prism.networks.model import Model
from prism.objective.batches import Batch, redraw
from prism.objective.residuals import batch_residuals, span_width
from prism.problem.family import Family
from prism.shapes import Key


@dataclass(frozen=True)
class WorstCase:
    """`steps` of ascent for every batch, each of `rate` in units of a coordinate's spread; along the directions of an
    `estimator` of its own where one is given, as a sampled one that is cheap."""

    steps: int
    rate: float = 0.05
    estimator: Estimator | None = None

    def __post_init__(self):
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or self.steps < 1:
            raise InputError(f"WorstCase({self.steps!r}) climbs nowhere; give 1 step or more")
        if not 0.0 < self.rate < float("inf"):
            raise InputError(f"WorstCase has the rate {self.rate:g}; give a positive number")


def ascended(
    worst_case: WorstCase, model: Model, family: Family, estimator: Estimator, batch: Batch, key: Key
) -> Batch:
    """The batch with its points moved; its directions stay."""
    estimator = worst_case.estimator or estimator
    inner = redraw(batch, family, estimator, span_width(model, family), key)
    domain = family.domain
    sizes = jnp.full(domain.coordinates, domain.spread).at[domain.dimension :].set(domain.time_horizon or 1.0)

    def squares(points):
        return jnp.sum(batch_residuals(model, family, dataclasses.replace(inner, points=points)) ** 2)

    def climb(_, points):
        uphill = jnp.nan_to_num(jnp.sign(jax.grad(squares)(points)))
        return jax.vmap(domain.clipped)(points + worst_case.rate * sizes[None] * uphill)

    return dataclasses.replace(batch, points=jax.lax.fori_loop(0, worst_case.steps, climb, batch.points))
