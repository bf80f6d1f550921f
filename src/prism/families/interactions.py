"""Functions S(x; ω₁, ω₂) of many coordinates with a known Laplacian, by which coordinates interact in them:

    TwoBody      A Σ_i c_i sin φ_i,  φ_i = ω₁ a + cos(ω₂ b) + b cos a,  (a, b) = (y_i, y_{i+1}) or a random pair of y
    MeanField    q sin p,  p = A Σ_i sin(ω₁ y_i),  q = mean of cos(ω₂ y_i): unchanged when coordinates are exchanged
    Radial       cos(3 ω₁ s) + s sin(4 ω₂ s),  s = |x|²

with c_i ~ N(0, 1), drawn once and saved with the problem. `scaled` problems have y = √d x and A = 1/√d, so that
coordinates are of order one and the problem is really d-dimensional; the paper's have y = x, A = 1.
"""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from prism.errors import InputError
from prism.numerics.elementary import sin_cos
from prism.numerics.keys import Purpose, child, children
from prism.shapes import Key, Point, Scalar, Vector


class Interaction(eqx.Module):
    """S, which the exact solution (1 − |x|²) S is made of."""

    @abc.abstractmethod
    def value(self, x: Point, omega1: Scalar, omega2: Scalar) -> Scalar:
        """S(x)."""

    @abc.abstractmethod
    def value_and_laplacian(self, x: Point, omega1: Scalar, omega2: Scalar) -> tuple[Scalar, Scalar]:
        """S and Δ((1−|x|²)S) = (1−|x|²)ΔS − 4 x·∇S − 2d S."""

    @property
    def has_bilaplacian(self) -> bool:
        """Whether `clamped_bilaplacian` is known."""
        return False

    def clamped_bilaplacian(self, x: Point, omega1: Scalar, omega2: Scalar) -> Scalar:
        """Δ²((1−|x|²)²S)."""
        raise InputError(f"Δ² of a {type(self).__name__} is not known; choose pairs chain, random or none")

    def tangent(self, x: Point, omega1: Scalar, omega2: Scalar) -> Scalar:
        """S(0) + x·∇S(0), the affine part."""
        value, linear = jax.jvp(lambda z: self.value(z, omega1, omega2), (jnp.zeros_like(x),), (x,))
        return value + linear


