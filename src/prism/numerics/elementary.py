"""sin and cos of one array together, several times as fast as XLA's own on a CPU.

Sources of high-dimensional families are sums of sines over every coordinate, so at 100,000 dimensions
they would cost more than the network. Both values share one reduction to [-π/2, π/2] (Cody and Waite's
three-part π) and have a minimax polynomial each; every operation vectorises, and where only one of the
two is used, the compiler drops the other's polynomial.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, UInt32

_PI = (3.140625, 9.67502593994140625e-4, 1.509957990978376432e-7)


@jax.custom_jvp
def sin_cos(angle: Float[Array, "*shape"]) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """(sin a, cos a): within 2e-7 for |a| < 8,000 in float32; XLA's own in any other precision."""
    if angle.dtype != jnp.float32:
        return jnp.sin(angle), jnp.cos(angle)
    half_turns = jnp.floor(angle * (1.0 / jnp.pi) + 0.5)
    remainder = angle
    for part in _PI:
        remainder = remainder - half_turns * part
    sign = half_turns.astype(jnp.int32).astype(jnp.uint32) << 31
    sine, cosine = _half_turn(remainder)
    return _flip_sign(sine, sign), _flip_sign(cosine, sign)


@sin_cos.defjvp
def _sin_cos_jvp(primals, tangents):
    sine, cosine = sin_cos(*primals)
    (tangent,) = tangents
    return (sine, cosine), (cosine * tangent, -sine * tangent)


def _half_turn(r: Float[Array, "*shape"]) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """sin r and cos r on [-π/2, π/2]."""
    s = r * r
    sine = r + r * s * (-1.66666571e-1 + s * (8.33301636e-3 + s * (-1.98065471e-4 + s * 2.59990325e-6)))
    cosine = 1.0 - 0.5 * s + s * s * (4.16666557e-2 + s * (-1.38885682e-3 + s * (2.47692407e-5 - s * 2.61924841e-7)))
    return sine, cosine


def _flip_sign(value: Float[Array, "*shape"], sign: UInt32[Array, "*shape"]) -> Float[Array, "*shape"]:
    """−value where the highest bit of `sign` is set, its only one."""
    bits = jax.lax.bitcast_convert_type(value, jnp.uint32) ^ sign
    return jax.lax.bitcast_convert_type(bits, jnp.float32)
