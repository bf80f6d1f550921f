"""E g(x + √(2t) Z) against quadrature, sampling and the heat equation, in both precisions and at the edges."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr

from prism.formulas.diffusion import diffused_arctan_of_maximum, diffused_inverse_quadratic, logarithm_excess

HORIZON = 0.3


def inverse_quadratic(s: float, t: float, dimension: int) -> float:
    """5 ∫ e^{−10τ} (1 + 8tτ)^{−d/2} exp(−2sτ/(1 + 8tτ)) dτ, τ in units of 1/(10 + 2s + 4td)."""
    scale = 10.0 + 2.0 * s + 4.0 * t * dimension

    def integrand(v: float) -> float:
        spread = 1.0 + 8.0 * t * v / scale
        return np.exp(-10.0 * v / scale - 0.5 * dimension * np.log(spread) - 2.0 * s * v / scale / spread)

    return 5.0 / scale * sum(quad(integrand, *ends, epsabs=1e-14, epsrel=1e-12)[0] for ends in ((0, 8), (8, 400)))


def arctan_of_maximum(x: np.ndarray, t: float) -> float:
    """By 20 panels of 20 Legendre nodes over ± 10 deviations around the largest coordinate."""
    deviation, top = np.sqrt(2.0 * t), np.max(x)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = top + deviation * np.linspace(-10.0, 10.0, 21)
    places = (0.5 * (edges[:-1] + edges[1:])[:, None] + 0.5 * (edges[1] - edges[0]) * nodes).ravel()
    below = np.array([np.exp(np.sum(log_ndtr((place - x) / deviation))) for place in places])
    return np.arctan(edges[-1]) - 0.5 * (edges[1] - edges[0]) * np.tile(weights, 20) @ (below / (1.0 + places**2))


CASES = [(s, t) for s in (0.0, 0.3, 1.0, 4.0) for t in (1e-6, 0.003, 0.1, HORIZON)]
"""s in units of d·T, and t."""


@pytest.mark.parametrize("wide", [False, True], ids=["float32", "float64"])
@pytest.mark.parametrize("dimension", [1, 10, 100, 10_000])
def test_inverse_quadratic(dimension, wide):
    tolerance = 1e-8 if wide else 1e-6  # of 10 nodes; of ten roundings in float32
    s, t = (np.array(column) for column in zip(*CASES, strict=True))
    s = s * dimension * HORIZON
    with jax.enable_x64(wide):
        value = jax.jit(jax.vmap(lambda s, t: diffused_inverse_quadratic(s, t, dimension)))
        found = value(jnp.asarray(s, float), jnp.asarray(t, float))
    exact = [inverse_quadratic(*case, dimension) for case in zip(s, t, strict=True)]
    np.testing.assert_allclose(found, exact, rtol=tolerance)


@pytest.mark.parametrize("dimension", [1, 10, 1000])
def test_inverse_quadratic_solves_the_heat_equation(dimension):
    """v_t = 4s v_ss + 2d v_s, to the precision of 10 nodes, after two derivatives."""
    function = lambda s, t: diffused_inverse_quadratic(s, t, dimension)

    def residual(s, t):
        (slope, rate), (bend, _) = jax.jvp(lambda s: jax.grad(function, (0, 1))(s, t), (s,), (jnp.ones(()),))
        return (rate - 4.0 * s * bend - 2.0 * dimension * slope) / rate

    s, t = (jnp.asarray(column) for column in zip(*CASES, strict=True))
    assert np.max(np.abs(jax.jit(jax.vmap(residual))(s * dimension * HORIZON, t))) < 1e-6


@pytest.mark.parametrize("dimension", [10, 10_000])
def test_derivatives_of_inverse_quadratic_in_single_precision(dimension):
    """First and second, against double precision, where quadrature has confirmed the value."""
    function = lambda at: diffused_inverse_quadratic(at[0], at[1], dimension)
    points = np.array([[s * dimension * HORIZON, t] for s, t in CASES])
    found = {}
    for wide in (False, True):
        with jax.enable_x64(wide):
            both = jax.jit(jax.vmap(lambda at: (jax.grad(function)(at), jax.hessian(function)(at))))
            found[wide] = both(jnp.asarray(points, float))
    for narrow, exact in zip(found[False], found[True], strict=True):
        assert np.all(np.isfinite(narrow))
        # Of the second derivatives of a function near c/(s + 2td + 5), rounded to 6e-8 at each operation.
        np.testing.assert_allclose(narrow, exact, rtol=1e-4)


def test_logarithm_excess():
    p = np.geomspace(1e-12, 50.0, 200)
    exact = np.where(p < 1e-3, p**2 / 2 - p**3 / 3 + p**4 / 4 - p**5 / 5 + p**6 / 6, p - np.log1p(p))
    np.testing.assert_allclose(logarithm_excess(jnp.asarray(p)), exact, rtol=2e-12)  # the series breaks off at r⁹
    assert float(jax.grad(logarithm_excess)(jnp.zeros(()))) == 0.0


def maximum_cases() -> list[tuple[np.ndarray, float]]:
    """Points along the diffusion, to three of its deviations, from 1 to 1,000 dimensions; equal ones to 10,000."""
    draw = np.random.default_rng(0)
    cases = [(np.zeros(10_000), HORIZON)]
    for dimension in (1, 3, 30, 1000):
        for t, far in ((0.003, 1.0), (0.03, 3.0), (0.1, 1.0), (HORIZON, 0.0)):
            cases.append((far * np.sqrt(2.0 * (HORIZON - t)) * draw.normal(size=dimension), t))
    return cases


@pytest.mark.parametrize("wide", [False, True], ids=["float32", "float64"])
def test_arctan_of_maximum(wide):
    for x, t in maximum_cases():
        with jax.enable_x64(wide):
            found = float(jax.jit(diffused_arctan_of_maximum)(jnp.asarray(x, float), jnp.asarray(t)))
        assert abs(found - arctan_of_maximum(x, t)) < 3e-6  # the tails left out; rounding of the sum in float32


def test_arctan_of_maximum_agrees_with_sampling():
    draw = np.random.default_rng(1)
    x = draw.normal(size=20)
    sampled = np.arctan(np.max(x + np.sqrt(0.4) * draw.normal(size=(40_000, 20)), axis=1))
    error = np.std(sampled) / 200.0
    found = float(jax.jit(diffused_arctan_of_maximum)(jnp.asarray(x), jnp.asarray(0.2)))
    assert abs(found - np.mean(sampled)) < 4.0 * error  # four standard errors under a fixed seed


def test_arctan_of_maximum_solves_the_heat_equation():
    """Σ v_ii = v_t at fixed nodes, to rounding."""
    x, t = jnp.asarray([0.3, -0.2, 0.25, 1.0, 0.9]), jnp.asarray(0.07)

    @jax.jit
    def both(x, t):
        hessian = jax.hessian(diffused_arctan_of_maximum)(x, t)
        return jnp.trace(hessian), jax.grad(diffused_arctan_of_maximum, 1)(x, t)

    laplacian, rate = both(x, t)
    assert float(laplacian) == pytest.approx(float(rate), rel=1e-10)


def test_gradient_of_arctan_of_maximum():
    """Against differences of the reference by quadrature: 1e-6 in the value is 1e-5 in a difference over 0.2."""
    x, t, step = np.array([0.3, -0.2, 0.25]), 0.2, 1e-3
    slope, rate = jax.jit(jax.grad(diffused_arctan_of_maximum, (0, 1)))(jnp.asarray(x), jnp.asarray(t))
    above, below = (arctan_of_maximum(x + sign * step * np.eye(3)[0], t) for sign in (1.0, -1.0))
    assert float(slope[0]) == pytest.approx((above - below) / (2.0 * step), abs=1e-5)
    above, below = (arctan_of_maximum(x, t + sign * step) for sign in (1.0, -1.0))
    assert float(rate) == pytest.approx((above - below) / (2.0 * step), abs=1e-4)  # third derivative of √t


@pytest.mark.parametrize("x", [np.zeros(100), np.linspace(-2.0, 2.0, 100), np.ones(1)], ids=["equal", "spread", "one"])
def test_derivatives_are_finite_at_the_edges(x):
    with jax.enable_x64(False):
        times = jnp.asarray([1e-6, 1e-4])
        both = jax.vmap(jax.value_and_grad(diffused_arctan_of_maximum, (0, 1)), in_axes=(None, 0))
        values, gradients = jax.jit(both)(jnp.asarray(x, float), times)
    assert all(np.all(np.isfinite(part)) for part in gradients)
    # The mean of the largest of 100 normal numbers is 2.5 deviations.
    assert np.all(np.abs(values - np.arctan(np.max(x))) < 3.0 * np.sqrt(2.0 * times))
