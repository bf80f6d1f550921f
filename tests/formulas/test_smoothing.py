"""E max(z + wZ, 0): the integral, its derivatives, and what is left of it where w vanishes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from prism import smoothed

POINTS = [(-0.7, 0.3), (0.0, 0.3), (0.05, 0.02), (0.4, 0.1), (-1.3, 2.0), (5.0, 0.5)]
ROUNDING = 1e-12
"""Of sums of 400 terms in float64, with room for the size of derivatives up to 1/w²."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)


def integral(z, w):
    """∫ (z + wy) φ(y) dy from −z/w on, by Gauss's rule on 12 deviations from there, where the integrand is smooth; its
    other end is beyond rounding."""
    half = 6.0 + jnp.maximum(z / w, 0.0) / 2.0
    y = -z / w + half * (1.0 + NODES)
    return half * jnp.sum(WEIGHTS * (z + w * y) * jnp.exp(-0.5 * y * y)) / np.sqrt(2.0 * np.pi)


@pytest.mark.parametrize(("z", "w"), POINTS)
def test_value_and_derivatives_are_those_of_the_integral(z, w):
    both = (0, 1)
    for taken in (
        lambda f: f,
        lambda f: jax.grad(f, both),
        lambda f: jax.hessian(f, both),
        lambda f: jax.jacfwd(jax.jacfwd(f, both), both),
    ):
        found, expected = (jnp.stack(jax.tree.leaves(taken(f)(z, w))) for f in (smoothed, integral))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=ROUNDING / w**2)


def test_a_constant_width_moves_the_kink_by_its_density():
    np.testing.assert_allclose(smoothed(0.0, 0.5), 0.5 / np.sqrt(2.0 * np.pi), rtol=1e-15)
    z = jnp.linspace(-3.0, 3.0, 61)
    excess = smoothed(z, 0.5) - jnp.maximum(z, 0.0)
    assert jnp.all(excess >= 0.0)
    assert jnp.max(excess) <= 0.4 * 0.5
    assert float(excess[0]) < 1e-9


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("width", [0.0, 1e-300, 1e-30, 1e-12, 1.0])
@pytest.mark.parametrize("z", [-1e30, -2.0, -1e-20, 0.0, 1e-20, 2.0, 1e30])
def test_nothing_overflows(z, width, dtype):
    z, width = jnp.asarray(z, dtype), jnp.asarray(width, dtype)
    first = jax.jacfwd(smoothed, (0, 1))
    second = jax.jacfwd(first, (0, 1))
    for f in (smoothed, first, jax.grad(smoothed, (0, 1))):
        assert all(bool(jnp.isfinite(value)) and value.dtype == dtype for value in jax.tree.leaves(f(z, width)))
    # φ/w, the height of the smoothed kink, is beyond float32 and float64 where w is below 1/max.
    assert not any(bool(jnp.isnan(value)) for value in jax.tree.leaves(second(z, width)))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("z", [-0.3, 0.0, 0.3])
def test_where_the_width_vanishes_it_is_the_maximum(z, dtype):
    """At t = T of a width σ√(T − t), whose own derivative is infinite there: max(z, 0) and its derivatives in space,
    the limit 0 of those in time; at the kink itself the slope in the middle."""
    path = lambda h, way: smoothed(jnp.asarray(z, dtype) + way[0] * h, 0.2 * jnp.sqrt(jnp.maximum(0.0, way[1] * h)))
    for way, slope in (((1.0, 0.0), 0.5 * (1.0 + np.sign(z))), ((0.0, -1.0), 0.0)):
        along = lambda h, way=way: path(h, jnp.asarray(way, dtype))
        zero = jnp.zeros((), dtype)
        assert along(zero) == max(z, 0.0) or np.isclose(along(zero), max(z, 0.0), rtol=1e-6)
        first = jax.jacfwd(along)
        assert first(zero) == slope
        assert jax.jacfwd(first)(zero) == 0.0


def test_widths_and_arguments_may_be_arrays():
    z = jnp.asarray([-1.0, 0.0, 1.0])
    widths = jnp.asarray([0.1, 0.0, 0.3])
    np.testing.assert_array_equal(smoothed(z, widths), [smoothed(z[k], widths[k]) for k in range(3)])
    np.testing.assert_array_equal(smoothed(z, 0.1), smoothed(z, jnp.full(3, 0.1)))
    assert smoothed(1.0, 0.0) == 1.0


def test_the_remaining_diffusion_is_solved():
    """u_t + ½σ²u_xx = 0 for z = x and w = σ√(1 − t)."""
    sigma, x, t = 0.3, 0.1, 0.6
    u = lambda x, t: smoothed(x, sigma * jnp.sqrt(1.0 - t))
    residual = jax.grad(u, 1)(x, t) + 0.5 * sigma**2 * jax.grad(jax.grad(u))(x, t)
    assert abs(float(residual)) < ROUNDING
