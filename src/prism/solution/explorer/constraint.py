"""What makes u of the network, and what u is compared with: in closed form, or as tables."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from prism.errors import PrismError
from prism.problem.constraints import Free, VanishingOnSphere
from prism.problem.family import Family
from prism.problem.terms import constrained_value
from prism.shapes import Parameter, Point, Scalar
from prism.solution.explorer.chebyshev import Untabulated
from prism.solution.explorer.places import Places
from prism.solution.explorer.subject import Subject
from prism.solution.explorer.tables import COARSE, FINE, table_on
from prism.solution.prediction import PairFunction, exact
from prism.solution.slices import Axis

TRIED = 16
"""Points at which it is tried whether a part of a constraint is there at all."""


def offset(family: Family, x: Point, mu: Parameter) -> Scalar:
    """u where N = 0."""
    return constrained_value(family, jnp.zeros(()), x, mu)


def factor(family: Family, x: Point, mu: Parameter) -> Scalar:
    """u of N = 1 beyond that of N = 0."""
    return constrained_value(family, jnp.ones(()), x, mu) - offset(family, x, mu)


def constraint_on(subject: Subject, axes: Sequence[Axis]) -> dict[str, Any]:
    """u = factor·N + offset: the factor of a sphere by its formula, everything else that is there as a table."""
    family, constraint = subject.family, subject.family.constraint()
    found: dict[str, Any] = {"radius": None, "power": None, "factor": None, "offset": None}
    closed = type(constraint) in (Free, VanishingOnSphere)  # a subclass may have a formula of its own
    if closed and isinstance(constraint, VanishingOnSphere):
        found |= {"radius": constraint.radius, "power": constraint.power}
    if not closed:
        found["factor"] = _table_unless(1.0, factor, subject, axes)
    if family.has_background or not closed:
        found["offset"] = _table_unless(0.0, offset, subject, axes)
    return found


def _table_unless(neutral: float, function: Any, subject: Subject, axes: Sequence[Axis]) -> dict[str, Any] | None:
    """The table of a part of the constraint; none where it is this number, which changes nothing."""
    part: PairFunction = eqx.Partial(function, subject.family)
    if np.all(Places.random(subject, axes, TRIED).ask(part, subject.family) == neutral):
        return None
    try:
        return table_on(part, subject, axes, FINE)
    except Untabulated as error:
        name = function.__name__
        raise PrismError(f"no page can show this solution: the {name} of its hard constraint {error}") from error


def exact_on(subject: Subject, axes: Sequence[Axis]) -> dict[str, Any]:
    """The exact solution where the family knows it, or why it is left out."""
    if not subject.family.has_exact:
        return {"exact": None, "without_exact": None}
    try:
        return {"exact": table_on(eqx.Partial(exact, subject.family), subject, axes, COARSE), "without_exact": None}
    except Untabulated as error:
        return {"exact": None, "without_exact": f"The exact solution {error}, and is left out."}
