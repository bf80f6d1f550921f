"""Random keys: the one place where a key is made from another.

    child(key, Purpose.POINTS)      the key for one purpose
    items(key, 100)                 keys for 100 things of one kind; item(key, 7) is the eighth of them

Under JAX's default generator `fold_in(key, i)` and `split(key, n)[i]` are the same key, so two draws that use both
under one parent are equal, digit for digit. Here every child of a key has a number of its own in one table, and items
are children of a child that has no other use: two different paths from a root never meet. No other module calls
`jax.random.key`, `split` or `fold_in`.
"""

import enum

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from prism.shapes import Key, Keys


@enum.unique
class Purpose(enum.IntEnum):
    """What a key is for. A new purpose gets the next free number; numbers are never used again for another."""

    # The parts of a run, below its seed.
    MODEL = 0
    UNITS = 1
    TRAINING = 2
    EVALUATION = 3
    CHECK = 4
    PROBLEM = 5
    TUNING = 6
    TRUST = 7
    # The parts of a batch.
    POINTS = 8
    PARAMETERS = 9
    DIRECTIONS = 10
    SECOND_DIRECTIONS = 11
    CONDITIONS = 12
    SLOPES = 13
    # The parts of one draw.
    SPACE = 14
    TIME = 15
    ORIENTATION = 16
    RADIUS = 17
    PARAMETER = 18
    ROW = 19
    # The parts of a network.
    LIFT = 20
    LIFT_BIAS = 21
    MANIFOLD = 22
    GENERATOR = 23
    WEIGHTS = 24
    SCALE_HEAD = 25
    SHIFT_HEAD = 26
    FACTOR_HEAD = 27
    READOUT = 28
    # What is drawn beside them.
    NOISE = 29
    QUERIES = 30
    VECTORS = 31
    WHOLE = 32
    QUICK = 33
    ASCENT = 34
    ITEMS = 2**31 - 1


def root(seed: int) -> Key:
    """The key of a seed, from which all others descend."""
    return jax.random.key(seed)


def stream(seed: int, purpose: Purpose) -> Key:
    """The key for one purpose of a seed."""
    return child(root(seed), purpose)


def child(key: Key, purpose: Purpose) -> Key:
    """The key for one purpose, independent of that for any other and of the items of the same key."""
    return jax.random.fold_in(key, purpose)


def children(key: Key, *purposes: Purpose) -> list[Key]:
    """The keys for several purposes: what `child` gives for each, in one program instead of one per purpose."""
    derived = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, jnp.asarray(purposes, jnp.uint32))
    return [derived[number] for number in range(len(purposes))]


def item(key: Key, index: int | Int[Array, ""]) -> Key:
    """The key of one of many things of a kind: a step, a point, a condition."""
    return jax.random.fold_in(child(key, Purpose.ITEMS), index)


def items(key: Key, count: int) -> Keys:
    """The keys of so many things of a kind: `items(key, n)[i]` is `item(key, i)`."""
    return jax.random.split(child(key, Purpose.ITEMS), count)
