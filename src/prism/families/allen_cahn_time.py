"""u_t = Δu + μ₁u − μ₂u³ from the kinked state arctan(max_i x_i)."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from prism.families.semilinear import SemilinearFamily, Values
from prism.numerics.keys import Purpose, stream
from prism.problem.known import KnownValues
from prism.references.diffusion import diffused_arctan_of_maximum
from prism.references.picard import multilevel_picards
from prism.references.reference import Reference
from prism.shapes import Named, Point, Scalar

REPETITIONS, FEWEST_AND_MOST = 1_600, (4, 64)
"""Of the reference: so many coordinates in all, within bounds."""
EARLIEST = 1e-4
"""Before this time the diffused state is that of this time: nodes of its integral want a width."""


class AllenCahnTime(SemilinearFamily):
    """u_t = Δu + μ₁u − μ₂u³, u(x, 0) = arctan(max_i x_i), asked at (0, 0.3).

    The initial state enters as smoothed by the heat kernel, in closed form; its kinks are never differentiated.
    """

    def reaction(self, u: Values, mu: Named) -> Values:
        return mu.mu1 * u - mu.mu2 * u**3

    def diffused(self, x: Point) -> Scalar:
        return diffused_arctan_of_maximum(x[:-1], jnp.maximum(x[-1], EARLIEST))

    def diffused_and_slope(self, x: Point) -> tuple[Scalar, Scalar]:
        t = jnp.maximum(x[-1], EARLIEST)
        v, gradient = jax.value_and_grad(lambda space: diffused_arctan_of_maximum(space, t))(x[:-1])
        return v, jnp.sum(gradient * gradient)

    def known_values(self, parameters: Float[np.ndarray, "n p"]) -> KnownValues:
        return KnownValues.at_one_point(self.asked(), self._references(self.asked()[0], parameters))

    def reference(self, x: Float[np.ndarray, "coordinates"], mu: Mapping[str, float]) -> Reference:
        return self._references(x, np.asarray([[mu[name] for name in self.parameters.names]]))[0]

    def _references(self, x: np.ndarray, parameters: np.ndarray) -> list[Reference]:
        """By multilevel Picard iteration, more repetitions of it where points are short."""
        return multilevel_picards(
            lambda space: jnp.arctan(jnp.max(space)),
            self.known_reaction(parameters),
            np.asarray(x[:-1], np.float64),
            float(x[-1]),
            stream(0, Purpose.QUERIES),
            levels=3,
            repetitions=int(np.clip(REPETITIONS // self.domain.dimension, *FEWEST_AND_MOST)),
            diffused=diffused_arctan_of_maximum,
        )
