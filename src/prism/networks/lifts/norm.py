"""|x|² and its kin, in closed form:  Σ_i w_i (x_i + t v_i)² = s + 2t Σ_i w_i x_i v_i + t² Σ_i w_i v_i²."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from prism.errors import InputError
from prism.networks.lifts.groups import Along, Coefficients, Group, of_polynomial
from prism.networks.lifts.parts import Norm
from prism.networks.modulation import Modulation
from prism.problem.domains import Domain
from prism.shapes import Hidden, Point


class SquaredNorm(Group):
    """z = (Σ_i w_i x_i² − mean) / spread over the space coordinates."""

    part: Norm = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    mean: float = eqx.field(static=True)
    spread: float = eqx.field(static=True)

    @staticmethod
    def create(part: Norm, domain: Domain) -> "SquaredNorm":
        weights = np.ones(domain.dimension) if part.weights is None else np.asarray(part.weights, dtype=float)
        if weights.shape != (domain.dimension,) or not np.all(np.isfinite(weights)) or not np.any(weights):
            raise InputError(
                f"weights of a norm: give {domain.dimension} finite numbers, one for each coordinate, not all zero"
            )
        low, high = domain.bounds
        mean = ((low + high) ** 2 / 4 + domain.spread**2) * weights.sum()
        spread = domain.norm_spread * domain.spread**2 * np.abs(weights).sum()
        return SquaredNorm(part, domain.dimension, float(mean), float(spread))

    @property
    def channels(self) -> int:
        return 1

    @property
    def modulated(self) -> tuple[int, ...]:
        return ()

    @property
    def workspace(self) -> int:
        return self.dimension

    def diagonal(self, coordinates: int) -> Point:
        """w, with nothing for time."""
        given = self.part.weights
        weights = jnp.ones(self.dimension) if given is None else jnp.asarray(given)
        return jnp.pad(weights, (0, coordinates - self.dimension))

    def __call__(self, x: Point, modulations: Sequence[Modulation]) -> Hidden:
        squared = jnp.sum(self.diagonal(x.shape[0]) * x * x)
        return (squared[None] - self.mean) / self.spread

    def along(self, x: Point, modulations: Sequence[Modulation], along: Along) -> Coefficients:
        directions, diagonal = along.decomposition.directions, self.diagonal(x.shape[0])
        first = 2.0 * directions.through((diagonal * x)[:, None]) / self.spread
        if along.order == 1:
            return of_polynomial(along, first)
        if along.has_top and along.order == 2:
            second = directions.weighted_trace(along.decomposition.weights, diagonal) / self.spread
            return Coefficients((first,), second[None])
        return of_polynomial(along, first, directions.weighted_squares(diagonal)[:, None] / self.spread)
