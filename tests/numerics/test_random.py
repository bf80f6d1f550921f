"""The generator is JAX's, and its float32 normals are normal.

Statistics run under a fixed key; 4 standard errors, or the Kolmogorov-Smirnov distance of one in a thousand.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, uniform_distance
from jax.extend.random import threefry_2x32
from jax.scipy.special import ndtr

from prism.numerics.random import normals, threefry

COUNT = 2**18


@pytest.fixture(scope="module")
def drawn() -> np.ndarray:
    with jax.enable_x64(False):
        values = jax.jit(normals, static_argnums=1)(KEY, COUNT)
        assert values.dtype == jnp.float32
    return np.asarray(values, dtype=float)


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1])
def test_threefry_is_that_of_jax(seed):
    key = jax.random.key(seed)
    high, low = (jax.random.bits(jax.random.key(word), (64,), jnp.uint32) for word in (3, 4))
    ours = threefry(key, high, low)
    theirs = threefry_2x32(jax.random.key_data(key), jnp.concatenate([high, low]))
    np.testing.assert_array_equal(jnp.concatenate(ours), theirs)


def test_normals_have_the_law(drawn):
    assert uniform_distance(np.asarray(ndtr(drawn))) < 1.95
    halves = np.split(drawn, 2)
    for half in halves:  # the cosines and the sines apart
        assert uniform_distance(np.asarray(ndtr(half))) < 1.95


@pytest.mark.parametrize(("power", "moment", "variance"), [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)])
def test_normals_have_the_moments(drawn, power, moment, variance):
    assert abs(np.mean(drawn**power) - moment) < 4 * np.sqrt(variance / COUNT)


@pytest.mark.parametrize("function", [lambda z: z, lambda z: z**2 - 1, np.abs], ids=["itself", "square", "absolute"])
def test_normals_are_uncorrelated(drawn, function):
    """Neighbours, and the two of one pair (half the array apart), also in size."""
    values = function(drawn) - np.mean(function(drawn))
    values /= values.std()
    for lag in (1, 2, COUNT // 2):
        a, b = values[:-lag], values[lag:]
        assert abs(np.mean(a * b)) < 4 / np.sqrt(len(a))


def test_normals_are_finite_and_different(drawn):
    assert np.max(np.abs(drawn)) < 5.8  # √(2 ln 2²⁴), the end of the 23-bit uniform law
    assert np.max(np.abs(drawn)) > 4.0
    assert len(np.unique(drawn)) > 0.98 * COUNT


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("wide", [False, True], ids=["float32", "float64"])
def test_any_count_and_any_key(count, wide):
    with jax.enable_x64(wide):
        first, second = (normals(key, count) for key in jax.random.split(KEY))
        assert first.shape == (count,)
        assert first.dtype == (jnp.float64 if wide else jnp.float32)
        assert not np.any(np.asarray(first) == np.asarray(second))
