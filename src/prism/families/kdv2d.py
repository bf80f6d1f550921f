"""μ₁u_ty + u_xxxy + 3(u_y u_x)_x − μ₂u_xx + 2u_yy = 0."""

from collections.abc import Mapping
from typing import ClassVar

import jax.numpy as jnp

from prism.derivatives.operators import Operator, Partial
from prism.families.solitons import LineSoliton
from prism.problem.family import Derivatives
from prism.shapes import Named, Point, Scalar


class KdV2D(LineSoliton):
    """μ₁u_ty + u_xxxy + 3(u_y u_x)_x − μ₂u_xx + 2u_yy = 0 in two space dimensions: a kink that moves.

    u = 2k tanh(kx + ly − ωt), ω = (4k³l − μ₂k² + 2l²)/(μ₁l): the parameters set its speed alone.
    """

    usual_wave = (0.75, 0.5)
    reach: ClassVar[float] = 3.0

    @property
    def terms(self) -> Mapping[str, Operator]:
        return {
            "x": Partial(0),
            "y": Partial(1),
            "xx": Partial(0, 0),
            "xy": Partial(0, 1),
            "yy": Partial(1, 1),
            "ty": Partial(1, 2),
            "xxxy": Partial(0, 0, 0, 1),
        }

    def residual(self, u: Derivatives, x: Point, mu: Named) -> Scalar:
        bent = u.xy * u.x + u.y * u.xx  # (u_y u_x)_x
        return mu.mu1 * u.ty + u.xxxy + 3.0 * bent - mu.mu2 * u.xx + 2.0 * u.yy

    @staticmethod
    def frequency(k: float, l: float, mu: Named) -> Scalar | float:
        return (4.0 * k**3 * l - mu.mu2 * k**2 + 2.0 * l**2) / (mu.mu1 * l)

    def exact(self, x: Point, mu: Named) -> Scalar:
        """2k tanh(kx + ly − ωt)."""
        return 2.0 * self.wave[0] * jnp.tanh(self.phase(x, mu))
