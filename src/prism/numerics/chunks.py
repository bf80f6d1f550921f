"""Work in chunks, where memory would otherwise grow with the number of points."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

CHUNK_NUMBERS = 4_000_000
"""Coordinates of the points that are worked on at once."""
CHUNK_POINTS = 100
"""Points that are worked on at once, where each carries derivatives by many weights."""

Result = TypeVar("Result")


def chunk_size(points: int, coordinates: int, most: int = CHUNK_POINTS) -> int:
    """How many of so many points, each of so many coordinates, make a chunk."""
    return max(1, min(most, CHUNK_NUMBERS // coordinates, points))


def map_chunks(function: Callable[[Any], Result], samples: Any, coordinates: int, most: int = CHUNK_POINTS) -> Result:
    """The function of every sample along the first axis, as many at a time as `chunk_size` allows.

    Values of size zero, which `jax.lax.map` cannot put together, are left out of the work.
    """
    count = jax.tree.leaves(samples)[0].shape[0]
    shapes, tree = jax.tree.flatten(jax.eval_shape(function, jax.tree.map(lambda leaf: leaf[0], samples)))
    full = lambda sample: [leaf for leaf in jax.tree.leaves(function(sample)) if leaf.size]
    found = iter(jax.lax.map(full, samples, batch_size=chunk_size(count, coordinates, most)))
    leaves = [next(found) if shape.size else jnp.zeros((count, *shape.shape), shape.dtype) for shape in shapes]
    return jax.tree.unflatten(tree, leaves)
