"""Δu + β sin u = f for β over two orders of magnitude (paper, sections 4.1 and 5.8)."""

from typing import ClassVar

import jax.numpy as jnp

from prism.families.two_body import TwoBodyFamily
from prism.problem.parameters import LogUniform, ParameterSpace
from prism.shapes import Named, Scalar


class SineGordonBeta(TwoBodyFamily):
    """Δu + β sin u = f(x; β) in the unit ball, u = 0 on its surface, for β over two orders of magnitude.

    β is log-uniform unless another space is given. The paper leaves the solution open. Here its frequencies are
    ω₁ = ω₂ = √β, the natural wave number of the equation, so that the solution really changes with β.
    """

    box: ClassVar[ParameterSpace] = LogUniform(beta=(0.1, 10.0))

    def reaction(self, u: Scalar, mu: Named) -> Scalar:
        return mu.beta * jnp.sin(u)

    def frequencies(self, mu: Named) -> tuple[Scalar, Scalar]:
        return jnp.sqrt(mu.beta), jnp.sqrt(mu.beta)
