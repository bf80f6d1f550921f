"""Δu = f."""

import jax.numpy as jnp

from prism.families.two_body import TwoBodyFamily
from prism.shapes import Named, Scalar


class Poisson(TwoBodyFamily):
    """Δu = f(x; μ) in the unit ball, u = 0 on its surface: μ enters through the source alone."""

    def reaction(self, u: Scalar, mu: Named) -> Scalar:
        return jnp.zeros_like(u)

    def frequencies(self, mu: Named) -> tuple[Scalar, Scalar]:
        return mu.mu1, mu.mu2
