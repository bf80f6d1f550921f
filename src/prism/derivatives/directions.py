"""Bundles of directions v_1 ... v_n at one point, sparse or dense, and what the engine asks of them."""

import abc

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

    def scaled(self, diagonal: Point) -> Directions:
        return Dense(self.vectors * diagonal[None, : self.vectors.shape[1]])

    def mapped(self, matrix: Float[Array, "d m"]) -> Directions:
        return Dense(self.through(matrix.T))

    def dense(self, coordinates: int) -> Float[Array, "n coordinates"]:
        return jnp.pad(self.vectors, ((0, 0), (0, coordinates - self.vectors.shape[1])))


class Spanned(Directions):
    """All of R^m as a lift A (m × h) sees it at a point y: n mixtures of an orthonormal basis Q of A's columns, then

        e = y⊥ / |y⊥|,  y⊥ = y − Q Qᵀ y,      and      f, a random vector orthogonal to A and to y,

    along both of which the lifted network changes through the point alone, while a constraint may change along either.
    With AᵀA = CᵀC, Q = A C⁻¹ is formed only where vectors are asked for. Where directions are mapped by S
    (Tr(SSᵀD²u)), y = Sᵀx and A = SᵀW.
    """

    lift: Float[Array, "m width"]
    inverse: Float[Array, "width width"]
    mix: Float[Array, "*batch n width"]
    normal: Float[Array, "m"]
    """The normal vector of which f is the part orthogonal to A and y, brought to length one (for an A of full rank)."""
    y: Point
    stretch: Float[Array, "..."] | None = None

    def through(self, matrix: Float[Array, "coordinates width"]) -> Float[Array, "n_and_2 width"]:
        pulled = self._pull(matrix)
        inside = self.inverse.T @ (self.lift.T @ pulled)
        point = (self.y @ pulled - self.along @ inside) / jnp.maximum(self.distance, 1e-30)
        in_basis, on_point, length = self._normal_parts()
        rest = (self.normal @ pulled - in_basis @ inside - on_point * point) / length
        # f W is zero, and not its derivative by W: keep that, and none of the rounding.
        rest = rest - jax.lax.stop_gradient(rest)
        return jnp.concatenate([self.mix @ inside, point[None], rest[None]])

    def inner(self, x: Point) -> Vector:
        seen = self._pull(x[:, None])[:, 0]
        inside = self._in_basis(seen)
        point = (self.y @ seen - self.along @ inside) / jnp.maximum(self.distance, 1e-30)
        return jnp.concatenate([self.mix @ inside, point[None], jnp.zeros_like(point)[None]])

    def squared_norms(self) -> Vector:
        """|v_j|²; of e and f, once stretched, the mean over the whole space orthogonal to A."""
        if self.stretch is None:
            inside = jnp.sum(self.mix * self.mix, axis=1)
            return jnp.concatenate([inside, jnp.ones(2, inside.dtype)])
        basis = self.basis()
        inside = jnp.sum((basis @ self.mix.T) ** 2, axis=0)
        beyond = (jnp.sum(self.stretch**2) - jnp.sum(basis**2)) / (self.lift.shape[0] - self.lift.shape[1])
        return jnp.concatenate([inside, beyond[None], beyond[None]])

    def basis(self) -> Float[Array, "d width"]:
        """S Q: the directions of the basis as vectors of the space."""
        return self._push(self.lift @ self.inverse)

    def scaled(self, diagonal: Point) -> Directions:
        return Spanned(self.lift, self.inverse, self.mix, self.normal, self.y, diagonal)

    def mapped(self, matrix: Float[Array, "d m"]) -> Directions:
        return Spanned(self.lift, self.inverse, self.mix, self.normal, self.y, matrix)

    def dense(self, coordinates: int) -> Float[Array, "n_and_2 coordinates"]:
        e = (self.y - self._from_basis(self.along)) / jnp.maximum(self.distance, 1e-30)
        in_basis, on_point, length = self._normal_parts()
        f = (self.normal - self._from_basis(in_basis) - on_point * e) / length
        outside = jnp.stack([e, f], axis=1)
        whole = jnp.concatenate([self.mix @ self.basis().T, self._push(outside).T])
        return jnp.pad(whole, ((0, 0), (0, coordinates - whole.shape[1])))

    @property
    def along(self) -> Float[Array, "width"]:
        """Qᵀ y."""
        return self._in_basis(self.y)

    @property
    def distance(self) -> Scalar:
        """|y⊥|, with a derivative of zero where it vanishes."""
        along = self.along
        squared = jnp.sum(self.y * self.y) - jnp.sum(along * along)
        there = squared > 1e-30
        return jnp.where(there, jnp.sqrt(jnp.where(there, squared, 1.0)), 0.0)

    def _normal_parts(self) -> tuple[Float[Array, "width"], Scalar, Scalar]:
        """Qᵀ n and e·n of the normal vector n, and by what to divide the rest of it.

        That is its length, or less where columns of A lie in the span of others: f stands for their dimensions too.
        """
        in_basis = self._in_basis(self.normal)
        on_point = (self.normal @ self.y - in_basis @ self.along) / jnp.maximum(self.distance, 1e-30)
        squared = jnp.sum(self.normal * self.normal) - jnp.sum(in_basis * in_basis) - on_point * on_point
        dimension, width = self.lift.shape
        rank = jnp.sum((self.lift.T @ self.lift @ self.inverse) * self.inverse)
        share = (dimension - 1 - width) / (dimension - 1 - rank)
        return in_basis, on_point, jnp.sqrt(share * jnp.maximum(squared, jnp.finfo(squared.dtype).tiny))

    def _in_basis(self, vector: Float[Array, "m"]) -> Float[Array, "width"]:
        """Qᵀ v."""
        return (vector @ self.lift) @ self.inverse

    def _from_basis(self, coefficients: Float[Array, "width"]) -> Float[Array, "m"]:
        """Q c."""
        return self.lift @ (self.inverse @ coefficients)

    def _pull(self, matrix: Float[Array, "coordinates width"]) -> Float[Array, "m width"]:
        """Sᵀ M."""
        if self.stretch is None:
            return matrix[: self.lift.shape[0]]
        rows = matrix[: self.stretch.shape[0]]
        return self.stretch[:, None] * rows if self.stretch.ndim == 1 else self.stretch.T @ rows

    def _push(self, matrix: Float[Array, "m width"]) -> Float[Array, "d width"]:
        """S M."""
        if self.stretch is None:
            return matrix
        return self.stretch[:, None] * matrix if self.stretch.ndim == 1 else self.stretch @ matrix


class View(eqx.Module):
    """What the network sees of the space at a point: the space rows of the lift's matrix, and the space coordinates."""

    weight: Float[Array, "d width"]
    x: Point

    @property
    def width(self) -> int:
        """Channels of the lift."""
        return self.weight.shape[1]


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
