"""u = −log E exp(−g(x + √(2(1−t)) Z)) in float64, with an uncertainty: the references and cross-checks for HJB.

    Log          g = μ₁ log((1 + |x|²)/2):    one integral over τ, or over the noncentral chi-square law of |x + σZ|²,
    Rosenbrock   g = log((1 + xᵀAx)/2):       one integral over τ, A tridiagonal, by banded Cholesky factors,
    any g                                     plain Monte Carlo.

The integrals over τ are those of `cole_hopf`, in the plain form that they are derived in and with many more nodes.
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.special import gammaln
from scipy.stats import chi2, ncx2

from prism.errors import InputError
from prism.numerics.keys import items
from prism.references.reference import Reference
from prism.references.sampling import mapped, normal_vector
from prism.shapes import Key

LOWEST, HIGHEST = -5.5, 9.0
"""The range of y, where v = exp(y − e^{−y}); beyond it nothing is left in double precision."""
INTERVALS = 256
"""Trapezoids over that range."""
ROUNDING = 1e-13
"""Uncertainty at least, relative to 1 + |u|."""
RANGE = 14.0
"""Standard deviations of the chi-square law on both sides of its mean, and beside them its exponential tail."""
TAIL = 100.0
DENSITY_NODES = 400
DEVIATIONS = 3.0
"""Standard errors in the uncertainty of Monte Carlo."""


def hjb_log(squared_norm: float, remaining: float, mu1: float, dimension: int) -> Reference:
    """u for g = μ₁ log((1 + |x|²)/2) at |x|² = `squared_norm`, with `remaining` = 1 − t, by quadrature in τ.

    >>> round(hjb_log(250.0, 0.5, 1.0, 250).value, 9)
    5.517457019
    """
    _check(remaining)
    variance = 2.0 * remaining
    y, scale = np.linspace(LOWEST, HIGHEST, INTERVALS + 1), 1.0 + squared_norm + variance * dimension
    tau = np.exp(y - np.exp(-y)) / scale
    spread = 2.0 * variance * tau
    exponents = -tau - 0.5 * dimension * np.log1p(spread) - tau * squared_norm / (1.0 + spread)
    return _reference(y, tau, exponents, mu1, f"trapezoidal rule of {INTERVALS} intervals in τ")


def hjb_rosenbrock(x: np.ndarray, remaining: float, first_weights: np.ndarray, second_weights: np.ndarray) -> Reference:
    """u for g = log((1 + Q(x))/2), Q = Σ_i a_i (x_i − x_{i+1})² + b_i x_{i+1}², with `remaining` = 1 − t.

    >>> round(hjb_rosenbrock(np.ones(250), 0.5, np.ones(249), np.ones(249)).value, 9)
    6.205088961
    """
    _check(remaining)
    bands = np.zeros((2, len(x)))
    bands[0, :-1] += first_weights
    bands[0, 1:] += first_weights + second_weights
    bands[1, :-1] = -np.asarray(first_weights)
    product = bands[0] * x
    product[:-1] += bands[1, :-1] * x[1:]
    product[1:] += bands[1, :-1] * x[:-1]
    variance, identity = 2.0 * remaining, np.array([[1.0], [0.0]])
    y, scale = np.linspace(LOWEST, HIGHEST, INTERVALS + 1), 1.0 + float(x @ product) + variance * np.sum(bands[0])
    tau = np.exp(y - np.exp(-y)) / scale

    def exponent(tau: float) -> float:
        factor = cholesky_banded(identity + 2.0 * variance * tau * bands, lower=True)
        return -tau - float(np.sum(np.log(factor[0]))) - tau * float(product @ cho_solve_banded((factor, True), x))

    exponents = np.array([exponent(float(one)) for one in tau])
    return _reference(
        y, tau, exponents, 1.0, f"trapezoidal rule of {INTERVALS} intervals in τ, banded Cholesky factors"
    )


def _check(remaining: float) -> None:
    if not remaining > 0.0:
        raise InputError(f"no time remains: {remaining:g}; give 1 − t above 0")


def _reference(
    y: Float[np.ndarray, "n"], tau: Float[np.ndarray, "n"], exponents: Float[np.ndarray, "n"], mu1: float, method: str
) -> Reference:
    """−log(2^μ/Γ(μ) ∫ τ^μ e^{exponent} d(log τ)); the uncertainty is the change on taking every other node."""
    logarithms = mu1 * np.log(tau) + exponents + np.log1p(np.exp(-y)) + math.log(y[1] - y[0])
    constant = mu1 * math.log(2.0) - float(gammaln(mu1))
    fine, coarse = (-constant - float(np.logaddexp.reduce(logarithms[::by])) - math.log(by) for by in (1, 2))
    return Reference(fine, abs(fine - coarse) + ROUNDING * (1.0 + abs(fine)), method)


def hjb_log_by_density(squared_norm: float, remaining: float, mu1: float, dimension: int) -> Reference:
    """The same u as `hjb_log`, from the density of q = |x + σZ|²/σ²: noncentral chi-square, integrated over √q.

    >>> hjb_log_by_density(250.0, 0.5, 1.0, 250).agrees(hjb_log(250.0, 0.5, 1.0, 250))
    True
    """
    _check(remaining)
    variance = 2.0 * remaining
    offset = squared_norm / variance
    density = (lambda q: ncx2.pdf(q, dimension, offset)) if offset else (lambda q: chi2.pdf(q, dimension))
    mean, deviation = dimension + offset, math.sqrt(2.0 * (dimension + 2.0 * offset))
    low, high = math.sqrt(max(0.0, mean - RANGE * deviation)), math.sqrt(mean + RANGE * deviation + TAIL)

    def integrals(count: int) -> tuple[float, float]:
        nodes, weights = np.polynomial.legendre.leggauss(count)
        root = low + 0.5 * (high - low) * (nodes + 1.0)
        mass = 0.5 * (high - low) * weights * density(root**2) * 2.0 * root
        return -math.log(float(mass @ ((1.0 + variance * root**2) / 2.0) ** -mu1)), abs(float(np.sum(mass)) - 1.0)

    (fine, missing), (coarse, _) = integrals(DENSITY_NODES), integrals(DENSITY_NODES // 2)
    uncertainty = abs(fine - coarse) + missing + ROUNDING * (1.0 + abs(fine))
    return Reference(fine, uncertainty, f"noncentral chi-square density at {DENSITY_NODES} Legendre nodes")


def cole_hopf_monte_carlo(
    terminal: Callable[[Array], Array], x: np.ndarray, remaining: float, key: Key, samples: int
) -> Reference:
    """u = −log E exp(−g(x + √(2·remaining) Z)) for any g, from independent samples.

    The uncertainty is 3 standard errors of the mean, carried through the logarithm (delta method).

    >>> from prism.numerics.keys import root
    >>> found = cole_hopf_monte_carlo(lambda x: jnp.log((1 + jnp.sum(x * x)) / 2), np.ones(250), 0.5, root(0), 1000)
    >>> found.agrees(hjb_log(250.0, 0.5, 1.0, 250))
    True
    """
    _check(remaining)
    with jax.enable_x64(True):
        point, deviation = jnp.asarray(x, jnp.float64), math.sqrt(2.0 * remaining)
        one = lambda key: -terminal(point + deviation * normal_vector(key, len(point)))
        exponents = np.asarray(jax.jit(lambda keys: mapped(one, keys, len(point)))(items(key, samples)))
    largest = np.max(exponents)
    values = np.exp(exponents - largest)
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(samples)
    return Reference(-float(largest) - math.log(mean), DEVIATIONS * error / mean, f"Monte Carlo, {samples} samples")
