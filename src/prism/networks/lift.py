"""The lift  z = x W + b: the first, μ-free, linear map, and the only place where the dimension appears."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.directions import Directions
from prism.numerics.keys import Purpose, child
from prism.shapes import Hidden, Key, Point


class Lifted(eqx.Module):
    """z, and v_j W for the directions of each frame: all that the rest of the network sees of a point."""

    value: Hidden
    firsts: tuple[Float[Array, "_ width"], ...]


class Lift(eqx.Module):
    """z = x W + b with W of coordinates × width."""

    weight: Float[Array, "coordinates width"]
    bias: Hidden

    @staticmethod
    def create(
        coordinates: int,
        width: int,
        key: Key,
        affine: int = 0,
        bias_deviation: float = 0.0,
        clock_deviation: float | None = None,
    ) -> "Lift":
        """W ~ N(0, 1/coordinates), b ~ N(0, deviation²), then `affine` channels that start at zero.

        In a ball, whose coordinates are of order 1/√d, the network so starts nearly linear in x. With a deviation for
        clocks a quarter of the channels begin as z = c t, c ~ N(0, deviation²), and the others without the last
        coordinate, which is time.
        """
        weight = jax.random.normal(child(key, Purpose.WEIGHTS), (coordinates, width)) / coordinates**0.5
        bias = bias_deviation * jax.random.normal(child(key, Purpose.LIFT_BIAS), (width,))
        if clock_deviation is not None:
            clock = jnp.arange(width) < max(1, width // 4)
            time = clock_deviation * coordinates**0.5 * weight[-1]
            weight = jnp.where(clock[None], 0.0, weight).at[-1].set(jnp.where(clock, time, 0.0))
            bias = jnp.where(clock, 0.0, bias)
        return Lift(jnp.pad(weight, ((0, 0), (0, affine))), jnp.pad(bias, (0, affine)))

    @property
    def width(self) -> int:
        return self.bias.shape[0]

    def __call__(self, x: Point) -> Hidden:
        return x @ self.weight + self.bias

    def lifted(self, x: Point, directions: Sequence[Directions]) -> Lifted:
        """The point and the directions of each frame, lifted."""
        return Lifted(self(x), tuple(bundle.through(self.weight) for bundle in directions))
