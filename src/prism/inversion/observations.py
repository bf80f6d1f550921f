"""What is given: values y_i = u(x_i; μ) + noise, all under one unknown μ, and what is known of them."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.numerics.arguments import shown
from prism.problem.domains import Domain


class Observations(eqx.Module):
    """One data set: `Observations(points, values)` with one point per row and one value per point."""

    points: Float[Array, "..."] = eqx.field(converter=lambda given: jnp.asarray(_numbers("points", given), float))
    values: Float[np.ndarray, "..."] = eqx.field(converter=lambda given: _numbers("values", given))

    def __check_init__(self):
        points, values = self.points.shape, self.values.shape
        if len(points) != 2 or len(values) != 1 or points[0] != values[0]:
            raise InputError(
                f"points of shape {points} and values of shape {values} are no observations; "
                "give (number, coordinates) and (number,)"
            )
        if not len(self.values):
            raise InputError("no observations were given; give at least as many as there are parameters")
        finite = np.isfinite(self.values) & np.asarray(jnp.all(jnp.isfinite(self.points), axis=1))
        if not finite.all():
            wrong = np.flatnonzero(~finite)
            more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
            rows = ", ".join(str(row) for row in wrong[:5])
            raise InputError(f"observations that are not finite, in row {rows}{more} (from 0); leave them out")

    @property
    def count(self) -> int:
        """The number of values."""
        return len(self.values)

    def check_against(self, domain: Domain, unknowns: int) -> None:
        """Refuse points of another dimension, and fewer values than `unknowns`."""
        if self.points.shape[1] != domain.coordinates:
            raise InputError(f"points of {self.points.shape[1]} coordinates; this solution has {domain.coordinates}")
        if self.count < unknowns:
            raise InputError(f"too few observations: {self.count}, where {unknowns} or more are needed")


def _numbers(name: str, given: Any) -> Float[np.ndarray, "..."]:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} of observations is {shown(given)}; give an array of numbers") from error


@dataclass(frozen=True)
class Assumptions:
    """What is known besides the data.

    `noise`: standard deviation of the values; None to estimate it from the residual. `model_error`: the solution's
    relative L2 error (`solution.evaluate().relative_l2`), added to the noise in quadrature. `physics`: weight of the
    equation's own scaled residual at the points, a prior against μ where the surrogate does not solve the equation.
    `starts`: searches, spread over the parameter space.
    """

    noise: float | None = None
    model_error: float = 0.0
    physics: float = 0.0
    starts: int = 16

    def __post_init__(self):
        if self.noise is not None and not 0.0 < self.noise < np.inf:
            raise InputError(f"a noise of {self.noise:g} is none; give its standard deviation, or leave it out")
        for name, value in (("model_error", self.model_error), ("physics", self.physics)):
            if not 0.0 <= value < np.inf:
                raise InputError(f"{name} is {value:g}; give 0 or a positive number")
        if self.starts < 1:
            raise InputError(f"{self.starts} starts find nothing; give 1 or more")
