"""Uniform bits and normals for points: JAX's own Threefry generator, laid out to run fast on a CPU.

`jax.random` rolls the rounds of Threefry-2x32 into a loop over memory there; unrolled, the same function of
the same key and counter costs a tenth. Normals come in pairs by the Box-Muller transform.
References: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from prism.numerics.elementary import sin_cos

Words = UInt32[Array, "n"]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry(key: PRNGKeyArray, high: Words, low: Words) -> tuple[Words, Words]:
    """Threefry-2x32 with 20 rounds: two random words for each counter (high, low)."""
    first, second = jax.random.key_data(key)
    schedule = (first, second, first ^ second ^ jnp.uint32(_PARITY))
    a, b = high + schedule[0], low + schedule[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            a = a + b
            b = ((b << rotation) | (b >> (32 - rotation))) ^ a
        a = a + schedule[(group + 1) % 3]
        b = b + schedule[(group + 2) % 3] + jnp.uint32(group + 1)
    return a, b


def normals(key: PRNGKeyArray, count: int) -> Float[Array, "n"]:
    """`count` standard normals: (√(−2 ln u) cos 2πw, √(−2 ln u) sin 2πw) from uniform u, w."""
    if jnp.result_type(float) != jnp.float32:
        return jax.random.normal(key, (count,))
    half = (count + 1) // 2
    first, second = threefry(key, jnp.zeros(half, jnp.uint32), jnp.arange(half, dtype=jnp.uint32))
    radius = jnp.sqrt(-2.0 * jnp.log(_uniform(first)))
    sine, cosine = sin_cos(2.0 * jnp.pi * _uniform(second))
    return jnp.concatenate([radius * cosine, radius * sine])[:count]


def _uniform(words: Words) -> Float[Array, "n"]:
    """(k + 1/2)·2⁻²³ from the upper 23 bits k: inside (0, 1), both ends left out."""
    return (words >> 9).astype(jnp.float32) * 2.0**-23 + 2.0**-24


def random_subset(key: PRNGKeyArray, dimension: int, count: int) -> Int[Array, "n"]:
    """A uniformly random set of `count` of {0 ... dimension−1} in O(count²), whatever the dimension (Floyd).

    For j = d−n ... d−1 draw t from {0 ... j}; take t, or j itself where t has been taken.
    """
    last = jnp.arange(dimension - count, dimension)
    draws = jax.random.randint(key, (count,), 0, last + 1)

    def take(position: int | Array, chosen: Int[Array, "n"]) -> Int[Array, "n"]:
        taken = jnp.any(chosen == draws[position])
        return chosen.at[position].set(jnp.where(taken, last[position], draws[position]))

    return jax.lax.fori_loop(0, count, take, jnp.full(count, -1, draws.dtype), unroll=min(count, 16))
