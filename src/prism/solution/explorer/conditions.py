"""What makes u of the network, and what u is compared with: in closed form, or as tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from prism.errors import PrismError
from prism.problem.constraints import Free, VanishingOnSphere
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace
from prism.solution.explorer import fields
from prism.solution.explorer.chebyshev import Untabulated
from prism.solution.explorer.known import known_on
from prism.solution.explorer.probes import Places
from prism.solution.explorer.trust_map import BEYOND
from prism.solution.prediction import PointFunction, at_places, exact
from prism.solution.slices import Axis

Content = dict[str, Any]
TRIED = 16
"""Points at which it is tried whether a part of a constraint is there at all."""


def conditions_on(family: Family, axes: Sequence[Axis]) -> Content:
    """The constraint and, where there is one, the exact solution."""
    constraint = family.constraint()
    if isinstance(constraint, Free | VanishingOnSphere) and not family.has_background:
        closed = constraint if isinstance(constraint, VanishingOnSphere) else None
        form: Content = {"radius": closed and closed.radius, "power": closed and closed.power}
        form |= {"factor": None, "offset": None, "error": 0.0}
    else:
        form = {"radius": None, "power": None, "error": 0.0}
        for name, function, usual in (("factor", fields.factor, 1.0), ("offset", fields.offset, 0.0)):
            form[name] = None
            if _is_constant(function, family, axes, usual):
                continue
            try:
                form[name] = _table(function, family, axes, fields.FINE)
            except Untabulated as error:
                raise PrismError(
                    f"no page can show this solution: the {name} of its constraint, u = factor·N + offset, {error}"
                ) from error
    truth, why = None, None
    if family.has_exact:
        try:
            truth = _table(exact, family, axes, fields.COARSE)
        except Untabulated as error:
            why = f"the exact solution {error}, and is left out"
    return {"constraint": form, "exact": truth, "without_exact": why, "known": known_on(family, axes)}


def _table(function: PointFunction, family: Family, axes: Sequence[Axis], tolerance: float) -> Content:
    """Over all that the sliders reach or, where the function has no table there, over the trained box."""
    space = family.parameters
    low, high = (np.asarray(end, np.float64) for end in space.uniform_box())
    try:
        return fields.on_planes(function, family, axes, list(zip(*reach(space).tolist(), strict=True)), tolerance)
    except Untabulated:
        return fields.on_planes(function, family, axes, list(zip(low.tolist(), high.tolist(), strict=True)), tolerance)


def _is_constant(function: PointFunction, family: Family, axes: Sequence[Axis], constant: float) -> bool:
    """Whether a function of the constraint is this number wherever it is tried."""
    places = Places.random(family, axes, TRIED)
    return bool(np.all(at_places(function, None, family, places.indices, places.values, places.mu) == constant))


def reach(space: ParameterSpace) -> np.ndarray:
    """The ends of the sliders in the uniform coordinate."""
    low, high = (np.asarray(end, np.float64) for end in space.uniform_box())
    return np.stack([low - BEYOND * (high - low), high + BEYOND * (high - low)])
