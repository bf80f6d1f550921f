"""The trained artifact: u(x; μ) for any point and any parameter of the family."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.networks.model import Model
from prism.numerics.chunks import CHUNK_NUMBERS
from prism.numerics.keys import EVALUATION, stream
from prism.objective.residuals import solution_value
from prism.problem.family import Family
from prism.shapes import Parameter, Point, Scalar
from prism.solution.evaluation import Evaluation, evaluate

if TYPE_CHECKING:
    from prism.networks.tunable import Part
    from prism.solution.trust import Trust

PointFunction = Callable[["Solution", Array, Array], Array]


class Solution(eqx.Module):
    """u(x; μ): call it with points and named parameters.

    `solution(x, mu1=0.7, mu2=1.2)` for one point or a batch of them; each parameter a number or one a point.
    """

    model: Model
    family: Family

    def __call__(self, x: Array, **parameters: float | Array) -> Float[Array, "..."]:
        return self._at_points(_value, x, parameters)

    def gradient(self, x: Array, **parameters: float | Array) -> Float[Array, "... coordinates"]:
        """∇ₓu at the points."""
        return self._at_points(_gradient, x, parameters)

    def sensitivity(self, x: Array, **parameters: float | Array) -> dict[str, Float[Array, "..."]]:
        """∂u/∂μ at the points, by the name of each parameter."""
        slopes = self._at_points(_sensitivity, x, parameters)
        return {name: slopes[..., index] for index, name in enumerate(self.family.parameters.names)}

    def outside(self, **parameters: float) -> list[str]:
        """The parameters that lie outside the space that was trained."""
        self.family.parameters.array(**parameters)
        bounds = self.family.parameters.bounds()
        return [name for name, value in parameters.items() if not bounds[name][0] <= value <= bounds[name][1]]

    def save(self, path: str | Path) -> None:
        """Write it as a directory, for `prism.load`."""
        from prism.solution.artifacts import save

        save(self, Path(path))

    def trust(self, **parameters: float) -> "Trust":
        """What speaks for and against it at one μ: `solution.trust(mu1=2.0, mu2=1.2)`. The first call calibrates."""
        from prism.solution.trust import trust

        return trust(self, self.family.parameters.array(**parameters))

    def fine_tune(
        self, *, seconds: float = 20.0, parts: "Sequence[Part] | None" = None, seed: int = 0, **parameters: float
    ) -> "Solution":
        """A solution for one μ, inside or outside the trained space: `solution.fine_tune(mu1=2.0, mu2=1.2)`.

        Residuals before and after are told by `prism.solution.tuning.fine_tune`.
        """
        from prism.solution.tuning import DEFAULT_PARTS, fine_tune

        mu = self.family.parameters.array(**parameters)
        return fine_tune(self, mu, DEFAULT_PARTS if parts is None else parts, seconds, seed).solution

    def export(self, path: str | Path, force: bool = False) -> dict[str, object]:
        """Write it as StableHLO and for NumPy alone, for where PRISM is not; returns how well both agree with it."""
        from prism.solution.export import export

        return export(self, Path(path), force)

    def _at_points(self, function: PointFunction, x: Array, parameters: dict) -> Array:
        """The function at every point, in chunks so that memory is bounded."""
        points = jnp.asarray(x, dtype=float)
        coordinates = self.family.domain.coordinates
        if points.ndim not in (1, 2) or points.shape[-1] != coordinates:
            raise InputError(
                f"points of shape {points.shape} do not fit; give ({coordinates},) or (number, {coordinates})"
            )
        mu = self._parameters(points.shape[:-1], parameters)
        if points.ndim == 1:
            return _one(self, function, points, mu)
        return _many(self, function, points, mu)

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


def _value(solution: Solution, x: Point, mu: Parameter) -> Scalar:
    return solution_value(solution.model, solution.family, x, mu)


def _gradient(solution: Solution, x: Point, mu: Parameter) -> Point:
    return jax.grad(lambda place: _value(solution, place, mu))(x)


def _sensitivity(solution: Solution, x: Point, mu: Parameter) -> Parameter:
    return jax.grad(lambda parameter: _value(solution, x, parameter))(mu)


@eqx.filter_jit
def _one(solution: Solution, function: PointFunction, x: Array, mu: Array) -> Array:
    return function(solution, x, mu)


@eqx.filter_jit
def _many(solution: Solution, function: PointFunction, points: Array, mu: Array) -> Array:
    chunk = max(1, min(points.shape[0], CHUNK_NUMBERS // points.shape[1]))
    return jax.lax.map(lambda pair: function(solution, *pair), (points, mu), batch_size=chunk)
