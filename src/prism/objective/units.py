"""The units of a problem, from the problem itself: how large residuals are where the network is a constant.

No network takes part: a constant has jets of its own, so what is compiled here is the equation alone.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from prism.derivatives.estimators import Estimator
from prism.networks.model import Model
from prism.objective.batches import Batch, Draws, Sampling, draw_batch, redraw
from prism.objective.rows import Objective
from prism.problem.conditions import Target
from prism.problem.family import Family
from prism.problem.terms import constant_residual, constant_width, constrained_value
from prism.shapes import Key, Scalar

UNIT_POINTS = 64
LEVEL_STEPS, LEVEL_TOLERANCE = 20, 1e-4
"""The most steps to the best constant, and the relative change after which it is found."""
LEVEL_WORTH = 0.5
"""A constant is taken where it leaves less of the residual than this."""
LEAST_LEFT = 1e-6
"""Of the residual, below which what a constant leaves is rounding."""


def draw_constant_batch(family: Family, estimator: Estimator, sampling: Sampling, key: Key) -> Batch:
    """A batch for networks that are constant: their lift has one channel."""
    return draw_batch(family, estimator, sampling, constant_width(family), False, key)


def for_constants(batch: Batch, family: Family, estimator: Estimator, key: Key, twice: bool = False) -> Batch:
    """The points and parameters of a batch, with new directions for networks that are constant."""
    return redraw(batch, family, estimator, constant_width(family), key, twice)


def constant_residuals(family: Family, batch: Batch, value: Scalar, draws: Draws | None = None) -> Float[Array, "N"]:
    """The residual, in its own units, of N = value at every pair of a constant's batch, along its draw or another."""
    at = lambda x, mu, drawn: constant_residual(family, drawn, x, mu, value)
    return batch.over_pairs(at, batch.draws if draws is None else draws)


def constant_response(family: Family, batch: Batch, value: Scalar) -> tuple[Float[Array, "N"], Float[Array, "N"]]:
    """The residual of N = value at every pair, and how it changes with the value."""
    return jax.jvp(lambda moved: constant_residuals(family, batch, moved), (value,), (jnp.ones(()),))


def residual_scale(family: Family, batch: Batch) -> Scalar:
    """The root mean square of the residual of N = 0: the unit of residuals; 1 where that vanishes."""
    scale = root_mean_square(constant_residuals(family, batch, jnp.zeros(())))
    return jnp.where(scale > 0, scale, 1.0)


def with_units(model: Model, objective: Objective, key: Key) -> tuple[Model, Objective]:
    """The network and the objective in the units of the problem: those of the network's output and of the rows.

    With r(N) the residual: scale = rms r(0); level the constant network of the smallest residual, where that is worth
    taking; amplitude = rms r(level) / rms r'(level)[1], the size of the constant that answers a residual of that size;
    slope_scale = rms |∇ₓr(0)|; condition_scale the largest of amplitude and what the conditions ask for beyond N = 0,
    which is then the amplitude too.
    """
    family, sampling = objective.family, objective.sampling
    few = sampling.with_points(min(sampling.points, UNIT_POINTS))
    batch, zero = draw_constant_batch(family, objective.estimator, few, key), jnp.zeros(())
    scale, best = residual_scale(family, batch), best_level(family, batch)
    amplitude = best.answer(scale)
    slopes = batch.pairs().map(
        lambda pair: jax.grad(lambda x: constant_residual(family, pair.draws, x, pair.mu, zero))(pair.x)
    )
    slope_scale = root_mean_square(slopes) * slopes.shape[1] ** 0.5
    misses = condition_scale(family, batch.targets, amplitude)
    amplitude = misses if family.conditions else amplitude  # u is as large as its prescribed values, at the least
    scales = (scale, jnp.where(slope_scale > 0, slope_scale, 1.0), misses)
    model = eqx.tree_at(lambda m: (m.level, m.amplitude), model, (best.value, amplitude))
    return model, eqx.tree_at(lambda o: (o.scale, o.slope_scale, o.condition_scale), objective, scales)


