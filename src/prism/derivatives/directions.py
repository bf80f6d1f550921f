"""Bundles of directions v_1 ... v_n at one point, sparse or dense, and what the engine asks of them."""

import abc
import dataclasses
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


class Spanned(Directions):
    """All of R^m as a lift sees it at a point y: n mixtures of an orthonormal basis Q of the span of the gradients of
    its channels, and of

        e = y⊥ / |y⊥|,  y⊥ = y − Q Qᵀ y,      and      f, a random vector orthogonal to Q and to y,

    along both of which the lifted network changes through the point alone, while a constraint may change along either.
    Linear channels have the same gradients everywhere, the columns of A (m × h): with AᵀA = CᵀC, their part A C⁻¹ of Q
    is formed only where vectors are asked for. Those of other channels are the point's own. Where directions are
    mapped by S (Tr(SSᵀD²u)), y = Sᵀx and gradients are multiplied by Sᵀ.
    """

    lift: Float[Array, "m width"]
    inverse: Float[Array, "width width"]
    own: Float[Array, "m own"]
    """The basis of what channels that are not linear add to the span at this point; columns of zeros add nothing."""
    mix: Float[Array, "*batch n basis_and_2"]
    """The coefficients of each direction in Q, e and f."""
    normal: Float[Array, "m"]
    """The normal vector of which f is the part orthogonal to Q and y, brought to length one."""
    y: Point
    stretch: Float[Array, "..."] | None = None

    def through(self, matrix: Float[Array, "coordinates width"]) -> Float[Array, "n_and_2 width"]:
        pulled = self._pull(matrix)
        inside = jnp.concatenate([self.inverse.T @ (self.lift.T @ pulled), self.own.T @ pulled])
        point = (self.y @ pulled - self.along @ inside) * self.inverse_distance
        in_basis, on_point, length = self._normal_parts()
        rest = (self.normal @ pulled - in_basis @ inside - on_point * point) / length
        # f W is zero, and not its derivative by W: keep that, and none of the rounding.
        return self.mix @ jnp.concatenate([inside, point[None], (rest - jax.lax.stop_gradient(rest))[None]])

    def inner(self, x: Point) -> Vector:
        seen = self._pull(x[:, None])[:, 0]
        inside = self._in_basis(seen)
        point = (self.y @ seen - self.along @ inside) * self.inverse_distance
        return self.mix[:, :-1] @ jnp.append(inside, point)

    def squared_norms(self) -> Vector:
        """|v_j|²; of e and f, once stretched, the mean over the whole space orthogonal to Q."""
        if self.stretch is None:
            outside = jnp.stack([self.inverse_distance > 0, 1.0 / self._share])
            return (self.mix * self.mix) @ jnp.append(self._basis_squares, outside)
        basis = self.basis()
        inside = jnp.sum((basis @ self.mix[:, :-2].T) ** 2, axis=0)
        beyond = (jnp.sum(self.stretch**2) - jnp.sum(basis**2)) / (self.lift.shape[0] - basis.shape[1])
        return inside + beyond * jnp.sum(self.mix[:, -2:] ** 2, axis=1)

    def beyond(self, dimension: int) -> Vector:
        return jnp.zeros(self.mix.shape[0], self.y.dtype)

    def weighted_squares(self, diagonal: Point) -> Vector:
        vectors = self.dense(diagonal.shape[0])
        return (vectors * vectors) @ diagonal

    def weighted_trace(self, weights: Vector, diagonal: Point) -> Scalar:
        """Σ_i D_i (SSᵀ)_ii: of the whole space, not of the random f that stands for most of it."""
        if self.stretch is None:
            return jnp.sum(diagonal[: self.lift.shape[0]])
        squares = self.stretch**2 if self.stretch.ndim == 1 else jnp.sum(self.stretch**2, axis=1)
        return jnp.sum(diagonal[: squares.shape[0]] * squares)

    def local(self, places: Int[Array, "places window"]) -> Float[Array, "m places_or_1 window"]:
        if self.stretch is not None and self.stretch.ndim == 2:
            return jnp.moveaxis(self.stretch[places], 2, 0)
        units = jnp.eye(places.shape[1], dtype=self.y.dtype)[:, None]
        return units if self.stretch is None else units * self.stretch[places][None]

    @property
    def stretched(self) -> bool:
        return self.stretch is not None

    def basis(self) -> Float[Array, "d basis"]:
        """S Q: the directions of the basis as vectors of the space."""
        return self._push(jnp.concatenate([self.lift @ self.inverse, self.own], axis=1))

    def scaled(self, diagonal: Point) -> Directions:
        return dataclasses.replace(self, stretch=diagonal)

    def mapped(self, matrix: Float[Array, "d m"]) -> Directions:
        return dataclasses.replace(self, stretch=matrix)

    def dense(self, coordinates: int) -> Float[Array, "n_and_2 coordinates"]:
        e = (self.y - self._from_basis(self.along)) * self.inverse_distance
        in_basis, on_point, length = self._normal_parts()
        f = (self.normal - self._from_basis(in_basis) - on_point * e) / length
        outside = jnp.stack([e, f], axis=1)
        whole = self.mix @ jnp.concatenate([self.basis().T, self._push(outside).T])
        return jnp.pad(whole, ((0, 0), (0, coordinates - whole.shape[1])))

    @property
    def along(self) -> Float[Array, "basis"]:
        """Qᵀ y."""
        return self._in_basis(self.y)

    @property
    def inverse_distance(self) -> Scalar:
        """1 / |y⊥|; zero, and so e, where y lies in the span up to rounding."""
        along = self.along
        whole = jnp.sum(self.y * self.y)
        squared = whole - jnp.sum(along * along)
        there = squared > 100 * jnp.finfo(squared.dtype).eps * whole
        return jnp.where(there, jax.lax.rsqrt(jnp.where(there, squared, 1.0)), 0.0)

    def _normal_parts(self) -> tuple[Float[Array, "basis"], Scalar, Scalar]:
        """Qᵀ n and e·n of the normal vector n, and by what to divide the rest of it.

        That is its length, or less where a gradient lies in the span of others or y in that of all: f stands for their
        dimensions too.
        """
        in_basis = self._in_basis(self.normal)
        on_point = (self.normal @ self.y - in_basis @ self.along) * self.inverse_distance
        squared = jnp.sum(self.normal * self.normal) - jnp.sum(in_basis * in_basis) - on_point * on_point
        return in_basis, on_point, jnp.sqrt(self._share * jnp.maximum(squared, jnp.finfo(squared.dtype).tiny))

    @property
    def rest(self) -> Scalar:
        """The dimension of the space orthogonal to the gradients and to y, for which f stands."""
        return self.lift.shape[0] - (self.inverse_distance > 0) - jnp.sum(self._basis_squares)

    @property
    def _share(self) -> Scalar:
        """The dimension of the rest where no gradient and no point lies in the span of others, over what it is."""
        return (self.lift.shape[0] - 1 - self.mix.shape[-1] + 2) / self.rest

    @property
    def _basis_squares(self) -> Float[Array, "basis"]:
        """The squared lengths of the columns of Q: one, or zero where a gradient lies in the span of others."""
        linear = jnp.sum((self.lift.T @ self.lift @ self.inverse) * self.inverse, axis=0)
        # Of a column in the span of others the product leaves rounding over the raised diagonal: a number of order one.
        return jnp.append(jnp.where(linear > 0.9, linear, 0.0), jnp.sum(self.own**2, axis=0))

    def _in_basis(self, vector: Float[Array, "m"]) -> Float[Array, "basis"]:
        """Qᵀ v."""
        return jnp.concatenate([(vector @ self.lift) @ self.inverse, vector @ self.own])

    def _from_basis(self, coefficients: Float[Array, "basis"]) -> Float[Array, "m"]:
        """Q c."""
        width = self.lift.shape[1]
        return self.lift @ (self.inverse @ coefficients[:width]) + self.own @ coefficients[width:]

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
