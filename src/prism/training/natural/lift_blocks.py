"""The lift's block of the Jacobian, from the gradients by what leaves the lift and the directions of every frame."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.directions import Directions, Sparse
from prism.derivatives.frames import Frame
from prism.derivatives.spans import Mixture, Spanned
from prism.networks.lifts.lift import Lift, Lifted
from prism.networks.model import Model
from prism.objective.batches import Pair, Pairs
from prism.objective.residuals import place_of
from prism.problem.family import Family
from prism.problem.terms import frames
from prism.shapes import Point
from prism.training.natural.factored import Block, OwnBlock, SharedBlock, SparseBlock

DirectionsAt = Callable[[Pair], Directions]


def lift_blocks(pairs: Pairs, gradients: Lifted, family: Family, model: Model) -> list[Block]:
    """The rows ∂r_n/∂W of every pair: Σ over the point and the directions v of  v ⊗ (gradient by v W)."""
    linear, coordinates = model.lift.linear, pairs.points.shape[1]
    on_points, blocks = gradients.value[:, :linear], []
    in_space = pairs.points.at[:, family.domain.dimension :].set(0.0)
    if linear == 0:
        return []
    for number, (frame, by_frame) in enumerate(zip(frames(family), gradients.frames, strict=True)):
        gradient = by_frame.lower[0][..., :linear]
        at = lambda pair, n=number, f=frame: _directions(family, f, n, pair, model)
        draw, fixed = pairs.draws[number], frame.is_fixed
        if fixed and isinstance(draw, Mixture) and family.constraint().radial:
            to_points, spanned = _spanned_blocks(pairs, gradient, at, draw.mix, model.lift)
            blocks = [*blocks, OwnBlock(in_space[:, None], to_points[:, None]), *spanned]
        elif fixed and pairs.shared[number] and not isinstance(draw, Mixture):
            blocks.append(SharedBlock(at(pairs.first()).dense(coordinates), gradient))
        else:
            blocks.append(_own_block(pairs, at, gradient, coordinates))
    return [OwnBlock(pairs.points[:, None], on_points[:, None]), *blocks]


def slope_blocks(
    pairs: Pairs, vectors: Float[Array, "N coordinates"], gradients: Sequence[Lifted], family: Family, model: Model
) -> list[Block]:
    """The rows ∂(v·∇ₓr)/∂W, from the gradients by what leaves the lift and by its derivative along v:  v ⊗ (gradient by
    that of x W), and directions that move with the point as far as they do along v."""
    by_value, by_change = gradients
    linear, coordinates = model.lift.linear, pairs.points.shape[1]
    blocks = lift_blocks(pairs, by_value, family, model)
    if linear == 0:
        return blocks
    blocks.append(OwnBlock(vectors[:, None], by_change.value[:, None, :linear]))
    for number, (frame, by_frame) in enumerate(zip(frames(family), by_change.frames, strict=True)):
        if frame.is_fixed and not isinstance(pairs.draws[number], Mixture):
            continue

        def change(pair: Pair, v: Point, n: int = number, f: Frame = frame) -> Float[Array, "a coordinates"]:
            moved = lambda x: _directions(family, f, n, eqx.tree_at(lambda p: p.x, pair, x), model).dense(coordinates)
            return jax.jvp(moved, (pair.x,), (v,))[1]

        blocks.append(OwnBlock(pairs.vmap(change, vectors), by_frame.lower[0][..., :linear]))
    return blocks


def _directions(family: Family, frame: Frame, number: int, pair: Pair, model: Model) -> Directions:
    """The directions of a frame at one pair."""
    return frame.decompose(pair.draws[number], place_of(model, family, pair.x, pair.mu)).directions


def _own_block(pairs: Pairs, at: DirectionsAt, gradient: Float[Array, "N a width"], coordinates: int) -> Block:
    """Directions that every pair has for itself."""
    directions = pairs.vmap(at)
    if isinstance(directions, Sparse):
        return SparseBlock(directions.indices, directions.values, gradient)
    return OwnBlock(jax.vmap(lambda own: own.dense(coordinates))(directions), gradient)


def _spanned_blocks(
    pairs: Pairs, gradient: Float[Array, "N n width"], at: DirectionsAt, mix: Array, lift: Lift
) -> tuple[Float[Array, "N width"], list[Block]]:
    """The blocks of a lift's own span, and what it adds to the gradients of the points.

    e = (x − Q Qᵀx)/|y⊥| is written in the point and the basis, which are there already: the part of it that all pairs
    share, and the part that is each one's own. Under a radial constraint nothing changes along f.
    """

    def spanned(pair: Pair) -> Spanned:
        directions = at(pair)
        assert isinstance(directions, Spanned)
        return directions

    parts = lambda pair: (spanned(pair).along, spanned(pair).inverse_distance, spanned(pair).own.T)
    along, inverse_distance, own = pairs.map(parts, lift.workspace) if lift.groups else pairs.vmap(parts)
    by_vector = jnp.einsum("ak,nah->nkh" if mix.ndim == 2 else "nak,nah->nkh", mix, gradient)  # of Q, e and f
    to_point = by_vector[:, -2] * inverse_distance[:, None]
    on_basis = by_vector[:, :-2] - along[:, :, None] * to_point[:, None]
    shared, coordinates = spanned(pairs.first()), pairs.points.shape[1]
    linear = shared.lift.shape[1]
    padded = lambda rows: jnp.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, coordinates - rows.shape[-1])])
    blocks: list[Block] = [SharedBlock(padded((shared.lift @ shared.inverse).T), on_basis[:, :linear])]
    if own.shape[1]:
        blocks.append(OwnBlock(padded(own), on_basis[:, linear:]))
    return to_point, blocks
