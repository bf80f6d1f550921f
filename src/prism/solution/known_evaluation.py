"""Errors where a solution is known at some points only, for parameters never trained on.

The trivial answer is N = 0: what constraint and background of the family say without a network. The μ-blind one is the
mean over the parameters of the known values at each point.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prism.networks.model import Model
from prism.numerics.keys import Purpose, child, items
from prism.objective.residuals import solution_value
from prism.problem.family import Family
from prism.problem.terms import constrained_value
from prism.shapes import Key
from prism.solution.evaluation import (
    PARAMETERS,
    VANISHING,
    Evaluation,
    ParameterError,
    largest_error,
    relative_l2,
    standard_error,
)


def evaluate_known(model: Model, family: Family, key: Key) -> Evaluation:
    """Errors and baselines at the points where the family knows its solution, for 100 held-out parameters."""
    parameters = jax.vmap(family.parameters.sample)(items(child(key, Purpose.PARAMETERS), PARAMETERS))
    known = family.known_values(np.asarray(parameters))
    points = jnp.asarray(known.points, dtype=float)
    predicted = _values(lambda x, mu: solution_value(model, family, x, mu), points, parameters)
    trivial = _values(lambda x, mu: constrained_value(family, jnp.zeros(()), x, mu), points, parameters)
    exact, error = known.values, predicted - known.values
    blind = np.mean(exact, axis=0, keepdims=True) - exact
    blind_error, l2 = relative_l2(blind, exact), relative_l2(error, exact)
    rows = zip(np.asarray(parameters), exact, error, trivial - exact, blind, strict=True)
    return Evaluation(
        points=len(points),
        parameters=PARAMETERS,
        relative_l2=l2,
        relative_l2_standard_error=standard_error(error**2, exact**2),
        relative_l1=float(np.sum(np.abs(error)) / np.sum(np.abs(exact))),
        trivial_error=relative_l2(trivial - exact, exact),
        mu_blind_error=blind_error,
        affine_error=None,
        skill=l2 / blind_error if blind_error > VANISHING else None,
        by_parameter=tuple(_at_parameter(family, *row) for row in rows),
        largest_error=largest_error(error, exact),
        reference_uncertainty=float(np.sum(known.uncertainties) / np.sum(np.abs(exact))),
    )


def _values(at, points: Array, parameters: Array) -> np.ndarray:
    """The function of every parameter and point, in double precision from there on."""
    over_points = jax.vmap(at, in_axes=(0, None))
    return np.asarray(jax.jit(lambda: jax.lax.map(lambda mu: over_points(points, mu), parameters))(), np.float64)


def _at_parameter(
    family: Family, mu: np.ndarray, exact: np.ndarray, error: np.ndarray, trivial: np.ndarray, blind: np.ndarray
) -> ParameterError:
    named = {name: float(value) for name, value in zip(family.parameters.names, mu, strict=True)}
    return ParameterError(named, relative_l2(error, exact), relative_l2(trivial, exact), relative_l2(blind, exact))
