"""Bundles of directions v_1 ... v_n at one point, sparse or dense, and what the engine asks of them."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from prism.shapes import Point, Vector


class Directions(eqx.Module):
    """v_1 ... v_n. Nothing here depends on a network."""

    @abc.abstractmethod
    def through(self, matrix: Float[Array, "coordinates width"]) -> Float[Array, "n width"]:
        """v_j W, the directions as the lift sees them."""

    @abc.abstractmethod
    def inner(self, x: Point) -> Vector:
        """v_j · x."""

    @abc.abstractmethod
    def squared_norms(self) -> Vector:
        """|v_j|²."""

    @abc.abstractmethod
    def scaled(self, diagonal: Point) -> "Directions":
        """diag(s) v_j."""

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

    def scaled(self, diagonal: Point) -> Directions:
        return Sparse(self.indices, self.values * diagonal[self.indices])

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

    def scaled(self, diagonal: Point) -> Directions:
        return Dense(self.vectors * diagonal[None, : self.vectors.shape[1]])

    def dense(self, coordinates: int) -> Float[Array, "n coordinates"]:
        return jnp.pad(self.vectors, ((0, 0), (0, coordinates - self.vectors.shape[1])))


class Decomposition(eqx.Module):
    """A symmetric tensor as Σ_j w_j v_j ⊗ ... ⊗ v_j, or a random draw with that mean."""

    directions: Directions
    weights: Vector


def along_axes(indices: Int[Array, "n"], weights: Vector) -> Decomposition:
    """Coordinate directions e_i with their weights."""
    return Decomposition(Sparse(indices[:, None], jnp.ones((indices.shape[0], 1), weights.dtype)), weights)
