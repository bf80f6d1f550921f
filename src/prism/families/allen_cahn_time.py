"""u_t = Δu + μ₁u − μ₂u³ from the kinked state arctan(max_i x_i)."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from prism.families.semilinear import SemilinearFamily, Values
from prism.formulas.diffusion import diffused_arctan_of_maximum
from prism.numerics.keys import Purpose, stream
from prism.problem.forms import QuadraticForm, squared_norm
from prism.references.picard import multilevel_picards
from prism.references.reference import Reference
from prism.shapes import Named, Point, Scalar

THREE_LEVELS_UP_TO = 300
"""Dimensions up to which the reference takes three levels; beyond, two leave as little."""
DRAWN_COORDINATES, REPETITIONS = 16_000, (8, 64)
"""It takes 16,000/d repetitions, between 8 and 64."""
EARLIEST = 1e-4
"""The diffused initial state is evaluated at this time or later: its quadrature needs a positive width."""


class AllenCahnTime(SemilinearFamily):
    """u_t = Δu + μ₁u − μ₂u³, u(x, 0) = arctan(max_i x_i), asked at (0, 0.3).

    The initial state enters as smoothed by the heat kernel, in closed form; its kinks are never differentiated.
    """

    def reaction(self, u: Values, mu: Named) -> Values:
        return mu.mu1 * u - mu.mu2 * u**3

    @property
    def norms(self) -> tuple[QuadraticForm, ...]:
        """|x|²: at the origin only the mean of w over all directions matters, which is a function of |x|² and t up to
        what w and f'(Φ) have in common over a sphere."""
        return (squared_norm(self.domain.dimension),)

    def initial(self, space: Point) -> Scalar:
        return jnp.arctan(jnp.max(space))

    def diffused(self, x: Point) -> Scalar:
        return diffused_arctan_of_maximum(x[:-1], jnp.maximum(x[-1], EARLIEST))

    def diffused_with_gradient(self, x: Point) -> tuple[Scalar, Scalar]:
        t = jnp.maximum(x[-1], EARLIEST)
        v, gradient = jax.value_and_grad(lambda space: diffused_arctan_of_maximum(space, t))(x[:-1])
        return v, jnp.sum(gradient * gradient)

    def references(self, x: Float[np.ndarray, "coordinates"], parameters: Float[np.ndarray, "n p"]) -> list[Reference]:
        """By multilevel Picard iteration, with more repetitions in few dimensions; the diffused initial state is the
        family's own."""
        return multilevel_picards(
            self.initial,
            self.reaction_at(parameters),
            np.asarray(x[:-1], np.float64),
            float(x[-1]),
            stream(0, Purpose.QUERIES),
            levels=3 if self.domain.dimension <= THREE_LEVELS_UP_TO else 2,
            repetitions=int(np.clip(DRAWN_COORDINATES // self.domain.dimension, *REPETITIONS)),
            diffused=diffused_arctan_of_maximum,
        )
