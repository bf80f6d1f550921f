"""Δu + μ₁ sin(μ₂u) = f."""

import jax.numpy as jnp

from prism.families.two_body import TwoBodyFamily
from prism.shapes import Named, Scalar


class SineGordon(TwoBodyFamily):
    """Δu + μ₁ sin(μ₂u) = f(x; μ) in the unit ball, u = 0 on its surface."""

    def reaction(self, u: Scalar, mu: Named) -> Scalar:
        return mu.mu1 * jnp.sin(mu.mu2 * u)

    def frequencies(self, mu: Named) -> tuple[Scalar, Scalar]:
        return mu.mu1, mu.mu2
