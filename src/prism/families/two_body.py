"""The two-body benchmark of the paper, section 5.1, and the families solved by it.

    u(x; μ) = (1 − |x|²) S(x),     S = A Σ_i c_i sin φ_i,     φ_i = ω₁ y_i + cos(ω₂ y_{i+1}) + y_{i+1} cos y_i

with c_i ~ N(0, 1), drawn once and saved with the problem. `scaled` problems have y = √d x and A = 1/√d, so
that coordinates are of order one and the problem is really d-dimensional; the paper's have y = x, A = 1.
"""

import abc
from collections.abc import Mapping
from typing import ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.derivatives.operators import Laplacian, Operator
from prism.errors import InputError
from prism.numerics.elementary import sin_cos
from prism.problem.constraints import Constraint, vanishing
from prism.problem.domains import Ball
from prism.problem.family import Derivatives, Family
from prism.problem.parameters import ParameterSpace, Uniform
from prism.shapes import Key, Named, Point, Scalar, Vector


class TwoBody(eqx.Module):
    """S(x) = A Σ_i c_i sin φ_i(y), y = stretch·x; ω₁ and ω₂ carry the physical parameters."""

    coefficients: Vector
    stretch: float = eqx.field(static=True)
    amplitude: float = eqx.field(static=True)

    @staticmethod
    def create(dimension: int, scaled: bool, key: Key) -> "TwoBody":
        if dimension < 2:
            raise InputError(f"a two-body solution needs 2 dimensions or more, not {dimension}")
        root = dimension**0.5
        coefficients = jax.random.normal(key, (dimension - 1,))
        return TwoBody(coefficients, root if scaled else 1.0, 1.0 / root if scaled else 1.0)

    def value(self, x: Point, omega1: Scalar, omega2: Scalar) -> Scalar:
        """S(x)."""
        y = self.stretch * x
        left, right = y[:-1], y[1:]
        _, cos_left = sin_cos(left)
        _, cos_right = sin_cos(omega2 * right)
        sin_phase, _ = sin_cos(omega1 * left + cos_right + right * cos_left)
        return self.amplitude * jnp.dot(self.coefficients, sin_phase)

    def value_and_laplacian(self, x: Point, omega1: Scalar, omega2: Scalar) -> tuple[Scalar, Scalar]:
        """S and Δ((1−|x|²)S) = (1−|x|²)ΔS − 4 x·∇S − 2d S, by ∂ sin φ = cos φ ∂φ, ∂² sin φ = cos φ ∂²φ − sin φ (∂φ)².

        Both sums are taken as one of complex numbers: XLA makes one vectorised pass over the terms for it, and two
        for a pair of real sums, with sines and cosines computed in each.
        """
        y = self.stretch * x
        left, right = y[:-1], y[1:]
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

    def tangent(self, x: Point, omega1: Scalar, omega2: Scalar) -> Scalar:
        """S(0) + x·∇S(0), the affine part."""
        value, linear = jax.jvp(lambda z: self.value(z, omega1, omega2), (jnp.zeros_like(x),), (x,))
        return value + linear


class TwoBodyFamily(Family):
    """Δu + g(u; μ) = f in the unit ball, u = 0 on its surface, with f such that the two-body u solves it."""

    domain: Ball
    interaction: TwoBody
    parameters: ParameterSpace

    box: ClassVar[ParameterSpace] = Uniform(mu1=(0.5, 1.5), mu2=(0.5, 1.5))
    """The parameters unless others are given: the paper's."""

    @classmethod
    def create(cls, dimension: int, key: Key, scaled: bool = False, parameters: ParameterSpace | None = None) -> Self:
        """The problem in `dimension` dimensions, its coefficients drawn from the key."""
        return cls(
            domain=Ball(dimension),
            interaction=TwoBody.create(dimension, scaled, key),
            parameters=parameters or cls.box,
        )

    @property
    def terms(self) -> Mapping[str, Operator]:
        return {"lap": Laplacian()}

    @abc.abstractmethod
    def reaction(self, u: Scalar, mu: Named) -> Scalar:
        """g(u; μ)."""

    @abc.abstractmethod
    def frequencies(self, mu: Named) -> tuple[Scalar, Scalar]:
        """ω₁ and ω₂ of the exact solution."""

    def residual(self, u: Derivatives, x: Point, mu: Named) -> Scalar:
        return u.lap + self.reaction(u.value, mu) - self.source(x, mu)

    def source(self, x: Point, mu: Named) -> Scalar:
        """f = Δu + g(u; μ) of the exact u."""
        value, laplacian = self.interaction.value_and_laplacian(x, *self.frequencies(mu))
        return laplacian + self.reaction((1.0 - jnp.sum(x * x)) * value, mu)

    def constraint(self) -> Constraint:
        return vanishing(self.domain)

    def exact(self, x: Point, mu: Named) -> Scalar:
        return (1.0 - jnp.sum(x * x)) * self.interaction.value(x, *self.frequencies(mu))

    def affine(self, x: Point, mu: Named) -> Scalar:
        return (1.0 - jnp.sum(x * x)) * self.interaction.tangent(x, *self.frequencies(mu))
