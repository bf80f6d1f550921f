"""From data to μ.

y_i = u(x_i; μ) + ε_i,     ε_i ~ N(0, variance),     variance = noise² + (surrogate's error)²
"""

from collections.abc import Sequence
from typing import overload

import jax.numpy as jnp
import numpy as np
from scipy.special import ndtri, stdtrit

from prism.inversion.conclusions import Fitted, conclude
from prism.inversion.estimate import Estimate
from prism.inversion.fitting import Fits, Misfit, Prior, minimise, spread
from prism.inversion.observations import Assumptions, Observations
from prism.inversion.profiles import Likelihood
from prism.inversion.surrogate import Physics, Surrogate, typical_size
from prism.solution.solution import Solution

LEVEL = 0.95
ROUNDING = 16.0
"""The surrogate's rounding, in units of the machine's, relative to the size of u."""


@overload
def invert(
    solution: Solution,
    observations: Observations,
    *,
    noise: float | None = None,
    model_error: float = 0.0,
    physics: float = 0.0,
    starts: int = 16,
) -> Estimate: ...


@overload
def invert(
    solution: Solution,
    observations: Sequence[Observations],
    *,
    noise: float | None = None,
    model_error: float = 0.0,
    physics: float = 0.0,
    starts: int = 16,
) -> list[Estimate]: ...


def invert(
    solution: Solution,
    observations: Observations | Sequence[Observations],
    *,
    noise: float | None = None,
    model_error: float = 0.0,
    physics: float = 0.0,
    starts: int = 16,
) -> Estimate | list[Estimate]:
    """μ from noisy values at scattered points: `prism.invert(solution, prism.Observations(points, values))`.

    One estimate for each data set, or for the only one. The options are those of `Assumptions`.
    """
    assumptions = Assumptions(noise, model_error, physics, starts)
    alone = isinstance(observations, Observations)
    many, family = [observations] if alone else list(observations), solution.family
    for data in many:
        data.check_against(family.domain, family.parameters.size + (noise is None))
    size = float(typical_size(solution))
    estimates = [conclude(fit(solution, data, assumptions, size)) for data in many]
    return estimates[0] if alone else estimates


def fit(solution: Solution, data: Observations, assumptions: Assumptions, size: float) -> Fitted:
    """The searches from every start, and the likelihood they belong to; `size` is that of u."""
    space = solution.family.parameters
    freedom, noise = data.count - space.size, assumptions.noise
    rounding = ROUNDING * float(jnp.finfo(jnp.zeros(()).dtype).eps)
    model_deviation = size * float(np.hypot(assumptions.model_error, rounding))

    def variance(fits: Fits) -> float:
        """Where the noise is not given, what the residual shows of it and of the surrogate's error together."""
        shown = fits.data_costs(data.count)[fits.best] / freedom if noise is None else noise**2 + model_deviation**2
        return float(max(shown, model_deviation**2))

    misfit = Misfit(Surrogate.create(solution, data.points), data.values)
    fits = minimise(misfit, spread(assumptions.starts, space.size))
    if assumptions.physics > 0.0:
        weight = (assumptions.physics * variance(fits)) ** 0.5
        misfit = Misfit(misfit.surrogate, data.values, Prior(Physics.create(solution, data.points), weight))
        fits = minimise(misfit, fits.s)
    tail = (1.0 + LEVEL) / 2.0
    quantile = float(stdtrit(freedom, tail) if noise is None else ndtri(tail))
    likelihood = Likelihood(misfit, variance(fits), float(fits.costs[fits.best]), quantile)
    return Fitted(space, data.count, noise, model_deviation, fits, likelihood)
