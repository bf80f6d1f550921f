"""Δ²u + μ₁u + μ₂u³ = f."""

from collections.abc import Mapping

import jax.numpy as jnp

from prism.derivatives.operators import Biharmonic, Operator
from prism.errors import InputError
from prism.families.two_body import InteractionFamily
from prism.problem.constraints import Constraint, clamped
from prism.problem.family import Derivatives
from prism.shapes import Named, Point, Scalar


class ClampedBiharmonic(InteractionFamily):
    """Δ²u + μ₁u + μ₂u³ = f(x; μ) in the unit ball, u = 0 on its surface and ∂u/∂n = 0.

    In two dimensions a clamped plate on a foundation that stiffens.
    """

    def __check_init__(self):
        if not self.interaction.has_bilaplacian:
            raise InputError("the source of the biharmonic family is known for pairs chain, random and none alone")

    @property
    def terms(self) -> Mapping[str, Operator]:
        return {"bilap": Biharmonic()}

    def reaction(self, u: Scalar, mu: Named) -> Scalar:
        return mu.mu1 * u + mu.mu2 * u**3

    def frequencies(self, mu: Named) -> tuple[Scalar, Scalar]:
        return mu.mu1, mu.mu2

    def residual(self, u: Derivatives, x: Point, mu: Named) -> Scalar:
        return u.bilap + self.reaction(u.value, mu) - self.source(x, mu)

    def source(self, x: Point, mu: Named) -> Scalar:
        """f = Δ²u + g(u; μ) of the exact u."""
        return self.interaction.clamped_bilaplacian(x, *self.frequencies(mu)) + self.reaction(self.exact(x, mu), mu)

    def constraint(self) -> Constraint:
        return clamped(self.domain)

    def factor(self, x: Point) -> Scalar:
        return (1.0 - jnp.sum(x * x)) ** 2
