"""u_t = Δu + μ₁u − μ₂u³ from the kinked state arctan(max_i x_i)."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from prism.families.semilinear import SemilinearFamily, Values
from prism.numerics.keys import Purpose, stream
from prism.problem.known import KnownValues
from prism.references.diffusion import diffused_arctan_of_maximum
from prism.references.picard import multilevel_picards
from prism.shapes import Named, Point, Scalar

REPETITIONS, FEWEST_AND_MOST = 6_400, (4, 64)
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
        """By multilevel Picard iteration, more repetitions of it where points are short."""
        repetitions = int(np.clip(REPETITIONS // self.domain.dimension, *FEWEST_AND_MOST))
        with jax.enable_x64(True):
            reaction = self.known_reaction(parameters)
        found = multilevel_picards(
            lambda x: jnp.arctan(jnp.max(x)),
            reaction,
            np.zeros(self.domain.dimension),
            self.domain.horizon,
            stream(0, Purpose.QUERIES),
            levels=3,
            repetitions=repetitions,
            diffused=diffused_arctan_of_maximum,
        )
        return KnownValues.at_one_point(self.asked(), found)
