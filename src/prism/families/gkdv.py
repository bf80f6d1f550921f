"""u_t + μ₁uu_x + μ₂u_xxx = 0."""

import math
from collections.abc import Mapping, Sequence

import jax.numpy as jnp

from prism.derivatives.operators import Operator, Partial, TimeDerivative
from prism.families.solitons import HORIZON, SolitonFamily
from prism.problem.boxes import Box
from prism.problem.family import Derivatives
from prism.shapes import Named, Point, Scalar

REACH = 3.0
"""The phase at which sech² has fallen to a hundredth."""


class GKdV(SolitonFamily):
    """u_t + μ₁uu_x + μ₂u_xxx = 0, Korteweg and de Vries' equation: a crest that moves with the speed c.

    u = (3c/μ₁) sech²(√(c/4μ₂) (x − ct)): μ₁ sets its height and μ₂ its width.
    """

    space_dimension = 1
    usual_wave = (2.0,)
    wave_names = "c"

    @property
    def terms(self) -> Mapping[str, Operator]:
        return {"t": TimeDerivative(), "x": Partial(0), "xxx": Partial(0, 0, 0)}

    def residual(self, u: Derivatives, x: Point, mu: Named) -> Scalar:
        return u.t + mu.mu1 * u.value * u.x + mu.mu2 * u.xxx

    @classmethod
    def holding(cls, wave: tuple[float, ...], corners: Sequence[Named]) -> Box:
        (speed,) = wave
        width = REACH * max(math.sqrt(4.0 * mu.mu2 / speed) for mu in corners)
        return Box((-width,), (speed * HORIZON + width,))

    def rate(self, mu: Named) -> Scalar:
        return jnp.asarray(self.wave[0])

    def exact(self, x: Point, mu: Named) -> Scalar:
        """(3c/μ₁) sech²(√(c/4μ₂) (x − ct))."""
        (speed,) = self.wave
        phase = jnp.sqrt(speed / (4.0 * mu.mu2)) * (x[0] - speed * x[1])
        return 3.0 * speed / mu.mu1 / jnp.cosh(phase) ** 2
