"""From data to μ.

y_i = u(x_i; μ) + ε_i,     ε_i ~ N(0, variance),     variance = noise² + (surrogate's error)²
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import overload

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import ndtri, stdtrit

from prism.errors import FailedRun
from prism.inversion.conclusions import Fitted, conclude
from prism.inversion.estimate import Estimate
from prism.inversion.fitting import minimise, spread
from prism.inversion.misfit import Misfit, Prior, SolutionMisfit
from prism.inversion.observations import Assumptions, Observations
from prism.inversion.profiles import Likelihood
from prism.inversion.surrogate import Physics, Surrogate, typical_size
from prism.problem.parameters import ParameterSpace
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

    Takes one data set or several, and gives an `Estimate` for each: the best fit, 95 % intervals, and what the data
    leave open. `noise` is the standard deviation of the values (None: estimated from the misfit), `model_error` the
    solution's relative L2 error, `physics` the weight of the equation's own residual, `starts` the number of searches;
    `Assumptions` says more.
    """
    assumptions = Assumptions(noise, model_error, physics, starts)
    alone = isinstance(observations, Observations)
    many, family = [observations] if alone else list(observations), solution.family
    for data in many:
        data.check_against(family.domain, family.parameters.size + (noise is None))
    size = float(typical_size(solution))
    if not np.isfinite(size):
        raise FailedRun("u of this solution is not finite over the trained space; nothing can be inferred through it")
    estimates = [conclude(fit(solution, data, assumptions, size)) for data in many]
    for estimate in estimates:
        estimate.check_finite()
    return estimates[0] if alone else estimates


def fit(solution: Solution, data: Observations, assumptions: Assumptions, size: float) -> Fitted:
    """The searches from every start through a solution whose values are of this `size`, and the likelihood they give.

    A prior is weighed by the variance that a search without it has found, so there are two.
    """
    space = solution.family.parameters
    rounding = ROUNDING * float(jnp.finfo(jnp.zeros(()).dtype).eps)
    model_deviation = size * float(np.hypot(assumptions.model_error, rounding))
    misfit = SolutionMisfit(Surrogate.create(solution, data.points), data.values)
    fitted = search(misfit, space, spread(assumptions.starts, space.size), assumptions.noise, model_deviation)
    if assumptions.physics == 0.0:
        return fitted
    weight = (assumptions.physics * fitted.likelihood.variance) ** 0.5
    misfit = replace(misfit, prior=Prior(Physics.create(solution, data.points), weight))
    return search(misfit, space, fitted.fits.s, assumptions.noise, model_deviation)


def search(
    misfit: Misfit,
    space: ParameterSpace,
    starts: Float[np.ndarray, "m p"],
    noise: float | None,
    model_deviation: float,
) -> Fitted:
    """A search from each start, and the likelihood of what they found.

    Where the noise is not given, the errors of the best fit show it and the surrogate's deviation together.
    """
    fits, freedom = minimise(misfit, starts), misfit.observations - space.size
    shown = fits.best_data_cost(misfit.observations) / freedom if noise is None else noise**2 + model_deviation**2
    variance = max(shown, model_deviation**2)
    tail = (1.0 + LEVEL) / 2.0
    quantile = float(stdtrit(freedom, tail) if noise is None else ndtri(tail))
    likelihood = Likelihood(misfit, variance, float(fits.costs[fits.best]), quantile)
    return Fitted(space, noise, model_deviation, fits, likelihood)
