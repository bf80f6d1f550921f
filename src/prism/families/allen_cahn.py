"""Δu + μ₁u − μ₂u³ = f."""

from prism.families.two_body import TwoBodyFamily
from prism.shapes import Named, Scalar


class AllenCahn(TwoBodyFamily):
    """Δu + μ₁u − μ₂u³ = f(x; μ) in the unit ball, u = 0 on its surface."""

    def reaction(self, u: Scalar, mu: Named) -> Scalar:
        return mu.mu1 * u - mu.mu2 * u**3

    def frequencies(self, mu: Named) -> tuple[Scalar, Scalar]:
        return mu.mu1, mu.mu2
