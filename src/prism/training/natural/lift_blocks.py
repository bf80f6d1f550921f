"""The lift's block of the Jacobian, from the gradients by what leaves the lift and the directions of every frame."""

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.directions import Directions, Spanned, Sparse
from prism.derivatives.estimators import Mixture
from prism.networks.lift import Lifted
from prism.objective.batches import Pair, Pairs
from prism.problem.family import Family
from prism.problem.terms import Frame, frames, place_at
from prism.training.natural.factored import Block, OwnBlock, SharedBlock, SparseBlock


def lift_blocks(
    pairs: Pairs, gradients: Lifted, family: Family, weight: Float[Array, "coordinates width"]
) -> list[Block]:
    """The rows ∂r_n/∂W of every pair: Σ over the point and the directions v of  v ⊗ (gradient by v W)."""
    on_points, coordinates, blocks = gradients.value, pairs.points.shape[1], []
    for number, (frame, gradient) in enumerate(zip(frames(family), gradients.firsts, strict=True)):
        at = lambda pair, n=number, f=frame: _directions(family, f, n, pair, weight)
        draw, fixed = pairs.draws[number], frame.leader.fixed
        if fixed and isinstance(draw, Mixture) and family.constraint().radial:
            to_points, block = _spanned_block(pairs.points, gradient, at(pairs.first()), draw.mix)
            on_points = on_points + to_points
        elif fixed and pairs.shared[number] and not isinstance(draw, Mixture):
            block = SharedBlock(at(pairs.first()).dense(coordinates), gradient)
        else:
            block = _own_block(pairs, at, gradient, coordinates)
        blocks.append(block)
    return [OwnBlock(pairs.points[:, None], on_points[:, None]), *blocks]


def _directions(family: Family, frame: Frame, number: int, pair: Pair, weight: Array) -> Directions:
    """The directions of a frame at one pair."""
    return frame.leader.decompose(pair.draws[number], place_at(family, pair.x, pair.mu, weight)).directions


def _own_block(pairs: Pairs, at, gradient: Float[Array, "N a width"], coordinates: int) -> Block:
    """Directions that every pair has for itself."""
    directions = pairs.vmap(at)
    if isinstance(directions, Sparse):
        return SparseBlock(directions.indices, directions.values, gradient)
    return OwnBlock(jax.vmap(lambda own: own.dense(coordinates))(directions), gradient)


def _spanned_block(
    points: Float[Array, "N coordinates"], gradient: Float[Array, "N n_and_2 width"], directions: Directions, mix: Array
) -> tuple[Float[Array, "N width"], SharedBlock]:
    """The block of a lift's own span, and what it adds to the gradients of the points.

    e = (x − Q Qᵀx)/|y⊥| is written in the point and the basis, which are there already. Under a radial constraint
    nothing changes along f.
    """
    assert isinstance(directions, Spanned)
    spanned = directions
    at = lambda x: dataclasses.replace(spanned, y=x[: spanned.y.shape[0]])
    along, distance = jax.vmap(lambda x: (at(x).along, at(x).distance))(points)
    to_point = gradient[:, -2] / jnp.maximum(distance, 1e-30)[:, None]
    mixing = "ak,nah->nkh" if mix.ndim == 2 else "nak,nah->nkh"
    on_basis = jnp.einsum(mixing, mix, gradient[:, :-2]) - along[:, :, None] * to_point[:, None]
    basis = jnp.pad(spanned.basis().T, ((0, 0), (0, points.shape[1] - spanned.y.shape[0])))
    return to_point, SharedBlock(basis, on_basis)
