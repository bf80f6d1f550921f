"""Errors where a solution is known at some points only, for parameters never trained on.

The trivial answer is N = 0: what constraint and background of the family say without a network. The μ-blind one is the
mean over the parameters of the known values at each point.
"""

from dataclasses import replace

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
from prism.solution.evaluation import PARAMETERS, Answers, Evaluation, compare


def evaluate_known(model: Model, family: Family, key: Key) -> Evaluation:
    """Errors and baselines at the points where the family knows its solution, for 100 held-out parameters."""
    parameters = jax.vmap(family.parameters.sample)(items(child(key, Purpose.PARAMETERS), PARAMETERS))
    known = family.known_values(np.asarray(parameters))
    points = jnp.asarray(known.points, dtype=float)
    predicted = _values(lambda x, mu: solution_value(model, family, x, mu), points, parameters)
    trivial = _values(lambda x, mu: constrained_value(family, jnp.zeros(()), x, mu), points, parameters)
    blind = np.broadcast_to(np.mean(known.values, axis=0), known.values.shape)
    index = np.repeat(np.arange(PARAMETERS), len(points))
    columns = [answer.reshape(-1) for answer in (known.values, predicted, trivial, blind)]
    answers = Answers(*columns, affine=None, index=index)
    found = compare(answers, np.asarray(parameters), family.parameters.names, "what the family knows beforehand")
    uncertainty = float(np.sum(known.uncertainties) / np.sum(np.abs(known.values)))
    return replace(found, points=len(points), reference_uncertainty=uncertainty)


def _values(at, points: Array, parameters: Array) -> np.ndarray:
    """The function of every parameter and point, in double precision from there on."""
    over_points = jax.vmap(at, in_axes=(0, None))
    return np.asarray(jax.jit(lambda: jax.lax.map(lambda mu: over_points(points, mu), parameters))(), np.float64)
