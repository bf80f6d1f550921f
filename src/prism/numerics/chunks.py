"""Points in chunks, where memory would otherwise grow with their number."""

CHUNK_NUMBERS = 4_000_000
"""Coordinates of the points that are worked on at once."""
CHUNK_POINTS = 100


def chunk_of(shape: tuple[int, ...]) -> int:
    """How many of these points make a chunk."""
    points, coordinates = shape
    return max(1, min(CHUNK_POINTS, CHUNK_NUMBERS // coordinates, points))
