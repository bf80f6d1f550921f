"""Residuals of a batch with their rows: the derivatives of each by the network's weights, and by its own point."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from prism.derivatives.directions import Directions, Spanned
from prism.networks.lift import Lifted
from prism.networks.model import Model
from prism.numerics.chunks import chunk_of
from prism.objective.objective import Batch, Objective
from prism.objective.residuals import decompositions, frames, residual
from prism.problem.conditions import Condition, Wanted
from prism.shapes import Key, Parameter, Point, Scalar
from prism.training.natural.factored import OwnBlock, lift_blocks
from prism.training.natural.jacobian import Jacobian, head_blocks, head_probes, probed, small_arrays


class Rows(eqx.Module):
    """r_n of N pairs, then of the conditions, and their Jacobian; of the N pairs also ∂r_n by what leaves the lift, and
    by x_n."""

    residuals: Float[Array, "M"]
    jacobian: Jacobian
    responses: Float[Array, "N width"]
    slopes: Float[Array, "N coordinates"]


def rows(objective: Objective, model: Model, batch: Batch, key: Key) -> Rows:
    """The rows of every pair of the batch and of every condition, in chunks so that memory is bounded."""
    points, parameters, keys = objective.pairs(batch, key)
    small = small_arrays(model)
    shapes = jax.eval_shape(lambda: _lifted(objective, model, points[0], parameters[0], keys[0]))
    probe = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), (head_probes(model), shapes))

    def one(sample: tuple[Point, Parameter, Key]) -> tuple[Scalar, tuple[Array, list[Array], Lifted], Point]:
        x, mu, sample_key = sample

        def value(arrays: Model, place: Point, added: tuple[list[Array], Lifted]) -> Scalar:
            network = probed(model, arrays, added[0])
            r = residual(network, objective.family, objective.estimator, place, mu, sample_key, added[1])
            return r / objective.scale

        r, (row, slope, (head_row, lifted)) = jax.value_and_grad(value, argnums=(0, 1, 2))(small, x, probe)
        return r, (ravel_pytree(row)[0], head_row, lifted), slope

    samples = (points, parameters, keys)
    r, (small_rows, head_rows, lifted), slopes = jax.lax.map(one, samples, batch_size=chunk_of(points.shape))
    blocks = lift_blocks(points, lifted, _bundles(objective, model.lift.weight, points, parameters, keys))
    jacobian = Jacobian(small_rows, head_blocks(model, parameters, head_rows), blocks)
    whole = Rows(r, jacobian, lifted.value, slopes)
    for condition, wanted in zip(objective.family.conditions.values(), batch.wanted, strict=True):
        whole = _with_condition(whole, objective, model, condition, wanted)
    return whole


def _with_condition(whole: Rows, objective: Objective, model: Model, condition: Condition, wanted: Wanted) -> Rows:
    """Rows of √(weight N / N_c) (u − g), below those that are there: the sum of squares stays N times the loss."""
    small = small_arrays(model)
    factor = (condition.weight * whole.slopes.shape[0] / condition.points) ** 0.5
    probe = (head_probes(model), jnp.zeros_like(model.lift.bias))

    def one(place: Wanted) -> tuple[Scalar, tuple[Array, list[Array], Array]]:
        def value(arrays: Model, added: tuple[list[Array], Array]) -> Scalar:
            return factor * objective.miss(probed(model, arrays, added[0]), place, Lifted(added[1], ()))

        miss, (row, (head_row, lifted)) = jax.value_and_grad(value, argnums=(0, 1))(small, probe)
        return miss, (ravel_pytree(row)[0], head_row, lifted)

    misses, (small_rows, head_rows, lifted) = jax.lax.map(one, wanted, batch_size=chunk_of(wanted.x.shape))
    block = OwnBlock(wanted.x[:, None], lifted[:, None])
    below = Jacobian(small_rows, head_blocks(model, wanted.mu, head_rows), [block])
    residuals = jnp.concatenate([whole.residuals, misses])
    return Rows(residuals, whole.jacobian.above(below), whole.responses, whole.slopes)


def directional_rows(objective: Objective, model: Model, batch: Batch, key: Key) -> tuple[Float[Array, "N"], Jacobian]:
    """v·∇ₓr_n along one normal direction a pair, in units in which it starts at one, and its derivatives by the weights
    after the lift."""
    points, parameters, keys = objective.pairs(batch, key)
    small = small_arrays(model)
    draws = jax.random.split(jax.random.fold_in(key, 1), points.shape[0])

    def one(sample: tuple[Point, Parameter, Key, Key]) -> tuple[Scalar, Array, list[Array]]:
        x, mu, sample_key, draw = sample
        v = jax.random.normal(draw, x.shape, x.dtype)

        def along(arrays: Model, added: list[Array]) -> Scalar:
            network = probed(model, arrays, added)
            r = lambda place: residual(network, objective.family, objective.estimator, place, mu, sample_key)
            return jax.jvp(r, (x,), (v,))[1] / objective.slope_scale

        value, (row, head_row) = jax.value_and_grad(along, argnums=(0, 1))(small, head_probes(model))
        return value, ravel_pytree(row)[0], head_row

    samples = (points, parameters, keys, draws)
    values, small_rows, head_rows = jax.lax.map(one, samples, batch_size=chunk_of(points.shape))
    return values, Jacobian(small_rows, head_blocks(model, parameters, head_rows), [])


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
