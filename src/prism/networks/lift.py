"""The lift  z = x W + b: the first, μ-free, linear map, and the only place where the dimension appears."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.directions import Decomposition
from prism.shapes import Hidden, Key, Point
from prism.taylor import Jet, collapse


class Lift(eqx.Module):
    """z = x W + b with W of coordinates × width."""

    weight: Float[Array, "coordinates width"]
    bias: Hidden

    @staticmethod
    def create(coordinates: int, width: int, key: Key) -> "Lift":
        """W ~ N(0, 1/coordinates).

        In a ball, whose coordinates are of order 1/√d, the network so starts nearly linear in x. Larger starts were
        measured to learn more slowly (docs/results.md).
        """
        weight = jax.random.normal(key, (coordinates, width)) / coordinates**0.5
        return Lift(weight, jnp.zeros(width))

    @property
    def width(self) -> int:
        return self.bias.shape[0]

    def __call__(self, x: Point) -> Hidden:
        return x @ self.weight + self.bias

    def jet(self, x: Point, decomposition: Decomposition, order: int, collapsed: bool) -> Jet:
        """The jet of z to `order`, whose last coefficient is collapsed or not: z_1(j) = v_j W, none beyond."""
        first = decomposition.directions.through(self.weight)
        weights = decomposition.weights
        lower_count = order - 1 if collapsed else order
        lower = tuple(first if k == 0 else jnp.zeros_like(first) for k in range(lower_count))
        top = None
        if collapsed:
            top = collapse(weights, first) if order == 1 else jnp.zeros_like(self.bias)
        return Jet(self(x), lower, top, weights)

    def point(self, x: Point) -> Jet:
        """The jet of order 0: the value alone."""
        return Jet(self(x), (), None, jnp.zeros(0, self.bias.dtype))
