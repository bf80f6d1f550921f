"""sin_cos against float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from prism.numerics.elementary import sin_cos

BOUND = 2e-7  # as its docstring promises: three to four units in the last place of 1 in float32


def angles() -> np.ndarray:
    """A fine grid over all that is promised, small numbers, and the neighbours of every multiple of π/4."""
    grid = np.linspace(-8000, 8000, 400_001)
    small = np.geomspace(1e-30, 1, 1000)
    edges = np.arange(-10_180, 10_181) * (np.pi / 4)
    return np.concatenate([grid, small, -small, edges, edges + 1e-3, [0.0]]).astype(np.float32)


@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jitted"])
def test_sine_and_cosine_in_float32(jitted):
    a = angles()
    with jax.enable_x64(False):
        sine, cosine = (jax.jit(sin_cos) if jitted else sin_cos)(jnp.asarray(a))
        assert sine.dtype == cosine.dtype == jnp.float32
    wide = a.astype(np.float64)
    assert np.max(np.abs(np.asarray(sine, np.float64) - np.sin(wide))) < BOUND
    assert np.max(np.abs(np.asarray(cosine, np.float64) - np.cos(wide))) < BOUND
    assert np.max(np.hypot(sine, cosine)) < 1 + 3e-7


@pytest.mark.parametrize("wide", [False, True], ids=["float32", "float64"])
def test_derivatives(wide):
    """Forward, backward and second; in float64 the functions are XLA's own."""
    tolerance = 1e-14 if wide else BOUND
    with jax.enable_x64(wide):
        a = jnp.linspace(-7.0, 7.0, 101)
        (sine, cosine), (sine_slope, cosine_slope) = jax.jvp(sin_cos, (a,), (jnp.full_like(a, 2.0),))
        back = jax.vmap(jax.grad(lambda t: sin_cos(t)[0] + 3 * sin_cos(t)[1]))(a)
        bend = jax.vmap(jax.grad(jax.grad(lambda t: sin_cos(t)[0])))(a)
    exact = np.asarray(a, np.float64)
    for found, expected, factor in (
        (sine, np.sin(exact), 1),
        (cosine, np.cos(exact), 1),
        (sine_slope, 2 * np.cos(exact), 2),
        (cosine_slope, -2 * np.sin(exact), 2),
        (back, np.cos(exact) - 3 * np.sin(exact), 5),
        (bend, -np.sin(exact), 1),
    ):
        assert np.max(np.abs(np.asarray(found, np.float64) - expected)) < factor * tolerance


def test_any_shape():
    for shape in ((), (2,), (2, 3)):
        assert all(part.shape == shape for part in sin_cos(jnp.ones(shape)))
