"""Bundles of directions v_1 ... v_n at one point, sparse or dense, and what the engine asks of them."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from prism.shapes import Point, Scalar, Vector


class Directions(eqx.Module):
    """v_1 ... v_n. Nothing here depends on a network."""

    @abc.abstractmethod
    def through(self, matrix: Float[Array, "coordinates width"]) -> Float[Array, "n width"]:
        """v_j W, the directions as the lift sees them."""

    @abc.abstractmethod
    def inner(self, x: Point) -> Vector:
        """v_j · x, with x the point they belong to."""

    @abc.abstractmethod
    def squared_norms(self) -> Vector:
        """|v_j|²."""

    @abc.abstractmethod
    def beyond(self, dimension: int) -> Vector:
        """The entry of each v_j behind the first `dimension` coordinates: its part of time; zero without one."""

    @abc.abstractmethod
    def weighted_squares(self, diagonal: Point) -> Vector:
        """Σ_i D_i v_ji² for a diagonal over the coordinates of a point."""

    def weighted_trace(self, weights: Vector, diagonal: Point) -> Scalar:
        """Σ_j w_j Σ_i D_i v_ji²."""
        return jnp.sum(weights * self.weighted_squares(diagonal))

    def local(self, places: Int[Array, "places window"]) -> Float[Array, "m places_or_1 window"] | None:
        """Directions u_k of weight one within each of some groups of coordinates, with Σ_k u_k⊗u_k the part there of
        what Σ_j w_j v_j⊗v_j stands for (once where it is the same for all groups); None where the v_j say so
        themselves."""
        return None

    @property
    def stretched(self) -> bool:
        """Whether what they span is the image of the space under a matrix, and not the space itself."""
        return False

    @abc.abstractmethod
    def scaled(self, diagonal: Point) -> "Directions":
        """diag(s) v_j."""

    @abc.abstractmethod
    def mapped(self, matrix: Float[Array, "d m"]) -> "Directions":
        """S v_j for a d × m matrix S."""

    @abc.abstractmethod
    def dense(self, coordinates: int) -> Float[Array, "n coordinates"]:
        """v_j as full vectors; coordinates beyond those drawn (time) are zero."""


class Sparse(Directions):
    """v_j = Σ_s values[j, s] e_{indices[j, s]}: a gather of a few rows instead of a product."""

    indices: Int[Array, "n s"]
    values: Float[Array, "n s"]

    def through(self, matrix: Float[Array, "coordinates width"]) -> Float[Array, "n width"]:
        rows = matrix[self.indices]
        if rows.shape[1] == 1:
            return self.values * rows[:, 0]
        return jnp.einsum("ns,nsh->nh", self.values, rows)

    def inner(self, x: Point) -> Vector:
        return jnp.sum(self.values * x[self.indices], axis=1)

    def squared_norms(self) -> Vector:
        return jnp.sum(self.values * self.values, axis=1)

    def beyond(self, dimension: int) -> Vector:
        return jnp.sum(self.values * (self.indices >= dimension), axis=1)

    def weighted_squares(self, diagonal: Point) -> Vector:
        return jnp.sum(self.values * self.values * diagonal[self.indices], axis=1)

    def scaled(self, diagonal: Point) -> Directions:
        return Sparse(self.indices, self.values * diagonal[self.indices])

    def mapped(self, matrix: Float[Array, "d m"]) -> Directions:
        return Dense(self.through(matrix.T))

    def dense(self, coordinates: int) -> Float[Array, "n coordinates"]:
        one = lambda indices, values: jnp.zeros(coordinates, values.dtype).at[indices].add(values)
        return jax.vmap(one)(self.indices, self.values)


class Dense(Directions):
    """v_j as full vectors over the first d coordinates."""

    vectors: Float[Array, "n d"]

    def through(self, matrix: Float[Array, "coordinates width"]) -> Float[Array, "n width"]:
        return self.vectors @ matrix[: self.vectors.shape[1]]

    def inner(self, x: Point) -> Vector:
        return self.vectors @ x[: self.vectors.shape[1]]

    def squared_norms(self) -> Vector:
        return jnp.sum(self.vectors * self.vectors, axis=1)

    def beyond(self, dimension: int) -> Vector:
        return jnp.sum(self.vectors[:, dimension:], axis=1)

    def weighted_squares(self, diagonal: Point) -> Vector:
        return (self.vectors * self.vectors) @ diagonal[: self.vectors.shape[1]]

    def scaled(self, diagonal: Point) -> Directions:
        return Dense(self.vectors * diagonal[None, : self.vectors.shape[1]])

    def mapped(self, matrix: Float[Array, "d m"]) -> Directions:
        return Dense(self.through(matrix.T))

    def dense(self, coordinates: int) -> Float[Array, "n coordinates"]:
        return jnp.pad(self.vectors, ((0, 0), (0, coordinates - self.vectors.shape[1])))


class Gradients(eqx.Module):
    """The gradients in x of all channels of a lift at a point: those of linear channels are the columns of its matrix,
    the same everywhere; other channels have their own."""

    linear: Float[Array, "coordinates width"]
    own: Float[Array, "coordinates own"]

    @staticmethod
    def unknown(coordinates: int, width: int) -> "Gradients":
        """For what depends on their number alone."""
        return Gradients(jnp.zeros((coordinates, width)), jnp.zeros((coordinates, 0)))

    @property
    def width(self) -> int:
        """Channels of the lift."""
        return self.linear.shape[1] + self.own.shape[1]

    def with_own(self, more: Float[Array, "coordinates more"]) -> "Gradients":
        """With more that belong to the point."""
        return Gradients(self.linear, jnp.concatenate([self.own, more], axis=1)) if more.shape[1] else self

    def mapped(self, function: Callable[[Array], Array]) -> "Gradients":
        """The function of both matrices."""
        return Gradients(function(self.linear), function(self.own))


class View(eqx.Module):
    """What the network sees of the space at a point: the gradients of its lift, and the space coordinates."""

    gradients: Gradients
    x: Point

    @property
    def width(self) -> int:
        """Channels of the lift."""
        return self.gradients.width


class Draw(eqx.Module):
    """The random part of a decomposition, which knows neither a point nor the values of a network."""

    @abc.abstractmethod
    def at(self, view: View | None) -> "Decomposition":
        """Directions and weights for a network with this view of the space; None where there is no network."""


class Decomposition(Draw):
    """A symmetric tensor as Σ_j w_j v_j ⊗ ... ⊗ v_j, or a random draw with that mean."""

    directions: Directions
    weights: Vector

    def at(self, view: View | None) -> "Decomposition":
        """Itself: its directions are the same everywhere."""
        return self


def along_axes(indices: Int[Array, "n"], weights: Vector) -> Decomposition:
    """Coordinate directions e_i with their weights."""
    return Decomposition(Sparse(indices[:, None], jnp.ones((indices.shape[0], 1), weights.dtype)), weights)
