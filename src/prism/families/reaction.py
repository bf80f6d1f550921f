"""u_t = ρ u (1 − u), and the same with diffusion."""

from collections.abc import Mapping
from typing import ClassVar

import jax
import jax.numpy as jnp

from prism.derivatives.operators import Laplacian, Operator, TimeDerivative
from prism.families.evolution import EvolutionFamily
from prism.problem.family import Derivatives
from prism.problem.parameters import ParameterSpace, Uniform
from prism.shapes import Named, Point, Scalar


class Reaction(EvolutionFamily):
    """u_t = ρ u (1 − u), logit u(x, 0) = √2 sin(k·x) − 3: at every place the logistic growth of a small initial state.

    k is a unit vector, drawn once and saved with the problem.
    """

    box: ClassVar[ParameterSpace] = Uniform(rho=(1.0, 5.0))
    threshold: ClassVar[float] = 3.0

    @property
    def terms(self) -> Mapping[str, Operator]:
        return {"t": TimeDerivative()}

    def residual(self, u: Derivatives, x: Point, mu: Named) -> Scalar:
        return u.t - mu.rho * u.value * (1.0 - u.value)

    def rate(self, mu: Named) -> Scalar:
        return mu.rho

    def exact(self, x: Point, mu: Named) -> Scalar:
        """logit u = √2 sin(k·x) − 3 + ρt."""
        return jax.nn.sigmoid(self.wave(x[:-1]) - self.threshold + mu.rho * x[-1])


class ReactionDiffusion(EvolutionFamily):
    """u_t = ν Δu + ρ u (1 − u), u(x, 0) = (1 + exp(√(ρ/6ν) k·x + 3/2))⁻²: a front along a direction k of space.

    The equation of Fisher and Kolmogorov. k is a unit vector, drawn once and saved with the problem.
    """

    box: ClassVar[ParameterSpace] = Uniform(rho=(1.0, 5.0), nu=(0.2, 1.0))
    distance: ClassVar[float] = 1.5

    @property
    def terms(self) -> Mapping[str, Operator]:
        return {"t": TimeDerivative(), "lap": Laplacian()}

    def residual(self, u: Derivatives, x: Point, mu: Named) -> Scalar:
        return u.t - mu.nu * u.lap - mu.rho * u.value * (1.0 - u.value)

    def rate(self, mu: Named) -> Scalar:
        return mu.rho

    def exact(self, x: Point, mu: Named) -> Scalar:
        """(1 + exp(√(ρ/6ν) k·x + 3/2 − 5ρt/6))⁻², the travelling wave of Ablowitz and Zeppetella (1979)."""
        along = jnp.dot(self.direction, x[:-1])
        phase = jnp.sqrt(mu.rho / (6.0 * mu.nu)) * along + self.distance - 5.0 / 6.0 * mu.rho * x[-1]
        return jax.nn.sigmoid(-phase) ** 2
