"""Equations in time whose solution is a function of |x|² and t, recognised before training and given a lift of these.

If the residual of every u(|x|², t) is itself a function of |x|², t and μ, and so is what the constraint prescribes, a
network of |x|² and t loses nothing, whatever the dimension. A random network of that kind shows it: its residual does
not change when the points are reflected at a random plane. A family may also name quadratic forms of its own
(`Family.norms`). Without time, `find_structure` does the same.
"""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.derivatives.directions import Gradients
from prism.derivatives.estimators import Gram
from prism.networks.lifts.parts import Norm, Parts, Time
from prism.networks.model import Architecture, Model
from prism.numerics.compilation import RUNS_ONCE, on_cpu
from prism.numerics.keys import Purpose, child, items, stream
from prism.numerics.precision import in_double_precision
from prism.objective.estimation import takes_gram
from prism.objective.residuals import residual, span_width
from prism.problem.family import Family
from prism.problem.forms import QuadraticForm
from prism.problem.structure import SAME, reflected
from prism.problem.terms import draw_directions, place_at, sample_pair
from prism.shapes import Key
from prism.solving.settings import Settings, architecture_for

POINTS = 4
ROUNDING = 1e3 * SAME
"""Relative change of the residual under a turn that is rounding."""


def with_norms(
    family: Family,
    settings: Settings,
    tell: Callable[[str], None] = lambda line: None,
    keep_estimator: bool = False,
    keep_activation: bool = False,
) -> Settings | None:
    """The settings with a network of norms and t, where the equation in time allows it; None elsewhere."""
    if family.domain.time_horizon is None or not takes_gram(family) or family.conditions:
        return None  # what conditions prescribe need not be a function of norms
    if family.norms:
        tell("the family names quadratic forms for its lift: it is made of these and time")
    elif is_radial(family, settings.seed):
        tell("the equation depends on |x| and t alone: the lift is |x|², its logarithm, and time")
    else:
        return None
    architecture = architecture_for(norm_lift(family), settings.architecture)
    if keep_activation:
        architecture = replace(architecture, activation=settings.architecture.activation)
    return replace(settings, architecture=architecture, estimator=settings.estimator if keep_estimator else Gram())


def norm_lift(family: Family) -> Parts:
    """|x|², also on a logarithmic scale, or the norms that a family names, and t."""
    norms = [norm_of(form) for form in family.norms] or [Norm(), Norm(logarithmic=True)]
    return Parts((*norms, Time()))


def norm_of(form: QuadraticForm) -> Norm:
    """The part of a lift with one channel s(x)."""
    numbers = lambda array: None if array is None else tuple(np.asarray(array, float).tolist())
    return Norm(numbers(form.diagonal), numbers(form.neighbours))


def is_radial(family: Family, seed: int) -> bool:
    """Whether reflecting the points leaves the residual of a random network of |x|² and t as it is."""
    if family.domain.dimension < 2:
        return False
    with jax.enable_x64(True):
        compared = jax.jit(lambda key: _residuals(in_double_precision(family), key), compiler_options=on_cpu(RUNS_ONCE))
        values, moved = (np.asarray(found) for found in compared(stream(seed, Purpose.CHECK)))
    size = float(np.max(np.abs(values)))
    return 0.0 < size < float("inf") and float(np.max(np.abs(moved - values))) < ROUNDING * size


def _residuals(family: Family, key: Key) -> tuple[Float[Array, "points"], Float[Array, "points"]]:
    """The residuals of a random network at some points, and at the same points reflected."""
    architecture = Architecture(Norm() + Time(), width=4, depth=2, generator_width=4, generator_depth=1)
    model = Model.create(architecture, family.domain, family.parameters, child(key, Purpose.MODEL))
    points, parameters = jax.vmap(lambda k: sample_pair(family, k))(items(child(key, Purpose.QUERIES), POINTS))
    place = place_at(family, points[0], parameters[0], Gradients.unknown(points.shape[1], span_width(model, family)))
    draws = draw_directions(family, Gram(), place, child(key, Purpose.DIRECTIONS))
    both = jnp.stack([points, reflected(points, family.domain.dimension, child(key, Purpose.ORIENTATION))])
    at = lambda pair: residual(model, family, draws, *pair)
    found = jax.lax.map(lambda xs: jax.lax.map(at, (xs, parameters)), both)
    return found[0], found[1]