class Constant(eqx.Module):
    """The network N = value: the root mean squares of its residual and of how that changes with the value, and at how
    many pairs the residual is finite."""

    value: Scalar
    residual: Scalar
    gain: Scalar
    finite: Int[Array, ""]

    @staticmethod
    def of(family: Family, batch: Batch, value: Scalar) -> "Constant":
        residuals, gains = constant_response(family, batch, value)
        return Constant(value, root_mean_square(residuals), root_mean_square(gains), jnp.sum(jnp.isfinite(residuals)))

    def answer(self, scale: Scalar) -> Scalar:
        """The size of the change that answers its residual, to rounding at a residual of size `scale`; 1 where no
        change does."""
        return jnp.where(self.gain > 0, jnp.maximum(self.residual, LEAST_LEFT * scale) / self.gain, 1.0)


def answer_at_zero(family: Family, batch: Batch, scale: Scalar) -> Scalar:
    """The size of the constant network that answers the residual of N = 0."""
    return Constant.of(family, batch, jnp.zeros(())).answer(scale)


def best_level(family: Family, batch: Batch) -> Constant:
    """The constant network of the smallest residual, or N = 0 where that constant would leave most of the residual.

    Where a constant is most of a solution, as in many dimensions, learning begins at what is left. Otherwise the first
    steps would write errors of the constant's size into all weights, and those that hardly move the residual keep them.
    """
    silent = Constant.of(family, batch, jnp.zeros(()))
    if family.conditions:
        return silent  # they have a say in where a solution lies
    best = Constant.of(family, batch, best_constant(family, batch))
    worth = (best.finite >= silent.finite) & (best.residual < LEVEL_WORTH * silent.residual)
    return jax.tree.map(lambda new, old: jnp.where(worth, new, old), best, silent)


def best_constant(family: Family, batch: Batch) -> Scalar:
    """The constant of the smallest residual, by Gauss-Newton steps from zero."""

    def unfinished(carry: tuple[Scalar, Scalar, Int[Array, ""]]) -> Bool[Array, ""]:
        value, change, steps = carry
        return (jnp.abs(change) > LEVEL_TOLERANCE * jnp.abs(value)) & (steps < LEVEL_STEPS)

    def step(carry: tuple[Scalar, Scalar, Int[Array, ""]]) -> tuple[Scalar, Scalar, Int[Array, ""]]:
        value, _, steps = carry
        residuals, gains = constant_response(family, batch, value)
        squared = mean_product(gains, gains)
        change = -mean_product(residuals, gains) / jnp.where(squared > 0, squared, 1.0)
        return value + change, change, steps + 1

    zero = jnp.zeros(())
    return jax.lax.while_loop(unfinished, step, step((zero, zero, jnp.zeros((), jnp.int32))))[0]


def condition_scale(family: Family, targets: Sequence[Target], amplitude: Scalar) -> Scalar:
    """The largest of amplitude and |u − g| of N = 0 at the targets of each condition."""
    at_zero = lambda target: target.of(lambda x: constrained_value(family, jnp.zeros(()), x, target.mu))
    miss = lambda target: at_zero(target) - target.value
    misses = [jax.vmap(miss)(of_condition) for of_condition in targets]
    return jnp.max(jnp.abs(jnp.concatenate([jnp.ravel(amplitude), *misses])))


def root_mean_square(values: Float[Array, "..."]) -> Scalar:
    """√ mean v² over the finite values."""
    return jnp.sqrt(mean_product(values, values))


def mean_product(first: Float[Array, "..."], second: Float[Array, "..."]) -> Scalar:
    """The mean of first · second over the finite products: one bad point must not decide the units of a run."""
    products = first * second
    finite = jnp.isfinite(products)
    return jnp.sum(jnp.where(finite, products, 0.0)) / jnp.maximum(jnp.sum(finite), 1)