class TwoBody(Interaction):
    """S(x) = A Σ_i c_i sin φ_i(y), y = stretch·x, of neighbours or of the pairs given; ω₁ and ω₂ carry the physical
    parameters."""

    coefficients: Vector
    stretch: float = eqx.field(static=True)
    amplitude: float = eqx.field(static=True)
    pairs: Int[Array, "pairs 2"] | None = None

    @staticmethod
    def create(dimension: int, scaled: bool, key: Key, random_pairs: bool = False) -> "TwoBody":
        """d − 1 terms, of neighbours or of different random pairs."""
        if dimension < 2:
            raise InputError(f"a two-body solution needs 2 dimensions or more, not {dimension}")
        root = dimension**0.5
        coefficients = jax.random.normal(key, (dimension - 1,))
        pairs = draw_pairs(dimension, child(key, Purpose.SPACE)) if random_pairs else None
        return TwoBody(coefficients, root if scaled else 1.0, 1.0 / root if scaled else 1.0, pairs)

    @property
    def has_bilaplacian(self) -> bool:
        return True

    def clamped_bilaplacian(self, x: Point, omega1: Scalar, omega2: Scalar) -> Scalar:
        """Δ²((1−s)²S), s = |x|², term by term. With E = x·∇ and the commutators Δ(sf) = sΔf + (4E + 2d)f, ΔE = EΔ + 2Δ

            (1−s)²Δ²S − 16(1−s)EΔS − 8((d+2) − (d+4)s)ΔS + 8(2E+d+2)(2E+d)S.

        Each term depends on two coordinates, and E is the same for y as for x.
        """
        dimension, s, square = x.shape[0], jnp.sum(x * x), self.stretch**2

        def phi(place: Vector) -> Scalar:
            a, b = place
            return jnp.sin(omega1 * a + jnp.cos(omega2 * b) + b * jnp.cos(a))

        def term(a: Scalar, b: Scalar) -> Scalar:
            place, bent = jnp.stack([a, b]), _planar_laplacian(phi)
            value, first, second = _along(phi, place, place)
            laplacian, radial = jax.jvp(bent, (place,), (place,))
            euler = 4.0 * second + (4.0 * dimension + 8.0) * first + dimension * (dimension + 2.0) * value
            on_laplacian = 2.0 * (1.0 - s) * radial + (dimension + 2.0 - (dimension + 4.0) * s) * laplacian
            whole = ((1.0 - s) * square) ** 2 * _planar_laplacian(bent)(place)
            return whole + 8.0 * (euler - square * on_laplacian)

        return self.amplitude * jnp.dot(self.coefficients, jax.vmap(term)(*self._sides(x)))

    def _sides(self, x: Point) -> tuple[Vector, Vector]:
        y = self.stretch * x
        return (y[:-1], y[1:]) if self.pairs is None else (y[self.pairs[:, 0]], y[self.pairs[:, 1]])

    def value(self, x: Point, omega1: Scalar, omega2: Scalar) -> Scalar:
        """S(x)."""
        left, right = self._sides(x)
        _, cos_left = sin_cos(left)
        _, cos_right = sin_cos(omega2 * right)
        sin_phase, _ = sin_cos(omega1 * left + cos_right + right * cos_left)
        return self.amplitude * jnp.dot(self.coefficients, sin_phase)

    def value_and_laplacian(self, x: Point, omega1: Scalar, omega2: Scalar) -> tuple[Scalar, Scalar]:
        """S and Δ((1−|x|²)S) = (1−|x|²)ΔS − 4 x·∇S − 2d S, by ∂ sin φ = cos φ ∂φ, ∂² sin φ = cos φ ∂²φ − sin φ (∂φ)².

        Both sums are taken as one of complex numbers: XLA makes one vectorised pass over the terms for it, and two
        for a pair of real sums, with sines and cosines computed in each.
        """
        left, right = self._sides(x)
        sin_left, cos_left = sin_cos(left)
        sin_right, cos_right = sin_cos(omega2 * right)
        sin_phase, cos_phase = sin_cos(omega1 * left + cos_right + right * cos_left)
        first = omega1 - right * sin_left
        second = cos_left - omega2 * sin_right
        bend = -right * cos_left - omega2**2 * cos_right
        radial = cos_phase * (left * first + right * second)
        laplacian = cos_phase * bend - sin_phase * (first * first + second * second)
        factor = self.stretch**2 * (1.0 - jnp.sum(x * x))
        terms = factor * laplacian - 4.0 * radial - 2.0 * x.shape[0] * sin_phase
        pairs = jax.lax.complex(sin_phase, terms)
        sums = self.amplitude * jnp.dot(pairs, self.coefficients.astype(pairs.dtype))
        return sums.real, sums.imag


class MeanField(Interaction):
    """S(x) = q sin p, of means over all coordinates alone."""

    stretch: float = eqx.field(static=True)
    amplitude: float = eqx.field(static=True)

    @staticmethod
    def create(dimension: int, scaled: bool) -> "MeanField":
        root = dimension**0.5
        return MeanField(root if scaled else 1.0, 1.0 / root if scaled else 1.0)

    def value(self, x: Point, omega1: Scalar, omega2: Scalar) -> Scalar:
        y = self.stretch * x
        p = self.amplitude * jnp.sum(sin_cos(omega1 * y)[0])
        return jnp.mean(sin_cos(omega2 * y)[1]) * jnp.sin(p)

    def value_and_laplacian(self, x: Point, omega1: Scalar, omega2: Scalar) -> tuple[Scalar, Scalar]:
        """By ΔF(p, q) = F_p Δp + F_q Δq + F_pp |∇p|² + 2 F_pq ∇p·∇q, F = q sin p."""
        dimension, y = x.shape[0], self.stretch * x
        (sin1, cos1), (sin2, cos2) = sin_cos(omega1 * y), sin_cos(omega2 * y)
        p, q = self.amplitude * jnp.sum(sin1), jnp.mean(cos2)
        by_p, by_q = self.amplitude * omega1 * cos1, -omega2 * sin2 / dimension
        sin_p, cos_p = jnp.sin(p), jnp.cos(p)
        bends = -(omega1**2) * p * q * cos_p - omega2**2 * q * sin_p
        squares = -q * sin_p * jnp.sum(by_p**2) + 2.0 * cos_p * jnp.sum(by_p * by_q)
        radial = q * cos_p * jnp.sum(y * by_p) + sin_p * jnp.sum(y * by_q)
        value, factor = q * sin_p, self.stretch**2 * (1.0 - jnp.sum(x * x))
        return value, factor * (bends + squares) - 4.0 * radial - 2.0 * dimension * value


