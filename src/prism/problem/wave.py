"""A function with known derivatives of every order in place of a network: to try a family without compiling one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp

from prism.derivatives.directions import Decomposition
from prism.derivatives.expansion import Expansion
from prism.derivatives.frames import Frame
from prism.derivatives.taylor import Jet, point_jet
from prism.shapes import Point, Scalar


@dataclass(frozen=True)
class Wave:
    """N(x) = sin(1 + Σx/√d), none of whose derivatives vanish:  along v  c_k = (Σv/√d)ᵏ sin(... + kπ/2) / k!."""

    x: Point

    def jets(self, frames: Sequence[Frame], decomposed: Sequence[Decomposition]) -> list[Expansion]:
        return [self._jet(frame, found) for frame, found in zip(frames, decomposed, strict=True)]

    def _jet(self, frame: Frame, decomposition: Decomposition) -> Expansion:
        like = frame.constant(self._phase, decomposition)
        steps = decomposition.directions.inner(jnp.full_like(self.x, self.x.shape[0] ** -0.5))
        coefficients = [
            steps**k * jnp.sin(self._phase + k * math.pi / 2) / math.factorial(k) for k in range(1, frame.order + 1)
        ]
        return like.polynomial(jnp.sin(self._phase), coefficients)

    def value(self) -> Jet:
        return point_jet(jnp.sin(self._phase))

    @property
    def _phase(self) -> Scalar:
        return 1.0 + jnp.sum(self.x) * self.x.shape[0] ** -0.5
