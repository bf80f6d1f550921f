"""The residual's gradient as the metric of weights of a lift that are as many as coordinates, one group after another.

Blocks. Their channels are linear, with p = ∂r/∂z, and the change of W that takes the slopes ∂r away is that of a dense
lift; what W = w ⊗ V can follow of it are its projections on V and on w.

Coefficients A of places, z = Σ_i A_i·φ(y_i). A batch gives one residual per point, but d slopes. To leading order

    ∂_k r_n = Σ_{i ∋ k} A_i · ∂_k ρ_n(y_i) + ...,     ρ_n = p_n φ + t_n ½Δφ,     p = ∂r/∂z,  t = ∂r/∂(½Δz),

so that a slope sees the few places that its coordinate belongs to. Each place takes the slopes of its own coordinates
as a least-squares problem of its own, with as many unknowns as there are features.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.networks.lifts.blocks import BlockChannels
from prism.networks.lifts.lift import Lifted
from prism.networks.lifts.sites import SiteSums
from prism.networks.model import Model
from prism.numerics.damped_systems import damped_solution
from prism.objective.batches import Pairs

SITE_DAMPING = 1e-3
"""λ of the places' least-squares problems, relative to the mean diagonal of all."""
BLOCK_DAMPING = 1e-4
"""λ of the blocks' problem, relative to the mean diagonal of P Pᵀ."""
Slopes = Float[Array, "N coordinates"]
Responses = Float[Array, "N channels"]


def slope_steps(model: Model, pairs: Pairs, gradients: Lifted, slopes: Slopes) -> tuple[Array, ...]:
    """The changes of all weights of groups that follow the residual's slopes. Each group takes what the ones before
    have left of these."""
    steps, start = [], model.lift.linear
    for group in model.lift.groups:
        channels = slice(start, start + group.channels)
        start, by_value = channels.stop, gradients.value[:, channels]
        if not group.by_slopes:
            continue
        if isinstance(group, BlockChannels):
            changes, slopes = block_step(group, by_value, slopes)
            steps += changes
        if isinstance(group, SiteSums):
            tops = [frame.top[:, channels] for frame in gradients.frames if frame.top is not None]
            by_top = sum(tops, start=jnp.zeros_like(by_value))
            steps.append(site_step(model, group, pairs, by_value, by_top, slopes))
    return tuple(steps)


def block_step(group: BlockChannels, p: Responses, slopes: Slopes) -> tuple[tuple[Array, Array], Slopes]:
    """−(∇r)ᵀ (P Pᵀ + λI)⁻¹ P, projected on w and on V, half of it each; and the slopes that both leave."""
    solution, _ = damped_solution(p @ p.T, p, jnp.full((), BLOCK_DAMPING))
    w, v = group.within, group.weight[: group.blocks]
    in_blocks = jax.vmap(group.in_blocks)(slopes)
    of_weight = jnp.concatenate([in_blocks @ w / jnp.sum(w * w), slopes[:, group.dimension :]], axis=1).T @ solution
    of_within = jnp.einsum("nbj,nb->j", in_blocks, solution @ v.T) / jnp.sum(v * v)
    of_within, of_weight = -0.5 * of_within, -0.5 * of_weight
    by_weight, by_within = (p @ of_weight[: group.blocks].T)[:, :, None], (p @ v.T)[:, :, None]
    moved = by_weight * w[None, None] + by_within * of_within[None, None]
    space, time = moved.reshape(len(p), -1)[:, : group.dimension], p @ of_weight[group.blocks :].T
    return (of_within, of_weight), slopes + jnp.concatenate([space, time], axis=1)


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
