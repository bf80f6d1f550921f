"""The rows of a batch with their derivatives: by the network's weights, and for the equation by its own point."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from prism.networks.lifts.lift import Lifted
from prism.networks.model import Model
from prism.numerics.chunks import map_chunks
from prism.objective.batches import Batch, Pair, Pairs
from prism.objective.residuals import asked_of_lift, place_of
from prism.objective.rows import Objective, each_direction
from prism.problem.conditions import Condition, Target
from prism.problem.terms import decompositions
from prism.shapes import Point, Scalar
from prism.training.natural.factored import OwnBlock
from prism.training.natural.jacobian import Jacobian, head_blocks, head_probes, plain_arrays, probed
from prism.training.natural.lift_blocks import lift_blocks, slope_blocks


class LinearRows(eqx.Module):
    """The rows of a batch, stacked so that their squares add up to N times the loss, and their Jacobian.

    First the N pairs of the equation, then the targets of each condition, then the slopes.
    """

    values: Float[Array, "M"]
    jacobian: Jacobian
    responses: Float[Array, "N linear"]
    """∂r_n/∂z_n of the N pairs, z the linear channels of the lift."""
    slopes: Float[Array, "N coordinates"]
    """∂r_n/∂x_n of the N pairs; without coordinates where they are not asked for."""
    by_lifted: Lifted
    """The derivatives of the N pairs by all that leaves the lift."""

    @property
    def pair_count(self) -> int:
        """N."""
        return self.slopes.shape[0]

    @property
    def squared_residuals(self) -> Scalar:
        """Σ r_n² of the N pairs."""
        return jnp.sum(self.values[: self.pair_count] ** 2)

    @property
    def squared_slopes(self) -> Scalar:
        """Σ |∂r_n/∂x_n|² of the N pairs."""
        return jnp.sum(self.slopes**2)

    def above(self, values: Float[Array, "_"], jacobian: Jacobian) -> "LinearRows":
        """With more rows below."""
        both = jnp.concatenate([self.values, values])
        return LinearRows(both, self.jacobian.above(jacobian), self.responses, self.slopes, self.by_lifted)


def linear_rows(
    objective: Objective, model: Model, batch: Batch, by_points: bool = True, slopes_by_lift: bool = True
) -> LinearRows:
    """Every row of the batch with its derivatives, in chunks so that memory is bounded. Where asked for, those of pairs
    by their own point, and those of slopes by the lift's matrix."""
    pairs = batch.pairs()
    rows = _equation_rows(objective, model, pairs, by_points)
    for condition, targets in zip(objective.family.conditions.values(), batch.targets, strict=True):
        rows = rows.above(*_condition_rows(objective, model, condition, targets, rows.pair_count))
    return rows if objective.slopes is None else rows.above(*_slope_rows(objective, model, pairs, slopes_by_lift))


def _equation_rows(objective: Objective, model: Model, pairs: Pairs, by_points: bool) -> LinearRows:
    """r / scale of every pair."""
    arrays = plain_arrays(model)
    shapes = jax.eval_shape(lambda: _lifted(objective, model, pairs.first()))
    probe = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), (head_probes(model), shapes))

    def one(pair: Pair) -> tuple[Scalar, Array, list[Array], Lifted, Point]:
        def value(weights: Model, x: Point, added: tuple[list[Array], Lifted]) -> Scalar:
            moved = eqx.tree_at(lambda p: p.x, pair, x)
            return objective.equation(probed(model, weights, added[0]), moved, added[1])

        wanted = (0, 2, 1) if by_points else (0, 2)
        r, (row, (head_row, lifted), *slope) = jax.value_and_grad(value, argnums=wanted)(arrays, pair.x, probe)
        return r, ravel_pytree(row)[0], head_row, lifted, slope[0] if by_points else pair.x[:0]

    values, plain, head_rows, lifted, slopes = pairs.map(one, model.lift.workspace)
    blocks = lift_blocks(pairs, lifted, objective.family, model)
    jacobian = Jacobian(plain, head_blocks(model, pairs.parameters, head_rows), blocks)
    return LinearRows(values, jacobian, lifted.value[:, : model.lift.linear], slopes, lifted)


def _condition_rows(
    objective: Objective, model: Model, condition: Condition, targets: Target, pair_count: int
) -> tuple[Float[Array, "_"], Jacobian]:
    """√(N/N_c) times the rows of a condition: the sum of squares stays N times the loss."""
    arrays, factor = plain_arrays(model), (pair_count / condition.points) ** 0.5
    linear = model.lift.linear
    vectors = jnp.stack([targets.x] if targets.along is None else [targets.x, targets.along], axis=1)
    probe = (head_probes(model), jnp.zeros((vectors.shape[1], model.lift.width), model.lift.bias.dtype))

    def one(target: Target) -> tuple[Scalar, Array, list[Array], Array]:
        def value(weights: Model, added: tuple[list[Array], Array]) -> Scalar:
            network = probed(model, weights, added[0])
            return factor * objective.condition(network, condition, target, [Lifted(own, ()) for own in added[1]])

        miss, (row, (head_row, lifted)) = jax.value_and_grad(value, argnums=(0, 1))(arrays, probe)
        return miss, ravel_pytree(row)[0], head_row, lifted

    values, plain, head_rows, lifted = map_chunks(one, targets, model.lift.workspace)
    block = OwnBlock(vectors, lifted[..., :linear])
    return values, Jacobian(plain, head_blocks(model, targets.mu, head_rows), [block] if linear else [])


def _slope_rows(objective: Objective, model: Model, pairs: Pairs, by_lift: bool) -> tuple[Float[Array, "_"], Jacobian]:
    """v·∇ₓr along every direction of every pair: the lift is seen where the point is and along v."""
    arrays, heads = plain_arrays(model), head_probes(model)
    shapes = jax.eval_shape(lambda: _lifted(objective, model, pairs.first()))
    nothing = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
    probe = (heads, [nothing, nothing] if by_lift else [])

    def one(pair: Pair) -> tuple[Array, Array, list[Array], list[Lifted], Array]:
        directions = objective.slope_directions(pair)
        root = directions.shape[0] ** -0.5

        def along(v: Point) -> tuple[Scalar, Array, list[Array], list[Lifted]]:
            def value(weights: Model, added: tuple[list[Array], list[Lifted]]) -> Scalar:
                return root * objective.slope(probed(model, weights, added[0]), pair, v, added[1])

            slope, (row, (head_row, lifted)) = jax.value_and_grad(value, argnums=(0, 1))(arrays, probe)
            return slope, ravel_pytree(row)[0], head_row, lifted

        return *each_direction(along, directions), directions

    flat = lambda leaf: leaf.reshape(-1, *leaf.shape[2:])
    values, plain, head_rows, lifted, vectors = jax.tree.map(flat, pairs.map(one, model.lift.workspace))
    repeated = pairs.repeated(values.shape[0] // len(pairs))
    blocks = slope_blocks(repeated, vectors, lifted, objective.family, model) if by_lift else []
    return values, Jacobian(plain, head_blocks(model, repeated.parameters, head_rows), blocks)


def _lifted(objective: Objective, model: Model, pair: Pair) -> Lifted:
    family = objective.family
    place = place_of(model, family, pair.x, pair.mu)
    return model.lifted(pair.x, pair.mu, asked_of_lift(family, decompositions(family, pair.draws, place)))
