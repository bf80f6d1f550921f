"""E max(z + wZ, 0): the integral, its derivatives, and what is left of it where w vanishes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from prism import smoothed

POINTS = [(-0.7, 0.3), (0.0, 0.3), (0.05, 0.02), (0.4, 0.1), (-1.3, 2.0), (5.0, 0.5)]
ROUNDING = 1e-12
"""Of sums of 400 terms in float64, with room for the size of derivatives up to 1/w²."""
FAR_AND_NEAR = (-1e30, -2.0, -1e-20, 0.0, 1e-20, 2.0, 1e30)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)


def integral(z, w):
    """∫ (z + wy) φ(y) dy from −z/w on, by Gauss's rule on 12 deviations from there, where the integrand is smooth; its
    other end is beyond rounding."""
    half = 6.0 + jnp.maximum(z / w, 0.0) / 2.0
    y = -z / w + half * (1.0 + NODES)
    return half * jnp.sum(WEIGHTS * (z + w * y) * jnp.exp(-0.5 * y * y)) / np.sqrt(2.0 * np.pi)


@pytest.mark.parametrize(
    "taken",
    [
        lambda f: f,
        lambda f: jax.grad(f, (0, 1)),
        lambda f: jax.hessian(f, (0, 1)),
        lambda f: jax.jacfwd(jax.jacfwd(f, (0, 1)), (0, 1)),
    ],
    ids=["value", "gradient", "second derivatives", "second derivatives forwards"],
)
def test_value_and_derivatives_are_those_of_the_integral(taken):
    z, w = jnp.asarray(POINTS).T
    found, expected = (jnp.stack(jax.tree.leaves(jax.jit(jax.vmap(taken(f)))(z, w))) for f in (smoothed, integral))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=ROUNDING / np.min(w) ** 2)


def test_a_constant_width_moves_the_kink_by_its_density():
    np.testing.assert_allclose(smoothed(0.0, 0.5), 0.5 / np.sqrt(2.0 * np.pi), rtol=1e-15)
    z = jnp.linspace(-3.0, 3.0, 61)
    excess = smoothed(z, 0.5) - jnp.maximum(z, 0.0)
    assert jnp.all(excess >= 0.0)
    assert jnp.max(excess) <= 0.4 * 0.5
    assert float(excess[0]) < 1e-9


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_nothing_overflows(dtype):
    widths = (0.0, 1e-300, 1e-30, 1e-12, 1.0)
    z, width = (part.reshape(-1) for part in jnp.meshgrid(jnp.asarray(FAR_AND_NEAR, dtype), jnp.asarray(widths, dtype)))
    first = jax.jacfwd(smoothed, (0, 1))
    for f in (smoothed, first, jax.grad(smoothed, (0, 1))):
        for value in jax.tree.leaves(jax.jit(jax.vmap(f))(z, width)):
            assert value.dtype == dtype
            assert jnp.all(jnp.isfinite(value))
    # φ/w, the height of the smoothed kink, is infinite in float32 where w is small enough.
    for value in jax.tree.leaves(jax.jit(jax.vmap(jax.jacfwd(first, (0, 1))))(z, width)):
        assert not jnp.any(jnp.isnan(value))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_where_the_width_vanishes_it_is_the_maximum(dtype):
    """At t = T of a width σ√(T − t), whose own derivative is infinite there: max(z, 0) and its derivatives in space,
    the limit 0 of those in time; at the kink itself the slope in the middle."""
    z = jnp.asarray([-0.3, 0.0, 0.3], dtype)
    price = lambda x, t: smoothed(x, 0.2 * jnp.sqrt(1.0 - t))
    at_the_end = lambda f: jax.jit(jax.vmap(lambda x: f(x, jnp.ones((), dtype))))(z)
    np.testing.assert_array_equal(at_the_end(price), jnp.maximum(z, 0.0))
    for by_time, slope in ((0, jnp.asarray([0.0, 0.5, 1.0])), (1, jnp.zeros(3))):
        first = jax.jacfwd(price, by_time)
        np.testing.assert_array_equal(at_the_end(first), slope)
        np.testing.assert_array_equal(at_the_end(jax.jacfwd(first, by_time)), jnp.zeros(3))


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
