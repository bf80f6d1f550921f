"""u_t + β Jx·∇u = 0, and the same with diffusion."""

from collections.abc import Mapping
from typing import ClassVar

import jax.numpy as jnp

from prism.derivatives.operators import Directional, Laplacian, Operator
from prism.families.evolution import EvolutionFamily, turned, turning
from prism.problem.family import Derivatives
from prism.problem.parameters import ParameterSpace, Uniform
from prism.shapes import Named, Point, Scalar


class Convection(EvolutionFamily):
    """u_t + β Jx·∇u = 0, u(x, 0) = √2 sin(k·x): a wave turned in every pair of coordinates.

    At β = 30 it turns nearly five times. k is a unit vector, drawn once and saved with the problem.
    """

    box: ClassVar[ParameterSpace] = Uniform(beta=(1.0, 30.0))

    @property
    def terms(self) -> Mapping[str, Operator]:
        return {"material": Directional(characteristic)}

    def residual(self, u: Derivatives, x: Point, mu: Named) -> Scalar:
        return u.material

    def rate(self, mu: Named) -> Scalar:
        return mu.beta

    def exact(self, x: Point, mu: Named) -> Scalar:
        """w = √2 sin(k·x) at the place from which the flow has come."""
        return self.wave(turned(x[:-1], -mu.beta * x[-1]))


class ConvectionDiffusion(EvolutionFamily):
    """u_t + β Jx·∇u = ν Δu, u(x, 0) = √2 sin(k·x): the wave turns and fades.

    k is a unit vector, drawn once and saved with the problem.
    """

    box: ClassVar[ParameterSpace] = Uniform(beta=(1.0, 10.0), nu=(0.1, 1.0))

    @property
    def terms(self) -> Mapping[str, Operator]:
        return {"material": Directional(characteristic), "lap": Laplacian()}

    def residual(self, u: Derivatives, x: Point, mu: Named) -> Scalar:
        return u.material - mu.nu * u.lap

    def rate(self, mu: Named) -> Scalar:
        return mu.beta

    def exact(self, x: Point, mu: Named) -> Scalar:
        """e^{−νt} w(turned x): Δ commutes with the turning, and Δw = −w."""
        return jnp.exp(-mu.nu * x[-1]) * self.wave(turned(x[:-1], -mu.beta * x[-1]))


def characteristic(x: Point, mu: Named) -> Point:
    """(β Jx, 1): where a particle of the flow goes in space and time."""
    return jnp.append(mu.beta * turning(x[:-1]), 1.0)
