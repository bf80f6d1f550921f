"""The residual's gradient as the metric of coefficients that belong to places.

For A of z = Σ_i A_i·φ(y_i) a batch gives one residual per point, but d slopes. To leading order

    ∂_k r_n = Σ_{i ∋ k} A_i · ∂_k ρ_n(y_i) + ...,     ρ_n = p_n φ + t_n ½Δφ,     p = ∂r/∂z,  t = ∂r/∂(½Δz),

so that a slope sees the few places that its coordinate belongs to. Each place takes the slopes of its own coordinates
as a least-squares problem of its own, with as many unknowns as there are features.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.networks.lifts.lift import Lifted
from prism.networks.lifts.sites import SiteSums
from prism.networks.model import Model
from prism.numerics.chunks import chunk_size
from prism.objective.batches import Pairs

CHUNK_POINTS = 20
"""Pairs that are worked on at once, each of which has third derivatives at every place."""


def own_sites(model: Model) -> list[SiteSums]:
    """The groups whose places have coefficients of their own."""
    return [group for group in model.lift.groups if isinstance(group, SiteSums) and not group.part.shared]


def site_steps(
    model: Model, pairs: Pairs, gradients: Lifted, slopes: Float[Array, "N coordinates"], damping: float
) -> list[Float[Array, "places features channels"]]:
    """The change of A, for every group of `own_sites`, that takes the slopes away."""
    steps, start = [], model.lift.linear
    for group in model.lift.groups:
        end = start + group.channels
        if any(group is other for other in own_sites(model)):
            tops = [frame.top[:, start:end] for frame in gradients.frames if frame.top is not None]
            by_top = sum(tops, start=jnp.zeros_like(gradients.value[:, start:end]))
            steps.append(_step(model, group, pairs, gradients.value[:, start:end], by_top, slopes, damping))
        start = end
    return steps


def _step(model, group, pairs: Pairs, by_value: Array, by_top: Array, slopes: Array, damping: float) -> Array:
    """−(Σ s sᵀ + λI)⁻¹ Σ s ∂r at every place, s the derivatives of its rows by its own coordinates."""
    places, shape = group.places, group.coefficients.shape
    unknowns = shape[1] * shape[2]

    def normal_equations(sample: tuple[Array, ...]) -> tuple[Array, Array]:
        x, mu, value, top, slope = sample
        rows = group.slope_rows(x, model.lift_modulation_of(group, mu), value, top)
        rows = rows.reshape(*rows.shape[:2], unknowns)
        asked = slope[places].T
        return jnp.einsum("kpf,kpg->pfg", rows, rows), jnp.einsum("kpf,kp->pf", rows, asked)

    samples = (pairs.points, pairs.parameters, by_value, by_top, slopes)
    count = len(pairs)
    chunk = chunk_size(count, pairs.points.shape[1], CHUNK_POINTS)
    while count % chunk:
        chunk -= 1
    chunked = jax.tree.map(lambda leaf: leaf.reshape(count // chunk, chunk, *leaf.shape[1:]), samples)

    def add(total: tuple[Array, Array], some: tuple[Array, ...]) -> tuple[tuple[Array, Array], None]:
        found = jax.vmap(normal_equations)(some)
        return jax.tree.map(lambda old, new: old + jnp.sum(new, axis=0), total, found), None

    dtype = group.coefficients.dtype
    zero = (jnp.zeros((shape[0], unknowns, unknowns), dtype), jnp.zeros((shape[0], unknowns), dtype))
    (matrix, target), _ = jax.lax.scan(add, zero, chunked)
    level = jnp.mean(jnp.trace(matrix, axis1=1, axis2=2)) / unknowns
    damped = matrix + (damping * level + jnp.finfo(dtype).tiny) * jnp.eye(unknowns, dtype=dtype)[None]
    factor = jax.vmap(lambda m: jax.scipy.linalg.cho_factor(m, lower=True)[0])(damped)
    solution = jax.vmap(lambda f, b: jax.scipy.linalg.cho_solve((f, True), b))(factor, target)
    return -solution.reshape(shape)


def with_coefficients(arrays: Model, steps: list[Array]) -> Model:
    """Those arrays of a model with other coefficients of `own_sites`."""
    return eqx.tree_at(lambda m: [group.coefficients for group in own_sites(m)], arrays, steps)
