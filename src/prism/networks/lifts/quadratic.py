"""Quadratic forms of few entries, over given pairs of coordinates:

    z_c = Q_c(x − centre),     Q_c(v) = (Σ_i D_ic v_i² + Σ_(i,j) A_ijc v_i v_j) / (spread² √d).

Beside an affine part such forms carry what the Taylor series of a function of many small coordinates has next: its
second derivatives, where these are sparse. The second Taylor coefficient along v is Q(v).
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from prism.derivatives.directions import Sparse
from prism.networks.lifts.groups import (
    Along,
    Coefficients,
    Group,
    Recipe,
    ResidualGradients,
    Responses,
    common_interval,
    of_polynomial,
)
from prism.networks.lifts.parts import Quadratic
from prism.networks.modulation import Modulation
from prism.numerics.damped_systems import small_solutions
from prism.problem.domains import Domain
from prism.shapes import Hidden, Point


class LearnedForms(Group):
    """Channels that are read out by q(μ), as affine ones are. Both kinds of entries start at zero."""

    part: Quadratic = eqx.field(static=True)
    squares: Float[Array, "d channels"]
    """D."""
    products: Float[Array, "pairs channels"]
    """A."""
    dimension: int = eqx.field(static=True)
    centre: float = eqx.field(static=True)
    unit: float = eqx.field(static=True)

    @staticmethod
    def create(part: Quadratic, domain: Domain) -> "LearnedForms":
        part.check_places(domain.dimension)
        low, high = common_interval(part, domain)
        empty = LearnedForms(
            part,
            jnp.zeros((domain.dimension, part.channels)),
            jnp.zeros((0, part.channels)),
            domain.dimension,
            (low + high) / 2,
            domain.spread,
        )
        return eqx.tree_at(lambda forms: forms.products, empty, jnp.zeros((len(empty.pairs), part.channels)))

    @property
    def channels(self) -> int:
        return self.part.channels

    @property
    def modulated(self) -> tuple[int, ...]:
        return ()

    @property
    def distinct_factors(self) -> bool:
        return True

    @property
    def workspace(self) -> int:
        """A gradient of each channel, and as many adjoints."""
        return 2 * self.channels * (self.dimension + len(self.pairs))

    @property
    def by_slopes(self) -> tuple[str, ...]:
        return "squares", "products"

    @property
    def pairs(self) -> Int[np.ndarray, "pairs 2"]:
        """The coordinates of every product."""
        if self.part.groups is not None:
            return np.asarray(self.part.groups)
        first = [np.arange(count) for _, count in self._offsets]
        pairs = [
            np.stack([i, (i + k) % self.dimension], axis=1) for i, (k, _) in zip(first, self._offsets, strict=True)
        ]
        return np.concatenate([np.zeros((0, 2), int), *pairs])

    @property
    def _offsets(self) -> list[tuple[int, int]]:
        """How far apart neighbours lie, and how many pairs there are of each distance: each pair once, also where a
        window reaches half around."""
        d, distances = self.dimension, range(1, self.part.window)
        if not self.part.periodic:
            return [(k, d - k) for k in distances]
        return [(k, d // 2 if 2 * k == d else d) for k in distances if 2 * k <= d]

    @property
    def recipe(self) -> Recipe:
        numbers = {"centre": self.centre, "dimension": self.dimension, "scale": self.scale}
        arrays = {"pairs": jnp.asarray(self.pairs), "squares": self.squares, "products": self.products}
        return Recipe("quadratic", numbers, arrays)

    def __call__(self, x: Point, modulations: Sequence[Modulation]) -> Hidden:
        return self._form(x[: self.dimension] - self.centre)

    def _form(self, offset: Float[Array, "d"]) -> Hidden:
        """Q of a displacement from the centre."""
        first, second = self._sides(offset)
        return self.scale * ((offset * offset) @ self.squares + (first * second) @ self.products)

    @property
    def scale(self) -> float:
        """1/(spread² √d): d terms of order one and of either sign then add up to order one."""
        return 1.0 / (self.unit**2 * self.dimension**0.5)

    def _sides(self, vector: Float[Array, "... d"]) -> tuple[Float[Array, "... pairs"], Float[Array, "... pairs"]]:
        """The two coordinates of every pair; slices where these are neighbours, which are faster than a gather."""
        if self.part.groups is not None:
            first, second = self.pairs.T
            return vector[..., first], vector[..., second]
        none = vector[..., :0]
        first = [vector[..., :count] for _, count in self._offsets]
        second = [jnp.roll(vector, -k, axis=-1)[..., :count] for k, count in self._offsets]
        return jnp.concatenate([none, *first], axis=-1), jnp.concatenate([none, *second], axis=-1)

    def along(self, x: Point, modulations: Sequence[Modulation], along: Along) -> Coefficients:
        directions = along.decomposition.directions
        first = directions.through(self.jacobian(x, modulations))
        if along.order == 1:
            return of_polynomial(along, first)
        if along.has_top and along.order == 2:
            return Coefficients((first,), self._half_trace(along))
        return of_polynomial(along, first, self._seconds(along))

    def _half_trace(self, along: Along) -> Hidden:
        """Σ_j w_j Q(v_j): ½ Tr(SSᵀD²z) where the v_j stand for the whole space."""
        single, pairs = jnp.arange(self.dimension)[:, None], jnp.asarray(self.pairs)
        local = along.decomposition.directions.local
        own, both = local(single), local(pairs)
        if own is None or both is None:
            return along.decomposition.weights @ self._seconds(along)
        of_squares = jnp.broadcast_to(jnp.sum(own[..., 0] ** 2, axis=0), (self.dimension,))
        of_products = jnp.broadcast_to(jnp.sum(both[..., 0] * both[..., 1], axis=0), (len(pairs),))
        return self.scale * (of_squares @ self.squares + of_products @ self.products)

    def _seconds(self, along: Along) -> Float[Array, "n channels"]:
        """Q(v_j) of every direction."""
        directions = along.decomposition.directions
        if isinstance(directions, Sparse) and directions.indices.shape[1] == 1:
            inside = (directions.indices < self.dimension) * directions.values**2
            return self.scale * inside * self.squares[jnp.minimum(directions.indices[:, 0], self.dimension - 1)]
        return jax.vmap(self._form)(directions.dense(self.dimension))

    def slope_step(
        self, points: Float[Array, "N coordinates"], p: Responses, slopes: ResidualGradients, damping: float
    ) -> tuple[tuple[Array, Array], ResidualGradients]:
        """A least-squares problem of as many unknowns as channels for every entry. To leading order

            ∂_i r_n = Σ_c p_nc (2 D_ic v_ni + Σ_j A_ijc v_nj) · scale,     p = ∂r/∂z,  v the displacement.

        Coordinates of a point are nearly uncorrelated, so the normal equations are nearly block diagonal: every entry
        is solved alone, all from the same slopes.
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
    mean_diagonal = jnp.mean(jnp.trace(matrix)) / channels
    added = (damping * mean_diagonal + jnp.finfo(matrix.dtype).tiny) * jnp.eye(channels, dtype=matrix.dtype)
    return -small_solutions(matrix + added[:, :, None], target).T
