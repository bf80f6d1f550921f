"""Directions in the span of what a lift tells of a point, and in the space beyond it: what `Gram` draws.

Of n directions each is a mixture of an orthonormal basis Q of the span, of e, what is left of the point itself, and of
a random f orthogonal to all of these.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from prism.derivatives.directions import Decomposition, Directions, Draw, View
from prism.derivatives.polarisation import fourth_powers
from prism.errors import InputError
from prism.shapes import Point, Scalar, Vector


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
    def expected_rest(self) -> float:
        """The dimension of the rest where no gradient and no point lies in the span of others."""
        return self.lift.shape[0] - 1.0 - (self.mix.shape[-1] - 2)

    @property
    def rest_dimension(self) -> Scalar:
        """The dimension of the space orthogonal to the gradients and to y, for which f stands."""
        return self.lift.shape[0] - (self.inverse_distance > 0) - jnp.sum(self._basis_squares)

    @property
    def _share(self) -> Scalar:
        """What was expected of the dimension of the rest, over what it is."""
        return self.expected_rest / self.rest_dimension

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


class Mixture(Draw):
    """Directions in the span of a lift that is not yet known: their coefficients in its basis and in the two vectors
    beyond (`Spanned`), and a normal vector for the rest of the space."""

    mix: Float[Array, "n width_and_2"]
    normal: Float[Array, "m"]
    weights: Float[Array, "n"]

    def at(self, view: View | None) -> Decomposition:
        return Decomposition(self._spanned(view), self.weights)

    def _spanned(self, view: View | None) -> Spanned:
        if view is None or view.width != self.mix.shape[-1] - 2:
            raise InputError("Gram looks at the network's lift; use it in solve(), or take Exact() for a bare tensor")
        linear, own = jax.lax.stop_gradient((view.gradients.linear, view.gradients.own))
        inverse = inverse_root(linear.T @ linear, linear.shape[0])
        mix = self.mix.astype(linear.dtype)
        return Spanned(linear, inverse, added_basis(linear, inverse, own), mix, self.normal, view.x)


class QuarticMixture(Mixture):
    """The same for order 4; `pure_f` is the number of the direction that is f alone. Its weight depends on how many
    dimensions the rest of the space has, which is seen where the lift is known."""

    pure_f: int = eqx.field(static=True)

    @staticmethod
    def of(chosen: Int[Array, "n"], width: int, normal: Float[Array, "m"]) -> "QuarticMixture":
        """From n of the h channels' directions, weighted by the inverse of their chance to be chosen: n/h for one, and
        n(n − 1)/(h(h − 1)) for a pair."""
        n, expected_rest = chosen.shape[0], normal.shape[0] - width - 1.0
        multiplicity = jnp.append(jnp.full(n, width / max(n, 1)), jnp.asarray([1.0, expected_rest]))
        pair_correction = (width - 1) * n / ((n - 1) * width) if n > 1 else 0.0
        is_channel = (jnp.arange(n + 2) < n).astype(multiplicity.dtype)
        corrections = 1.0 + (pair_correction - 1.0) * jnp.outer(is_channel, is_channel)
        pairs = 2.0 * jnp.outer(multiplicity, multiplicity) * corrections
        combined, weights = fourth_powers(multiplicity.at[-1].set(0.0), pairs)
        vectors = jnp.eye(width + 2)[jnp.append(chosen, jnp.asarray([width, width + 1]))]
        return QuarticMixture(jnp.asarray(combined) @ vectors, normal, weights, n + 1)

    def at(self, view: View | None) -> Decomposition:
        """Adds m(m + 2)/3 ∂_f⁴ for the m dimensions that the rest has. f has the length √(m/n) where n were expected,
        as they are where no gradient lies in the span of others; hence (n/m)²."""
        spanned = self._spanned(view)
        m, n = jax.lax.stop_gradient(spanned.rest_dimension), spanned.expected_rest
        return Decomposition(spanned, self.weights.at[self.pure_f].add((n / m) ** 2 * m * (m + 2.0) / 3.0))


def with_point_and_rest(mix: Float[Array, "n width"]) -> Float[Array, "n_and_2 width_and_2"]:
    """These mixtures of a lift's basis, then e and f."""
    return jnp.zeros((mix.shape[0] + 2, mix.shape[1] + 2)).at[:-2, :-2].set(mix).at[-2:, -2:].set(jnp.eye(2))


def added_basis(
    linear: Float[Array, "d width"], inverse: Float[Array, "width width"], own: Float[Array, "d own"]
) -> Float[Array, "d own"]:
    """An orthonormal basis of what the columns of `own` add to the span of `linear`; a column of zeros for one that
    adds nothing but rounding."""
    if own.shape[1] == 0:
        return own
    project = lambda matrix: matrix - linear @ (inverse @ (inverse.T @ (linear.T @ matrix)))
    sizes = jnp.sum(own * own, axis=0)
    rest = project(project(own))
    there = jnp.sum(rest * rest, axis=0) > 1e3 * jnp.finfo(own.dtype).eps * sizes
    rest = jnp.where(there, rest, 0.0)
    basis = rest @ inverse_root(rest.T @ rest, rest.shape[0])
    # A column in the span of those before it leaves noise of any length, which counts as nothing too.
    return jnp.where(jnp.abs(jnp.sum(basis * basis, axis=0) - 1.0) < 0.1, basis, 0.0)


def inverse_root(gram: Float[Array, "width width"], terms: int) -> Float[Array, "width width"]:
    """C⁻¹ with CᵀC = G, for a possibly singular G whose entries are sums of `terms` products: its columns are
    normalised and its diagonal raised by rounding.

    A column that vanishes, or lies in the span of others, gets a direction along which nothing changes.
    """
    width = gram.shape[0]
    if width == 0:
        return gram
    diagonal = jnp.diagonal(gram)
    size = jnp.where(diagonal > 0, jax.lax.rsqrt(jnp.where(diagonal > 0, diagonal, 1.0)), 1.0)
    jitter = max(width, terms**0.5) * jnp.finfo(gram.dtype).eps
    normal = size[:, None] * gram * size[None] + jitter * jnp.eye(width, dtype=gram.dtype)
    lower = jnp.linalg.cholesky(normal)
    inverse = jax.scipy.linalg.solve_triangular(lower, jnp.diag(size), lower=True)
    return inverse.T
