"""Quadratic forms of few entries, the norms a problem is written in:  s(x) = Σ_i D_i x_i² + Σ_i C_i x_i x_{i+1}."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.directions import Directions
from prism.shapes import Point, Scalar, Vector


class QuadraticForm(eqx.Module):
    """s(x) over the space coordinates, the first of a point; without `neighbours` a weighted norm."""

    diagonal: Float[Array, "d"]
    neighbours: Float[Array, "d_less_1"] | None = None

    @property
    def dimension(self) -> int:
        return self.diagonal.shape[0]

    def __call__(self, x: Point) -> Scalar:
        space = x[: self.dimension]
        value = jnp.sum(self.diagonal * space * space)
        return value if self.neighbours is None else value + jnp.sum(self.neighbours * space[:-1] * space[1:])

    def gradient(self, x: Point) -> Point:
        """∇s, zero along time."""
        space = x[: self.dimension]
        gradient = 2.0 * self.diagonal * space
        if self.neighbours is not None:
            gradient = gradient.at[:-1].add(self.neighbours * space[1:]).at[1:].add(self.neighbours * space[:-1])
        return jnp.pad(gradient, (0, x.shape[0] - self.dimension))

    def firsts(self, x: Point, directions: Directions) -> Vector:
        """v_j·∇s."""
        return directions.through(self.gradient(x)[:, None])[:, 0]

    def seconds(self, directions: Directions, coordinates: int) -> Vector:
        """s(v_j), the second coefficient along each direction."""
        if self.neighbours is None:
            return directions.weighted_squares(self._padded(coordinates))
        return jax.vmap(self)(directions.dense(coordinates))

    def trace(self, directions: Directions, weights: Vector, coordinates: int) -> Scalar:
        """Σ_j w_j s(v_j); of directions that stand for the whole space no random one takes part."""
        if self.neighbours is None:
            return directions.weighted_trace(weights, self._padded(coordinates))
        first = jnp.arange(self.dimension - 1)
        local = directions.local(jnp.stack([first, first + 1], axis=1))
        if local is None:
            return jnp.sum(weights * self.seconds(directions, coordinates))
        products = jnp.sum(self.neighbours * jnp.sum(local[..., 0] * local[..., 1], axis=0))
        return directions.weighted_trace(weights, self._padded(coordinates)) + products

    def _padded(self, coordinates: int) -> Point:
        return jnp.pad(self.diagonal, (0, coordinates - self.dimension))


def squared_norm(dimension: int) -> QuadraticForm:
    """|x|²."""
    return QuadraticForm(jnp.ones(dimension))
