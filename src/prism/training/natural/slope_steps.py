"""The residual's gradient as the metric of weights of a lift that are as many as coordinates, one group after another.

Blocks. Their channels are linear, with p = ∂r/∂z, and the change of W that takes the slopes ∂r away is that of a dense
lift; what W = w ⊗ V can follow of it are its projections on V and on w.

Coefficients A of places, z = Σ_i A_i·φ(y_i). A batch gives one residual per point, but d slopes. To leading order

    ∂_k r_n = Σ_{i ∋ k} A_i · ∂_k ρ_n(y_i) + ...,     ρ_n = p_n φ + t_n ½Δφ,     p = ∂r/∂z,  t = ∂r/∂(½Δz),

so that a slope sees the few places that its coordinate belongs to. Operators other than Δ enter through p alone. Each
place takes the slopes of its own coordinates
as a least-squares problem of its own, with as many unknowns as there are features.
"""

import itertools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.networks.lifts.blocks import BlockChannels
from prism.networks.lifts.lift import Lifted
from prism.networks.lifts.sites import SiteSums
from prism.networks.model import Model
from prism.numerics.damped_systems import damped_solution
from prism.objective.batches import Pairs
from prism.problem.family import Family
from prism.problem.terms import frames

SITE_DAMPING = 1e-3
"""λ of the places' least-squares problems, relative to the mean diagonal of all."""
Slopes = Float[Array, "N coordinates"]
Responses = Float[Array, "N channels"]


def slope_steps(
    model: Model, family: Family, pairs: Pairs, by_lifted: Lifted, slopes: Slopes, lift_damping: float
) -> tuple[Array, ...]:
    """The changes of all weights of groups that follow the residual's slopes, from the derivatives of r by what leaves
    the lift: blocks one after another, then all places with what these leave."""
    channels, steps = _channels(model), {}
    for number, group in enumerate(model.lift.groups):
        if isinstance(group, BlockChannels):
            p = by_lifted.value[:, channels[number]]
            steps[number], slopes = block_step(group, p, slopes, lift_damping)
    sites = {
        number: group
        for number, group in enumerate(model.lift.groups)
        if isinstance(group, SiteSums) and group.part.follows_slopes
    }
    slopes = slopes * shares([*sites.values()], slopes.shape[1])[None]
    for number, group in sites.items():
        p, t = by_lifted.value[:, channels[number]], _by_laplacian(family, by_lifted)[:, channels[number]]
        steps[number] = (site_step(model, group, pairs, p, t, slopes),)
    return tuple(step for number in sorted(steps) for step in steps[number])


def _channels(model: Model) -> list[slice]:
    """Where each group has its channels."""
    ends = list(itertools.accumulate([group.channels for group in model.lift.groups], initial=model.lift.linear))
    return [slice(*both) for both in itertools.pairwise(ends)]


def _by_laplacian(family: Family, by_lifted: Lifted) -> Responses:
    """t: derivatives by ½Δz, of operators that read it."""
    pairs = zip(frames(family), by_lifted.frames, strict=True)
    isotropic = lambda frame: frame.leader.fixed and frame.leader.isotropic_order == 2
    tops = [found.top for frame, found in pairs if isotropic(frame) and found.top is not None]
    return sum(tops, start=jnp.zeros_like(by_lifted.value))


def shares(groups: Sequence[SiteSums], coordinates: int) -> Float[np.ndarray, "coordinates"]:
    """What a place takes of a slope: all of it where a coordinate is in two places at most, 2/m of it where it is in m.
    All m together would else take more than twice as much as there is, and never settle."""
    members = np.concatenate([np.zeros(0, int), *[group.places.reshape(-1) for group in groups]])
    return np.minimum(1.0, 2.0 / np.maximum(np.bincount(members, minlength=coordinates), 1)).astype(np.float32)


def linear_step(p: Responses, damping: float) -> Responses:
    """(P Pᵀ + λI)⁻¹ P, λ relative to the mean diagonal: what a linear channel's change takes of every slope."""
    return damped_solution(p @ p.T, p, jnp.full((), damping))[0]


def block_step(
    group: BlockChannels, p: Responses, slopes: Slopes, damping: float
) -> tuple[tuple[Array, Array], Slopes]:
    """−(∇r)ᵀ (P Pᵀ + λI)⁻¹ P, projected on w and on V, half of it each (of time, whose row is its own, all); and the
    slopes that are left."""
    solution = linear_step(p, damping)
    w, v = group.pattern, group.weight[: group.blocks]
    in_blocks, there = jax.vmap(group.in_blocks)(slopes), group.in_blocks(jnp.ones(group.dimension, w.dtype))
    pooled = 0.5 * (in_blocks @ w) / (there @ (w * w))[None]
    of_weight = -jnp.concatenate([pooled, slopes[:, group.dimension :]], axis=1).T @ solution
    of_pattern = -0.5 * jnp.einsum("nbj,nb->j", in_blocks, solution @ v.T) / (there.T @ jnp.sum(v * v, axis=1))
    by_weight, by_pattern = (p @ of_weight[: group.blocks].T)[:, :, None], (p @ v.T)[:, :, None]
    moved = by_weight * w[None, None] + by_pattern * of_pattern[None, None]
    space, time = moved.reshape(len(p), -1)[:, : group.dimension], p @ of_weight[group.blocks :].T
    return (of_pattern, of_weight), slopes + jnp.concatenate([space, time], axis=1)


def site_step(
    model: Model,
    group: SiteSums,
    pairs: Pairs,
    by_value: Responses,
    by_top: Responses,
    slopes: Slopes,
    damping: float = SITE_DAMPING,
) -> Float[Array, "places features channels"]:
    """−(Σ s sᵀ + λI)⁻¹ Σ s ∂r at every place, s the derivatives of its rows by its own coordinates."""
    places, shape = group.places, group.coefficients.shape
    unknowns = shape[1] * shape[2]

    def add(total: tuple[Array, Array], sample: tuple[Array, ...]) -> tuple[tuple[Array, Array], None]:
        x, mu, value, top, slope = sample
        rows = group.slope_rows(x, model.lift_modulation_of(group, mu), value, top)
        rows = rows.reshape(rows.shape[0], unknowns, -1)
        matrix, target = total
        for row, coordinate in zip(rows, places.T, strict=True):
            matrix, target = matrix + row[:, None] * row[None], target + row * slope[coordinate][None]
        return (matrix, target), None

    dtype = group.coefficients.dtype
    zero = (jnp.zeros((unknowns, unknowns, shape[0]), dtype), jnp.zeros((unknowns, shape[0]), dtype))
    sums, _ = jax.lax.scan(add, zero, (pairs.points, pairs.parameters, by_value, by_top, slopes))
    matrix, target = jnp.moveaxis(sums[0], 2, 0), sums[1].T
    level = jnp.mean(jnp.trace(matrix, axis1=1, axis2=2)) / unknowns
    damped = matrix + (damping * level + jnp.finfo(dtype).tiny) * jnp.eye(unknowns, dtype=dtype)[None]
    factor = jax.vmap(lambda m: jax.scipy.linalg.cho_factor(m, lower=True)[0])(damped)
    solution = jax.vmap(lambda f, b: jax.scipy.linalg.cho_solve((f, True), b))(factor, target)
    return -solution.reshape(shape)
