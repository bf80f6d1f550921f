"""Residuals of a batch with their rows: the derivatives of each by the network's weights, and by its own point."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from prism.chunks import chunk_of
from prism.conditions import Condition, Wanted
from prism.directions import Directions, Spanned
from prism.networks.lift import Lifted
from prism.networks.model import Model
from prism.objective import Batch, Objective
from prism.residuals import decompositions, frames, residual
from prism.shapes import Key, Parameter, Point, Scalar
from prism.training.factored import Block, OwnBlock, lift_blocks


class Rows(eqx.Module):
    """r_n of N pairs, then of the conditions; ∂r_n by the weights after the lift and by W (factored); of the N
    pairs also by what leaves the lift, and by x_n."""

    residuals: Float[Array, "M"]
    small: Float[Array, "M P"]
    responses: Float[Array, "N width"]
    slopes: Float[Array, "N coordinates"]
    blocks: list[Block]


def split(model: Model) -> tuple[Model, Float[Array, "coordinates width"]]:
    """The arrays after the lift's matrix, and that matrix."""
    arrays = eqx.filter(model, eqx.is_array)
    return eqx.tree_at(lambda m: m.lift.weight, arrays, None), model.lift.weight


def join(model: Model, small: Model, weight: Float[Array, "coordinates width"]) -> Model:
    whole = eqx.tree_at(lambda m: m.lift.weight, small, weight, is_leaf=lambda leaf: leaf is None)
    return eqx.combine(whole, model)


def rows(objective: Objective, model: Model, batch: Batch, key: Key) -> Rows:
    """The rows of every pair of the batch and of every condition, in chunks so that memory is bounded."""
    points, parameters, keys = objective.pairs(batch, key)
    small, weight = split(model)
    shapes = jax.eval_shape(lambda: _lifted(objective, model, points[0], parameters[0], keys[0]))
    probe = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)

    def one(sample: tuple[Point, Parameter, Key]) -> tuple[Scalar, Array, Point, Lifted]:
        x, mu, sample_key = sample

        def value(arrays: Model, place: Point, added: Lifted) -> Scalar:
            network = join(model, arrays, weight)
            r = residual(network, objective.family, objective.estimator, place, mu, sample_key, added)
            return r / objective.scale

        r, (small_row, slope, lifted) = jax.value_and_grad(value, argnums=(0, 1, 2))(small, x, probe)
        return r, ravel_pytree(small_row)[0], slope, lifted

    samples = (points, parameters, keys)
    r, small_rows, slopes, lifted = jax.lax.map(one, samples, batch_size=chunk_of(points.shape))
    bundles = _bundles(objective, weight, points, parameters, keys)
    whole = Rows(r, small_rows, lifted.value, slopes, lift_blocks(points, lifted, bundles))
    for condition, wanted in zip(objective.family.conditions.values(), batch.wanted, strict=True):
        whole = _with_condition(whole, objective, model, condition, wanted)
    return whole


def _with_condition(whole: Rows, objective: Objective, model: Model, condition: Condition, wanted: Wanted) -> Rows:
    """Rows of √(weight N / N_c) (u − g), below those that are there: the sum of squares stays N times the loss."""
    small, weight = split(model)
    factor = (condition.weight * whole.slopes.shape[0] / condition.points) ** 0.5

    def one(place: Wanted) -> tuple[Scalar, Array, Array]:
        def value(arrays: Model, added: Array) -> Scalar:
            return factor * objective.miss(join(model, arrays, weight), place, Lifted(added, ()))

        miss, (small_row, lifted) = jax.value_and_grad(value, argnums=(0, 1))(small, jnp.zeros_like(model.lift.bias))
        return miss, ravel_pytree(small_row)[0], lifted

    misses, small_rows, lifted = jax.lax.map(one, wanted, batch_size=chunk_of(wanted.x.shape))
    above = [block.extended(0, len(misses)) for block in whole.blocks]
    below = OwnBlock(wanted.x[:, None], lifted[:, None]).extended(len(whole.residuals), 0)
    return Rows(
        jnp.concatenate([whole.residuals, misses]),
        jnp.concatenate([whole.small, small_rows]),
        whole.responses,
        whole.slopes,
        [*above, below],
    )


def directional_rows(
    objective: Objective, model: Model, batch: Batch, key: Key
) -> tuple[Float[Array, "N"], Float[Array, "N P"]]:
    """v·∇ₓr_n along one normal direction a pair, in units in which it starts at one, and its derivatives by the weights
    after the lift."""
    points, parameters, keys = objective.pairs(batch, key)
    small, weight = split(model)
    draws = jax.random.split(jax.random.fold_in(key, 1), points.shape[0])

    def one(sample: tuple[Point, Parameter, Key, Key]) -> tuple[Scalar, Array]:
        x, mu, sample_key, draw = sample
        v = jax.random.normal(draw, x.shape, x.dtype)

        def along(arrays: Model) -> Scalar:
            network = join(model, arrays, weight)
            r = lambda place: residual(network, objective.family, objective.estimator, place, mu, sample_key)
            return jax.jvp(r, (x,), (v,))[1] / objective.slope_scale

        value, row = jax.value_and_grad(along)(small)
        return value, ravel_pytree(row)[0]

    return jax.lax.map(one, (points, parameters, keys, draws), batch_size=chunk_of(points.shape))


def _lifted(objective: Objective, model: Model, x: Point, mu: Parameter, key: Key) -> Lifted:
    parts = decompositions(objective.family, objective.estimator, model.lift.weight, x, mu, key)
    return model.lift.lifted(x, [part.directions for part in parts])


def _bundles(
    objective: Objective, weight: Array, points: Array, parameters: Array, keys: Array
) -> list[tuple[Directions, bool]]:
    """The directions of each frame: one bundle where all samples share it (or its basis), else batched."""

    def directions(index: int) -> Callable[[Point, Parameter, Key], Directions]:
        return lambda x, mu, key: (
            decompositions(objective.family, objective.estimator, weight, x, mu, key)[index].directions
        )

    bundles = []
    for index, group in enumerate(frames(objective.family)):
        here, fixed = directions(index), next(iter(group.values())).fixed
        one = here(points[0], parameters[0], keys[0])
        if fixed and isinstance(one, Spanned) and not objective.estimator.shared:
            mix = jax.vmap(lambda x, mu, key, here=here: here(x, mu, key).mix)(points, parameters, keys)
            bundles.append((eqx.tree_at(lambda v: v.mix, one, mix), True))
        elif fixed and objective.estimator.shared:
            bundles.append((one, True))
        else:
            bundles.append((jax.vmap(here)(points, parameters, keys), False))
    return bundles
