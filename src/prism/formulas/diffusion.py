"""v(x, t) = E g(x + √(2t) Z), the solution of v_t = Δv from v = g, for the initial states of the parabolic families.

    g = a / (c + b|x|²):     v = a ∫_0^∞ e^{−cτ} E exp(−bτ |x + √(2t) Z|²) dτ,
    g = arctan(max_i x_i):   v = π/2 − ∫ Π_i Φ((m − x_i)/√(2t)) / (1 + m²) dm.

Both are sums over a few nodes, at one point, in the precision of what they are given; they may be differentiated in
x and t as often as one likes, for every t > 0.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import ndtri

from prism.shapes import Point, Scalar, Vector

LAGUERRE = np.polynomial.laguerre.laggauss(10)
"""Nodes and weights for ∫_0^∞ e^{−v} h(v) dv."""
LEGENDRE = np.polynomial.legendre.leggauss(24)
"""Nodes and weights on [−1, 1]."""
SMALL = 0.1
"""Below this a power series is more exact than a difference."""
FLOOR = -5.0
"""Φ below this point, 3e-7, is as good as zero."""
TAIL = 2e-6
"""The probability of a maximum beyond the upper end of the integral over m."""
SEARCHES = 3
"""Newton steps to the lower end of that integral."""


def diffused_inverse_quadratic(
    s: Scalar, t: Scalar, dimension: int, numerator: float = 5.0, constant: float = 10.0, slope: float = 2.0
) -> Scalar:
    """E numerator / (constant + slope·|x + √(2t) Z|²) at s = |x|².

    With κ = E of the denominator and τ = v/κ the integrand is e^{−v} times a function near 1, the nearer the larger d.
    10 Laguerre nodes give a relative error below 4e-9 for d ≥ 1, t ≤ 0.3, s ≤ 1.2·d; rounding adds 2e-7 in float32.

    >>> round(float(diffused_inverse_quadratic(jnp.zeros(()), jnp.asarray(0.3), 100)), 5)
    0.03913
    """
    nodes, weights = (jnp.asarray(table, jnp.result_type(s)) for table in LAGUERRE)
    mean = constant + slope * (s + 2.0 * t * dimension)
    exponents = mean_excess(nodes, slope * s, slope * t, dimension, mean)
    return numerator / mean * (1.0 + jnp.sum(weights * jnp.expm1(exponents)))


def mean_excess(v: Vector, s: Scalar, t: Scalar, dimension: int, scale: Scalar) -> Vector:
    """log E e^{−vR²/κ} + v E R²/κ ≥ 0 for R² = |x + √(2t) Z|², s = |x|² and a scale κ, at each v.

    With e = 4tv/κ it is (d/2)(e − log(1 + e)) + (sv/κ) e/(1 + e), without cancellation.

    >>> found = mean_excess(jnp.ones(1), jnp.asarray(0.0), jnp.asarray(0.25), 2, jnp.asarray(1.0))
    >>> round(float(found[0]), 4)  # 1 − log 2
    0.3069
    """
    e = (4.0 * t / scale) * v
    return 0.5 * dimension * logarithm_excess(e) + (s / scale) * v * e / (1.0 + e)


def logarithm_excess(p: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """p − log(1 + p) for p ≥ 0; where p is small by pr − 2(r³/3 + r⁵/5 + ...), r = p/(2 + p), which loses no digit.

    >>> round(float(logarithm_excess(jnp.asarray(1.0))), 4)
    0.3069
    """
    little = jnp.minimum(p, SMALL)
    r = little / (2.0 + little)
    square = r * r
    series = little * r - 2.0 * r * square * (1 / 3 + square * (1 / 5 + square * (1 / 7 + square * (1 / 9))))
    return jnp.where(p < SMALL, series, p - jnp.log1p(p))


def diffused_arctan_of_maximum(x: Point, t: Scalar) -> Scalar:
    """E arctan(max_i (x_i + √(2t) Z_i)).

    The probability F(m) that the maximum is below m rises from 0 to 1 on an interval that is found first; v is arctan
    of its upper end minus ∫ F/(1 + m²) over it, by 24 Legendre nodes. The nodes count as constants when v is
    differentiated: F solves the heat equation at each of them, and so does v, up to rounding. Absolute error below 2e-6
    for d = 1 to 10,000 and 0.003 ≤ t ≤ 0.3, x within a few √(2(0.3 − t)) of zero.

    >>> round(float(diffused_arctan_of_maximum(jnp.zeros(10), jnp.asarray(0.3))), 4)
    0.8322
    """
    deviation = jnp.sqrt(2.0 * t)
    fixed = jax.lax.stop_gradient(deviation)
    top = jax.lax.stop_gradient(jnp.max(x))
    low, high = _rise(jax.lax.stop_gradient(x - top) / fixed)
    nodes, weights = (jnp.asarray(table, x.dtype) for table in LEGENDRE)
    places = low + 0.5 * (high - low) * (nodes + 1.0)
    logarithms = jax.vmap(lambda place: _sum_log_normal((fixed * place + (top - x)) / deviation))(places)
    below = jnp.exp(logarithms) / (1.0 + (top + fixed * places) ** 2)
    return jnp.arctan(top + fixed * high) - 0.5 * fixed * (high - low) * jnp.dot(weights, below)


def _sum_log_normal(z: Vector) -> Scalar:
    """Σ log Φ(z_i), by one erfc each: `log_ndtr`, exact far below as well, costs 3 to 10 times as much."""
    return jnp.sum(jnp.log1p(-0.5 * jax.lax.erfc(jnp.maximum(z, FLOOR) * math.sqrt(0.5))))


def _rise(offsets: Vector) -> tuple[Scalar, Scalar]:
    """Where F(m) = Π Φ(m − y_i) rises from nearly 0 to nearly 1, for offsets y_i ≤ 0 the largest of which is 0.

    Beyond the upper end d normal tails hold `TAIL` together. At the lower one −log F = 10, found by Newton's steps in
    log(−log F), which is nearly a straight line, from the middle of the rise for equal y_i.
    """
    high = _upper_normal(TAIL / len(offsets))
    middle = _upper_normal(0.5 / len(offsets))

    place = jnp.full((), middle, offsets.dtype)
    for _ in range(SEARCHES):
        value, rate = jax.value_and_grad(lambda m: jnp.log(-_sum_log_normal(m - offsets)))(place)
        place = jnp.clip(place + (math.log(10.0) - value) / rate, FLOOR, middle)
    return place - 0.1, jnp.full((), high, offsets.dtype)


def _upper_normal(probability: float) -> float:
    """The z that a standard normal number exceeds with this probability."""
    return -float(ndtri(probability))
