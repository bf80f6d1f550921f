"""Elliptic families in the unit ball whose exact solution is (1 − |x|²)^m S(x): with m = 1 the benchmark of the paper,
section 5.1, with m = 2 the same for an operator of fourth order.

S is the paper's two-body sum over neighbours, or another interaction of coordinates (`interactions.py`).
"""

import abc
from collections.abc import Mapping
from typing import ClassVar, Self

import jax.numpy as jnp

from prism.derivatives.operators import Laplacian, Operator
from prism.errors import InputError
from prism.families.interactions import Interaction, MeanField, Radial, TwoBody
from prism.problem.constraints import Constraint, vanishing
from prism.problem.domains import Ball
from prism.problem.family import Derivatives, Family
from prism.problem.parameters import ParameterSpace, Uniform
from prism.shapes import Key, Named, Point, Scalar

PAIRS = {
    "chain": "neighbours, as in the paper",
    "random": "d − 1 random pairs of coordinates",
    "all": "every coordinate with every other, through means over all of them: exchangeable",
    "none": "a function of |x|² alone",
}
"""Which coordinates interact in the exact solution."""
VARIANTS = {
    "scaled": "coordinates stretched to order one, so that the problem is really d-dimensional",
    "pairs": f"which coordinates interact in the solution: {', '.join(PAIRS)} (all: of second order alone)",
}
"""What else `InteractionFamily.create` takes."""


class InteractionFamily(Family):
    """Lu + g(u; μ) = f in the unit ball with f such that u = (1 − |x|²)^m S solves it."""

    domain: Ball
    interaction: Interaction
    parameters: ParameterSpace

    box: ClassVar[ParameterSpace] = Uniform(mu1=(0.5, 1.5), mu2=(0.5, 1.5))
    """The parameters unless others are given: the paper's."""

    @classmethod
    def create(
        cls,
        dimension: int,
        key: Key,
        scaled: bool = False,
        parameters: ParameterSpace | None = None,
        pairs: str = "chain",
    ) -> Self:
        """The problem in `dimension` dimensions, its coefficients drawn from the key; `pairs` as in `PAIRS`."""
        return cls(
            domain=Ball(dimension),
            interaction=_interaction(dimension, key, scaled, pairs),
            parameters=parameters or cls.box,
        )

    @abc.abstractmethod
    def factor(self, x: Point) -> Scalar:
        """(1 − |x|²)^m."""

    @abc.abstractmethod
    def reaction(self, u: Scalar, mu: Named) -> Scalar:
        """g(u; μ)."""

    @abc.abstractmethod
    def frequencies(self, mu: Named) -> tuple[Scalar, Scalar]:
        """ω₁ and ω₂ of the exact solution."""

    def exact(self, x: Point, mu: Named) -> Scalar:
        """(1 − |x|²)ᵐ S(x), from which f is made; m = 1, or 2 if u is clamped; S is a sum over interacting pairs."""
        return self.factor(x) * self.interaction.value(x, *self.frequencies(mu))

    def affine(self, x: Point, mu: Named) -> Scalar:
        return self.factor(x) * self.interaction.tangent(x, *self.frequencies(mu))


class TwoBodyFamily(InteractionFamily):
    """Δu + g(u; μ) = f in the unit ball, u = 0 on its surface, with f such that u = (1 − |x|²) S solves it."""

    @property
    def terms(self) -> Mapping[str, Operator]:
        return {"lap": Laplacian()}

    def residual(self, u: Derivatives, x: Point, mu: Named) -> Scalar:
        return u.lap + self.reaction(u.value, mu) - self.source(x, mu)

    def source(self, x: Point, mu: Named) -> Scalar:
        """f = Δu + g(u; μ) of the exact u."""
        value, laplacian = self.interaction.value_and_laplacian(x, *self.frequencies(mu))
        return laplacian + self.reaction(self.factor(x) * value, mu)

    def constraint(self) -> Constraint:
        return vanishing(self.domain)

    def factor(self, x: Point) -> Scalar:
        return 1.0 - jnp.sum(x * x)


def _interaction(dimension: int, key: Key, scaled: bool, pairs: str) -> Interaction:
    if pairs in ("chain", "random"):
        return TwoBody.create(dimension, scaled, key, random_pairs=pairs == "random")
    if pairs == "all":
        return MeanField.create(dimension, scaled)
    if pairs == "none":
        if scaled:
            raise InputError("a function of |x|² alone has no scaled variant; leave out scaled")
        return Radial()
    raise InputError(f"unknown pairs {pairs!r}; choose {', '.join(PAIRS)}")
