"""u_t = Δu + μ₁ (1 − u²)/(1 + u²)."""

from typing import ClassVar

from prism.families.semilinear import RadialSemilinearFamily, Values
from prism.problem.parameters import ParameterSpace, Uniform
from prism.shapes import Named


class Heat(RadialSemilinearFamily):
    """u_t = Δu + μ₁ (1 − u²)/(1 + u²), u(x, 0) = 5/(10 + 2|x|²), asked at (0, 0.3)."""

    box: ClassVar[ParameterSpace] = Uniform(mu1=(0.8, 1.2))

    def reaction(self, u: Values, mu: Named) -> Values:
        return mu.mu1 * (1.0 - u * u) / (1.0 + u * u)
