"""sin and cos of one array together, several times as fast as XLA's own on a CPU.

Sources of high-dimensional families are sums of sines over every coordinate, so at 100,000 dimensions
they would cost more than the network. Both values share one reduction to [-π/4, π/4] (Cody and Waite's
three-part π/2) and Cephes' minimax polynomials; every operation vectorises.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, UInt32

_HALF_PI = (1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8)


@jax.custom_jvp
def sin_cos(angle: Float[Array, "*shape"]) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """(sin a, cos a): within 2e-7 for |a| < 8,000 in float32; XLA's own in any other precision."""
    if angle.dtype != jnp.float32:
        return jnp.sin(angle), jnp.cos(angle)
    quarter_turns = jnp.floor(angle * (2.0 / jnp.pi) + 0.5)
    remainder = angle
    for part in _HALF_PI:
        remainder = remainder - quarter_turns * part
    sine, cosine = _octant(remainder)
    return _rotate(sine, cosine, quarter_turns.astype(jnp.int32).astype(jnp.uint32))


@sin_cos.defjvp
def _sin_cos_jvp(primals, tangents):
    sine, cosine = sin_cos(*primals)
    (tangent,) = tangents
    return (sine, cosine), (cosine * tangent, -sine * tangent)


def _octant(r: Float[Array, "*shape"]) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """sin r and cos r on [-π/4, π/4]."""
    s = r * r
    sine = r + r * s * (-1.6666654611e-1 + s * (8.3321608736e-3 - s * 1.9515295891e-4))
    cosine = 1.0 - 0.5 * s + s * s * (4.166664568e-2 + s * (-1.388731625e-3 + s * 2.443315712e-5))
    return sine, cosine


def _rotate(
    sine: Float[Array, "*shape"], cosine: Float[Array, "*shape"], turns: UInt32[Array, "*shape"]
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Turn (cos, sin) by `turns` quarters: swap where odd, then set the signs by their bit."""
    odd = (turns & 1) != 0
    swapped_sine = jnp.where(odd, cosine, sine)
    swapped_cosine = jnp.where(odd, sine, cosine)
    return _flip_sign(swapped_sine, turns & 2), _flip_sign(swapped_cosine, (turns + 1) & 2)


def _flip_sign(value: Float[Array, "*shape"], second_bit: UInt32[Array, "*shape"]) -> Float[Array, "*shape"]:
    """−value where the second bit is set: it is moved onto the sign bit."""
    bits = jax.lax.bitcast_convert_type(value, jnp.uint32) ^ (second_bit << 30)
    return jax.lax.bitcast_convert_type(bits, jnp.float32)
