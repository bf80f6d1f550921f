"""Linear channels whose matrix is shared by blocks of coordinates (the paper's section 5.9):

    z = y V + b,     y_i = Σ_j w_j x_{iB+j},     that is  W[iB+j] = w_j V[i],

with d/B rows of V and B numbers w instead of d rows. Time, where there is one, has a row of its own.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from prism.derivatives.directions import Sparse
from prism.networks.lifts.groups import Along, Coefficients, Group, Recipe, ResidualGradients, Responses, of_polynomial
from prism.networks.lifts.parts import Blocks
from prism.networks.modulation import Modulation
from prism.numerics.damped_systems import damped_pseudoinverse
from prism.numerics.keys import Purpose, children
from prism.problem.domains import Domain
from prism.shapes import Hidden, Key, Point


class BlockChannels(Group):
    """z = pooled(x) V + b."""

    part: Blocks = eqx.field(static=True)
    pattern: Float[Array, "size"]
    """w."""
    weight: Float[Array, "rows channels"]
    """V."""
    bias: Float[Array, "channels"]
    dimension: int = eqx.field(static=True)

    @staticmethod
    def create(part: Blocks, domain: Domain, key: Key) -> "BlockChannels":
        """Entries of the whole matrix with the variance of a dense one's, 1/coordinates."""
        pattern_key, weight_key, bias_key = children(key, Purpose.ORIENTATION, Purpose.WEIGHTS, Purpose.LIFT_BIAS)
        rows = -(-domain.dimension // part.size) + (domain.coordinates - domain.dimension)
        return BlockChannels(
            part,
            jax.random.rademacher(pattern_key, (part.size,), dtype=float),
            jax.random.normal(weight_key, (rows, part.width)) / domain.coordinates**0.5,
            part.bias * jax.random.normal(bias_key, (part.width,)),
            domain.dimension,
        )

    @property
    def channels(self) -> int:
        return self.part.width

    @property
    def modulated(self) -> tuple[int, ...]:
        return ()

    @property
    def by_slopes(self) -> tuple[str, ...]:
        return "pattern", "weight"

    @property
    def blocks(self) -> int:
        """How many there are, the last one perhaps not full."""
        return -(-self.dimension // self.part.size)

    @property
    def workspace(self) -> int:
        return self.dimension

    @property
    def recipe(self) -> Recipe:
        arrays = {"pattern": self.pattern, "weight": self.weight, "bias": self.bias}
        return Recipe("blocks", {"dimension": self.dimension}, arrays)

    def __call__(self, x: Point, modulations: Sequence[Modulation]) -> Hidden:
        return self.pooled(x) @ self.weight + self.bias

    def pooled(self, vector: Point) -> Float[Array, "rows"]:
        """y: Σ_j w_j x_{iB+j} of every block, and time."""
        blocks = self.in_blocks(vector) @ self.pattern
        return jnp.concatenate([blocks, vector[self.dimension :]])

    def in_blocks(self, vector: Point) -> Float[Array, "blocks size"]:
        """The space coordinates, block by block; the last is filled up with zeros."""
        space, size = vector[: self.dimension], self.part.size
        return jnp.pad(space, (0, -self.dimension % size)).reshape(-1, size)

    def along(self, x: Point, modulations: Sequence[Modulation], along: Along) -> Coefficients:
        """A linear function has no coefficient beyond the first."""
        directions = along.decomposition.directions
        if isinstance(directions, Sparse):
            first = jnp.einsum("ns,nsh->nh", directions.values, self.rows(directions.indices))
        else:
            first = directions.through(self.matrix)
        return of_polynomial(along, first)

    def rows(self, indices: Int[Array, "*n"]) -> Float[Array, "*n channels"]:
        """W of these coordinates."""
        size, is_time = self.part.size, indices >= self.dimension
        row = jnp.where(is_time, self.blocks + indices - self.dimension, indices // size)
        return jnp.where(is_time, 1.0, self.pattern[indices % size])[..., None] * self.weight[row]

    @property
    def matrix(self) -> Float[Array, "coordinates channels"]:
        """W."""
        whole = (self.pattern[None, :, None] * self.weight[: self.blocks, None]).reshape(-1, self.channels)
        return jnp.concatenate([whole[: self.dimension], self.weight[self.blocks :]])

    def slope_step(
        self, points: Float[Array, "N coordinates"], p: Responses, slopes: ResidualGradients, damping: float
    ) -> tuple[tuple[Array, Array], ResidualGradients]:
        """−(∇r)ᵀ (P Pᵀ + λI)⁻¹ P, projected on w and on V, half of it each (of time, whose row is its own, all)."""
        solution = damped_pseudoinverse(p, damping)
        w, v = self.pattern, self.weight[: self.blocks]
        in_blocks, there = jax.vmap(self.in_blocks)(slopes), self.in_blocks(jnp.ones(self.dimension, w.dtype))
        pooled = 0.5 * (in_blocks @ w) / (there @ (w * w))[None]
        of_weight = -jnp.concatenate([pooled, slopes[:, self.dimension :]], axis=1).T @ solution
        of_pattern = -0.5 * jnp.einsum("nbj,nb->j", in_blocks, solution @ v.T) / (there.T @ jnp.sum(v * v, axis=1))
        by_weight, by_pattern = (p @ of_weight[: self.blocks].T)[:, :, None], (p @ v.T)[:, :, None]
        moved = by_weight * w[None, None] + by_pattern * of_pattern[None, None]
        space, time = moved.reshape(len(p), -1)[:, : self.dimension], p @ of_weight[self.blocks :].T
        return (of_pattern, of_weight), slopes + jnp.concatenate([space, time], axis=1)
