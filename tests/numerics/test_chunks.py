"""Work in chunks gives what work at once gives."""

import jax
import jax.numpy as jnp
import pytest
from helpers import close

from prism.numerics.chunks import CHUNK_NUMBERS, chunk_size, map_chunks


@pytest.mark.parametrize(
    ("points", "coordinates", "most", "size"),
    [(7, 10, 100, 7), (1_000, 10, 100, 100), (1_000, CHUNK_NUMBERS // 8, 100, 8), (5, 10 * CHUNK_NUMBERS, 100, 1)],
    ids=["few", "many", "long", "longest"],
)
def test_how_many_make_a_chunk(points, coordinates, most, size):
    assert chunk_size(points, coordinates, most) == size


@pytest.mark.parametrize("most", [1, 3, 4, 100])
def test_chunks_change_nothing(most):
    """Whether they divide the number of samples or not; of several arrays, into several."""
    x, y = jnp.linspace(0.0, 1.0, 30).reshape(10, 3), jnp.arange(10.0)
    function = lambda sample: {"product": sample[0] * sample[1], "sum": jnp.sum(sample[0]), "none": sample[0][:0]}
    found = jax.jit(lambda: map_chunks(function, (x, y), 3, most))()
    close(found["product"], x * y[:, None])
    close(found["sum"], jnp.sum(x, axis=1))
    assert found["none"].shape == (10, 0)
