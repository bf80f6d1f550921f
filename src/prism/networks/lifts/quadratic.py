"""Quadratic forms of few entries:  z_c = Σ_i D_ic y_i² + Σ_(i,j) A_ijc y_i y_j  over given pairs of coordinates.

y are the space coordinates in units of their spread. Beside an affine part such forms carry what the Taylor series of a
function of many small coordinates has next: its second derivatives, where these are sparse. A form is its own second
Taylor coefficient,  z(x + t v) = z(x) + t v·∇z + t² z(v) about the centre.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from prism.derivatives.directions import Sparse
from prism.networks.lifts.groups import Along, Coefficients, Group, Responses, Slopes, check_places
from prism.networks.lifts.parts import Quadratic
from prism.networks.modulation import Modulation
from prism.numerics.damped_systems import small_solutions
from prism.problem.domains import Domain
from prism.shapes import Hidden, Point


class QuadraticForms(Group):
    """Channels that are read out by q(μ), as affine ones are; both kinds of entries start at zero."""

    part: Quadratic = eqx.field(static=True)
    squares: Float[Array, "d channels"]
    """D."""
    products: Float[Array, "pairs channels"]
    """A."""
    dimension: int = eqx.field(static=True)
    centre: float = eqx.field(static=True)
    unit: float = eqx.field(static=True)

    @staticmethod
    def create(part: Quadratic, domain: Domain) -> "QuadraticForms":
        check_places("a quadratic part", part.window, part.groups, domain.dimension)
        low, high = domain.bounds
        empty = QuadraticForms(
            part,
            jnp.zeros((domain.dimension, part.channels)),
            jnp.zeros((0, part.channels)),
            domain.dimension,
            (low + high) / 2,
            domain.spread,
        )
        return eqx.tree_at(lambda forms: forms.products, empty, jnp.zeros((len(empty.pairs), part.channels)))

    @property
    def bent(self) -> bool:
        return False

    @property
    def channels(self) -> int:
        return self.part.channels

    @property
    def modulated(self) -> tuple[int, ...]:
        return ()

    @property
    def mixed_by_mu(self) -> bool:
        return True

    @property
    def workspace(self) -> int:
        return 2 * (self.dimension + len(self.pairs))

    @property
    def by_slopes(self) -> tuple[str, ...]:
        return "squares", "products"

    @property
    def pairs(self) -> Int[np.ndarray, "pairs 2"]:
        """The coordinates of every product."""
        if self.part.groups is not None:
            return np.asarray(self.part.groups)
        return np.concatenate([np.zeros((0, 2), int), *[self._apart(k) for k in range(1, self.part.window)]])

    def _apart(self, distance: int) -> Int[np.ndarray, "pairs 2"]:
        """All pairs of coordinates that lie so far apart."""
        first = np.arange(self.dimension - (0 if self.part.periodic else distance))
        return np.stack([first, (first + distance) % self.dimension], axis=1)

    def __call__(self, x: Point, modulations: Sequence[Modulation]) -> Hidden:
        return self._form(x[: self.dimension] - self.centre)

    def _form(self, offset: Float[Array, "d"]) -> Hidden:
        """z of a point by its distance from the centre."""
        first, second = self._sides(offset)
        return self.scale * ((offset * offset) @ self.squares + (first * second) @ self.products)

    @property
    def scale(self) -> float:
        """From entries of order one to a form of order one."""
        return 1.0 / (self.unit**2 * self.dimension**0.5)

    def _sides(self, vector: Float[Array, "... d"]) -> tuple[Float[Array, "... pairs"], Float[Array, "... pairs"]]:
        """The two coordinates of every pair; slices where these are neighbours, which are faster than a gather."""
        if self.part.groups is not None or self.part.periodic:
            first, second = self.pairs.T
            return vector[..., first], vector[..., second]
        distances = range(1, self.part.window)
        cut = lambda slices: jnp.concatenate([vector[..., :0], *[vector[..., s] for s in slices]], axis=-1)
        return cut(slice(0, self.dimension - k) for k in distances), cut(slice(k, self.dimension) for k in distances)

    def along(self, x: Point, modulations: Sequence[Modulation], along: Along) -> Coefficients:
        directions = along.decomposition.directions
        first = directions.through(self.jacobian(x, modulations))
        if along.order == 1:
            return Coefficients((first,), None)
        if along.has_top and along.order == 2:
            return Coefficients((first,), self._trace(along))
        lower = (first, self._seconds(along), *[jnp.zeros_like(first)] * (along.order - 2))
        return Coefficients(lower[:-1], jnp.zeros_like(first[0])) if along.has_top else Coefficients(lower, None)

    def _trace(self, along: Along) -> Hidden:
        """Σ_j w_j z(v_j): the trace of the form where the v_j stand for the whole space."""
        single, pairs = jnp.arange(self.dimension)[:, None], jnp.asarray(self.pairs)
        local = along.decomposition.directions.local
        own, both = local(single), local(pairs)
        if own is None or both is None:
            return along.decomposition.weights @ self._seconds(along)
        of_squares = jnp.broadcast_to(jnp.sum(own[..., 0] ** 2, axis=0), (self.dimension,))
        of_products = jnp.broadcast_to(jnp.sum(both[..., 0] * both[..., 1], axis=0), (len(pairs),))
        return self.scale * (of_squares @ self.squares + of_products @ self.products)

    def _seconds(self, along: Along) -> Float[Array, "n channels"]:
        """z(v_j) of every direction."""
        directions = along.decomposition.directions
        if isinstance(directions, Sparse) and directions.indices.shape[1] == 1:
            inside = (directions.indices < self.dimension) * directions.values**2
            return self.scale * inside * self.squares[jnp.minimum(directions.indices[:, 0], self.dimension - 1)]
        return jax.vmap(self._form)(directions.dense(self.dimension))

    def slope_step(
        self, points: Float[Array, "N coordinates"], p: Responses, slopes: Slopes, damping: float
    ) -> tuple[tuple[Array, Array], Slopes]:
        """A least-squares problem of as many unknowns as channels for every entry. To leading order

            ∂_i r_n = Σ_c p_nc (2 D_ic y_ni + Σ_j A_ijc y_nj) · scale,     p = ∂r/∂z,

        in which different coordinates of a point are as good as uncorrelated.
        """
        offsets, own = points[:, : self.dimension] - self.centre, slopes[:, : self.dimension]
        (first, second), (first_slope, second_slope) = self._sides(offsets), self._sides(own)
        factors = self.scale * p
        squares = _least_squares(factors, 4.0 * offsets**2, 2.0 * offsets * own, damping)
        products = _least_squares(factors, first**2 + second**2, second * first_slope + first * second_slope, damping)
        change = eqx.tree_at(lambda forms: (forms.squares, forms.products), self, (squares, products))
        moved = jax.vmap(lambda x, by_z: jax.grad(lambda y: by_z @ change(y, ()))(x))(points, p)
        return (squares, products), slopes + moved


def _least_squares(
    factors: Float[Array, "N channels"],
    weights: Float[Array, "N entries"],
    targets: Float[Array, "N entries"],
    damping: float,
) -> Float[Array, "entries channels"]:
    """−(Σ_n w_ne f_n f_nᵀ + λI)⁻¹ Σ_n t_ne f_n of every entry e, λ relative to the mean diagonal of all."""
    channels = factors.shape[1]
    outer = (factors[:, :, None] * factors[:, None, :]).reshape(-1, channels**2)
    matrix, target = (outer.T @ weights).reshape(channels, channels, -1), factors.T @ targets
    level = jnp.mean(jnp.trace(matrix)) / channels
    added = (damping * level + jnp.finfo(matrix.dtype).tiny) * jnp.eye(channels, dtype=matrix.dtype)
    return -small_solutions(matrix + added[:, :, None], target).T
