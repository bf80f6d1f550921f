"""Work in chunks, where memory would otherwise grow with the number of points."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax

CHUNK_NUMBERS = 4_000_000
"""Coordinates of the points that are worked on at once."""
CHUNK_POINTS = 100
"""Points that are worked on at once, where each carries derivatives by many weights."""

Result = TypeVar("Result")


def chunk_size(points: int, coordinates: int, most: int = CHUNK_POINTS) -> int:
    """How many of so many points, each of so many coordinates, make a chunk."""
    return max(1, min(most, CHUNK_NUMBERS // coordinates, points))


def map_chunks(function: Callable[[Any], Result], samples: Any, coordinates: int, most: int = CHUNK_POINTS) -> Result:
    """The function of every sample along the first axis, as many at a time as `chunk_size` allows."""
    count = jax.tree.leaves(samples)[0].shape[0]
    return jax.lax.map(function, samples, batch_size=chunk_size(count, coordinates, most))
