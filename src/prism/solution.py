"""The trained artifact: u(x; μ) for any point and any parameter of the family."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.evaluation import Evaluation, evaluate
from prism.families.family import Family
from prism.networks.model import Model
from prism.residuals import solution_value
from prism.streams import EVALUATION, stream


class Solution(eqx.Module):
    """u(x; μ): call it with points and named parameters.

    `solution(x, mu1=0.7, mu2=1.2)` for one point or a batch of them; each parameter a number or one a point.
    """

    model: Model
    family: Family

    def __call__(self, x: Array, **parameters: float | Array) -> Float[Array, "..."]:
        points = jnp.asarray(x, dtype=float)
        coordinates = self.family.domain.coordinates
        if points.ndim not in (1, 2) or points.shape[-1] != coordinates:
            raise InputError(
                f"points of shape {points.shape} do not fit; give ({coordinates},) or (number, {coordinates})"
            )
        mu = self._parameters(points.shape[:-1], parameters)
        return _predict_one(self, points, mu) if points.ndim == 1 else _predict(self, points, mu)

    def evaluate(self, seed: int = 0, points: int | None = None) -> Evaluation:
        """Errors and baselines on held-out points and parameters, where the family knows its exact solution."""
        return evaluate(self.model, self.family, stream(seed, EVALUATION), points)

    def _parameters(self, shape: tuple[int, ...], parameters: dict) -> Float[Array, "... p"]:
        space = self.family.parameters
        space.array(**dict.fromkeys(parameters, 0.0))
        sides = [jnp.asarray(parameters[name], dtype=float) for name in space.names]
        wrong = [name for name, side in zip(space.names, sides, strict=True) if side.shape not in ((), shape)]
        if wrong:
            raise InputError(f"{', '.join(wrong)}: give one number, or one for each of the {shape} points")
        return jnp.stack([jnp.broadcast_to(side, shape) for side in sides], axis=-1)


@eqx.filter_jit
def _predict_one(solution: Solution, x: Array, mu: Array) -> Array:
    return solution_value(solution.model, solution.family, x, mu)


@eqx.filter_jit
def _predict(solution: Solution, points: Array, mu: Array) -> Array:
    return jax.vmap(lambda x, m: solution_value(solution.model, solution.family, x, m))(points, mu)
