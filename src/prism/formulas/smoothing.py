"""max(z, 0) without its kink: E max(z + wZ, 0) for a standard normal Z."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Values = Float[Array, "..."]
FAR = 39.0
"""Beyond so many widths the normal density is zero in double precision."""


def smoothed(z: Array | float, width: Array | float) -> Array:
    """max(z, 0) smoothed by the heat kernel: E max(z + wZ, 0) = z Φ(z/w) + w φ(z/w), with w the `width`, Z normal.

    Hard constraints are differentiated at points, where the kink of max(z, 0) is never met; this has none for w > 0,
    and is max(z, 0) itself where w = 0. Two choices of the width:

    - The deviation that z still gets until the data are read, w = σ|∇z|√(T − t) where u_t + ½σ²Δu + ... = 0 leads to
      the data at t = T, √(2κt)|∇z| where u_t = κΔu + ... starts from them. Then the kink stands where the data are read
      and nowhere else, the smoothed function solves the diffusion to leading order, and nothing is biased.
    - A constant: values change by at most 0.4·w, at the kink, and like a Gaussian less beside it. It is as if the
      data had been given w²/(2κ) further off in time.

    Where √(T − t) is differentiated backwards, as `solution.gradient` does, keep it from 0: jnp.maximum(T − t, 1e-12).
    The other kinks are |z| = 2·max(z, 0) − z and max(a, b) = b + max(a − b, 0). The call on five assets with log-prices
    y, strike 1, read at t = 1:

        def price(x, mu):
            assets = jnp.exp(x[:-1])
            width = mu.sigma * jnp.linalg.norm(assets) / 5 * jnp.sqrt(jnp.maximum(1.0 - x[-1], 1e-12))
            return prism.smoothed(jnp.mean(assets) - 1.0, width)

    >>> [round(float(smoothed(z, 0.1)), 4) for z in (-1.0, 0.0, 1.0)]
    [0.0, 0.0399, 1.0]
    """
    dtype = jnp.result_type(z, width, float)
    return _smoothed(*jnp.broadcast_arrays(jnp.asarray(z, dtype), jnp.asarray(width, dtype)))


@jax.custom_jvp
def _smoothed(z: Values, width: Values) -> Values:
    ratio = _ratio(z, width)
    return z * _distribution(ratio) + jnp.maximum(width, 0.0) * _density(ratio)


@_smoothed.defjvp
def _smoothed_jvp(primals, tangents):
    """Φ(z/w) by z, φ(z/w) by w. A width of √(T − t) has no derivative where it vanishes, so none is taken there."""
    (z, width), (z_tangent, width_tangent) = primals, tangents
    ratio = _ratio(z, width)
    by_width = jnp.where(width > _least(width), _density(ratio) * width_tangent, 0.0)
    return _smoothed(z, width), _distribution(ratio) * z_tangent + by_width


def _ratio(z: Values, width: Values) -> Values:
    """z/w, no further from zero than matters, so that neither it nor its derivatives overflow."""
    near = (width > _least(width)) & (jnp.abs(z) < FAR * width)
    return jnp.where(near, z / jnp.where(near, width, 1.0), FAR * jnp.sign(z))


def _least(width: Values) -> float:
    """Below this the square of a width is not a number of its precision."""
    return float(jnp.finfo(width.dtype).tiny) ** 0.5


def _distribution(ratio: Values) -> Values:
    return 0.5 * jax.lax.erfc(-math.sqrt(0.5) * ratio)


def _density(ratio: Values) -> Values:
    return math.sqrt(0.5 / math.pi) * jnp.exp(-0.5 * ratio * ratio)