class Radial(Interaction):
    """S(x) = F(|x|²)."""

    def value(self, x: Point, omega1: Scalar, omega2: Scalar) -> Scalar:
        return self._profile(jnp.sum(x * x), omega1, omega2)

    def value_and_laplacian(self, x: Point, omega1: Scalar, omega2: Scalar) -> tuple[Scalar, Scalar]:
        """By ΔF(s) = 4s F″ + 2d F′ and x·∇F = 2s F′."""
        dimension, s = x.shape[0], jnp.sum(x * x)
        profile = lambda t: self._profile(t, omega1, omega2)
        slope = jax.grad(profile)
        value, first, second = profile(s), slope(s), jax.grad(slope)(s)
        bend = (1.0 - s) * (4.0 * s * second + 2.0 * dimension * first)
        return value, bend - 8.0 * s * first - 2.0 * dimension * value

    @property
    def has_bilaplacian(self) -> bool:
        return True

    def clamped_bilaplacian(self, x: Point, omega1: Scalar, omega2: Scalar) -> Scalar:
        """Of (1−s)²F(s), by ΔG(s) = 4s G″ + 2d G′ twice."""
        dimension = x.shape[0]

        def laplacian(profile: Callable[[Scalar], Scalar]) -> Callable[[Scalar], Scalar]:
            slope = jax.grad(profile)
            return lambda s: 4.0 * s * jax.grad(slope)(s) + 2.0 * dimension * slope(s)

        whole = lambda s: (1.0 - s) ** 2 * self._profile(s, omega1, omega2)
        return laplacian(laplacian(whole))(jnp.sum(x * x))

    def _profile(self, s: Scalar, omega1: Scalar, omega2: Scalar) -> Scalar:
        return jnp.cos(3.0 * omega1 * s) + s * jnp.sin(4.0 * omega2 * s)


def _along(function: Callable[[Vector], Scalar], place: Vector, v: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """f, v·∇f and D²f[v, v]."""
    first = lambda at: jax.jvp(function, (at,), (v,))
    (value, slope), (_, bend) = jax.jvp(first, (place,), (v,))
    return value, slope, bend


def _planar_laplacian(function: Callable[[Vector], Scalar]) -> Callable[[Vector], Scalar]:
    """∂²f/∂a² + ∂²f/∂b²."""
    first, second = np.eye(2)
    return lambda place: (
        _along(function, place, jnp.asarray(first, place.dtype))[2]
        + _along(function, place, jnp.asarray(second, place.dtype))[2]
    )


def draw_pairs(dimension: int, key: Key) -> Int[Array, "pairs 2"]:
    """d − 1 different pairs of different coordinates, the smaller first, uniformly at random.

    More than are needed are drawn, with repetition, and the first different ones taken.
    """
    one, step = children(key, Purpose.SPACE, Purpose.VECTORS)
    first = jax.random.randint(one, (4 * dimension + 16,), 0, dimension)
    other = (first + jax.random.randint(step, first.shape, 1, dimension)) % dimension
    pairs = jnp.sort(jnp.stack([first, other], axis=1), axis=1)
    order = jnp.lexsort((pairs[:, 1], pairs[:, 0]))
    ordered = pairs[order]
    repeated = jnp.concatenate([jnp.zeros(1, bool), jnp.all(ordered[1:] == ordered[:-1], axis=1)])
    place = jnp.where(repeated, len(first), order)
    chosen = jnp.argsort(place)[: dimension - 1]
    return ordered[chosen]
