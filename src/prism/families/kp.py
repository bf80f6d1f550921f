"""(u_t + 6μ₁uu_x + u_xxx)_x + 3μ₂²u_yy = 0."""

from collections.abc import Mapping
from typing import ClassVar

import jax.numpy as jnp

from prism.derivatives.operators import Operator, Partial
from prism.families.solitons import LineSoliton
from prism.problem.family import Derivatives
from prism.shapes import Named, Point, Scalar


class KP(LineSoliton):
    """(u_t + 6μ₁uu_x + u_xxx)_x + 3μ₂²u_yy = 0, Kadomtsev and Petviashvili's equation: a crest that moves.

    u = k²/(2μ₁) sech²((kx + ly − ωt)/2), ω = k³ + 3μ₂²l²/k: μ₁ sets its height and μ₂ its speed.
    """

    usual_wave = (1.0, 0.5)
    reach: ClassVar[float] = 6.0

    @property
    def terms(self) -> Mapping[str, Operator]:
        return {
            "x": Partial(0),
            "tx": Partial(0, 2),
            "xx": Partial(0, 0),
            "yy": Partial(1, 1),
            "xxxx": Partial(0, 0, 0, 0),
        }

    def residual(self, u: Derivatives, x: Point, mu: Named) -> Scalar:
        steepened = u.x**2 + u.value * u.xx  # (u u_x)_x
        return u.tx + 6.0 * mu.mu1 * steepened + u.xxxx + 3.0 * mu.mu2**2 * u.yy

    @staticmethod
    def frequency(k: float, l: float, mu: Named) -> Scalar | float:
        return k**3 + 3.0 * mu.mu2**2 * l**2 / k

    def exact(self, x: Point, mu: Named) -> Scalar:
        """k²/(2μ₁) sech²((kx + ly − ωt)/2)."""
        return self.wave[0] ** 2 / (2.0 * mu.mu1) / jnp.cosh(self.phase(x, mu) / 2.0) ** 2
