"""u_t = Δu + μ₁ sin(μ₂u), and u_t = Δu + β sin u for β over two orders of magnitude (paper, sections 5.10 and 5.8)."""

from typing import ClassVar

import jax.numpy as jnp

from prism.families.semilinear import RadialSemilinearFamily, Values
from prism.problem.parameters import LogUniform, ParameterSpace
from prism.shapes import Named


class SineGordonTime(RadialSemilinearFamily):
    """u_t = Δu + μ₁ sin(μ₂u), u(x, 0) = 5/(10 + 2|x|²), asked at (0, 0.3)."""

    def reaction(self, u: Values, mu: Named) -> Values:
        return mu.mu1 * jnp.sin(mu.mu2 * u)


class SineGordonTimeBeta(RadialSemilinearFamily):
    """u_t = Δu + β sin u, u(x, 0) = 5/(10 + 2|x|²), asked at (0, 0.3), for β over two orders of magnitude.

    β is log-uniform unless another space is given. The paper leaves the initial state open; here it is that of the
    other two.
    """

    box: ClassVar[ParameterSpace] = LogUniform(beta=(0.1, 10.0))

    def reaction(self, u: Values, mu: Named) -> Values:
        return mu.beta * jnp.sin(u)
