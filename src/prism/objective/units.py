"""The units of a problem, from the problem itself: how large residuals are where the network is a constant.

No network takes part: a constant has jets of its own, so what is compiled here is the equation alone.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.estimators import Estimator
from prism.networks.model import Model
from prism.objective.batches import Batch, Draws, Sampling, draw_batch, redraw
from prism.objective.rows import Objective
from prism.problem.conditions import Target
from prism.problem.family import Family
from prism.problem.terms import constant_residual, constrained_value
from prism.shapes import Key, Scalar

UNIT_POINTS = 64


def draw_constant_batch(family: Family, estimator: Estimator, sampling: Sampling, key: Key) -> Batch:
    """A batch for networks that are constant: their lift has one channel."""
    return draw_batch(family, estimator, sampling, 1, False, key)


def for_constants(batch: Batch, family: Family, estimator: Estimator, key: Key, twice: bool = False) -> Batch:
    """The points and parameters of a batch, with new directions for networks that are constant."""
    return redraw(batch, family, estimator, 1, key, twice)


def constant_residuals(family: Family, batch: Batch, value: Scalar, draws: Draws | None = None) -> Float[Array, "N"]:
    """The residual, in its own units, of N = value at every pair of a constant's batch, along its draw or another."""
    at = lambda x, mu, drawn: constant_residual(family, drawn, x, mu, value)
    return batch.over_pairs(at, batch.draws if draws is None else draws)


def constant_response(family: Family, batch: Batch) -> tuple[Float[Array, "N"], Float[Array, "N"]]:
    """The residual of N = 0 at every pair, and how it changes with the constant."""
    return jax.jvp(lambda value: constant_residuals(family, batch, value), (jnp.zeros(()),), (jnp.ones(()),))


def residual_scale(family: Family, batch: Batch) -> Scalar:
    """The root mean square of the residual of N = 0: the unit of residuals; 1 where that vanishes."""
    scale = root_mean_square(constant_residuals(family, batch, jnp.zeros(())))
    return jnp.where(scale > 0, scale, 1.0)


def with_units(model: Model, objective: Objective, key: Key) -> tuple[Model, Objective]:
    """The network and the objective in the units of the problem: those of the network's output and of the rows.

    With r(N) the residual: scale = rms r(0); amplitude = rms r(0) / rms r'(0)[1], the size of the constant network
    that answers a residual of that size; slope_scale = rms |∇ₓr(0)|; condition_scale the largest of amplitude and
    what the conditions ask for beyond N = 0.
    """
    family, sampling = objective.family, objective.sampling
    few = sampling.with_points(min(sampling.points, UNIT_POINTS))
    batch, zero = draw_constant_batch(family, objective.estimator, few, key), jnp.zeros(())
    at_zero, response = constant_response(family, batch)
    size, gain = root_mean_square(at_zero), root_mean_square(response)
    scale = jnp.where(size > 0, size, 1.0)
    amplitude = jnp.where(gain > 0, scale / gain, 1.0)
    slopes = batch.pairs().map(
        lambda pair: jax.grad(lambda x: constant_residual(family, pair.draws, x, pair.mu, zero))(pair.x)
    )
    slope_scale = root_mean_square(slopes) * slopes.shape[1] ** 0.5
    misses = condition_scale(family, batch.targets, amplitude)
    scales = (scale, jnp.where(slope_scale > 0, slope_scale, 1.0), misses)
    model = eqx.tree_at(lambda m: m.amplitude, model, amplitude)
    return model, eqx.tree_at(lambda o: (o.scale, o.slope_scale, o.condition_scale), objective, scales)


def condition_scale(family: Family, targets: Sequence[Target], amplitude: Scalar) -> Scalar:
    """The largest of amplitude and |u − g| of N = 0 at the targets of each condition."""
    miss = lambda target: constrained_value(family, jnp.zeros(()), target.x, target.mu) - target.value
    misses = [jax.vmap(miss)(of_condition) for of_condition in targets]
    return jnp.max(jnp.abs(jnp.concatenate([jnp.ravel(amplitude), *misses])))


def root_mean_square(values: Float[Array, "..."]) -> Scalar:
    """Of the finite values: one bad point must not decide the units of a run."""
    finite = jnp.isfinite(values)
    squares = jnp.where(finite, values * values, 0.0)
    return jnp.sqrt(jnp.sum(squares) / jnp.maximum(jnp.sum(finite), 1))
