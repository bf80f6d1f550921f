"""Everything that a page holds, as JSON: the network behind the lift, the subspace of the offered coordinates, what is
known of the truth, and trust."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from prism.errors import FailedRun, InputError
from prism.numerics.precision import in_double_precision
from prism.numerics.steps import WorkBar
from prism.numerics.texts import shortened
from prism.problem.docstrings import docstring
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace
from prism.solution.explorer.constraint import constraint_on, exact_on
from prism.solution.explorer.packing import packed
from prism.solution.explorer.page import FORMAT, Page
from prism.solution.explorer.places import Places
from prism.solution.explorer.reference import reference_on
from prism.solution.explorer.subject import Subject, mu_of, slider_ends, trained_ends
from prism.solution.explorer.subspace import Subspace, restricted
from prism.solution.explorer.trust_map import reports, trust_map
from prism.solution.export import network_layout, network_obstacle, numpy_weights
from prism.solution.prediction import exact, value
from prism.solution.slices import Axis, axis_of
from prism.solution.trust import Calibration

ALL_UP_TO = 4
"""So few coordinates are all offered, unless some are named."""
WITHOUT_MIDDLE = 20_000
"""Beyond this dimension the middle coordinate is not offered: its planes cost too much."""
MOST_COORDINATES = 8
LONGEST_REGION = 120
"""Characters of what is said of the domain."""
PROBES = 64
"""Values of the solution that the page compares its own with."""
AGREEMENT = 1e-5
"""Of the solution's size: by so much the page's values may differ from ours."""

Content = dict[str, Any]


def explored(
    subject: Subject,
    calibrate: Callable[[], Calibration],
    names: Sequence[str] | None,
    remarks: Sequence[str],
    progress: bool = True,
    served: bool = False,
) -> Page:
    """The page of a solution over the named coordinates, or the usual ones. `remarks` are told in it; a page that is
    `served` can ask for other coordinates."""
    if obstacle := network_obstacle(subject.model):
        raise InputError(f"no page can show this solution: {obstacle}")
    chosen = usual_coordinates(subject.family) if names is None else list(names)
    axes_named(subject.family, chosen)
    with WorkBar("exploring", reports(subject) + 1, progress) as tell:
        space = subspace_content(subject, chosen)
        tell()
        trust = trust_map(subject, calibrate(), tell)
    return Page(
        {
            **network_content(subject),
            "parameters": sliders(subject.family.parameters, space["constraint"]),
            "remarks": [*remarks, *_approximations(space, trust)],
            "slices": space,
            "trust": trust,
            "agreement": AGREEMENT,
            "most_coordinates": MOST_COORDINATES,
            "served": served,
        }
    )


def usual_coordinates(family: Family) -> list[str]:
    """The first two, one in the middle, the last."""
    d = family.domain.dimension
    few, more = range(1, d + 1), [1, 2, d // 2, d] if d <= WITHOUT_MIDDLE else [1, 2, d]
    return [f"x{number}" for number in (few if d <= ALL_UP_TO else more)]


def axes_named(family: Family, names: Sequence[str]) -> list[Axis]:
    """The coordinates of space by name; time, where it is named, is there anyhow."""
    axes = [axis_of(family.domain, name) for name in dict.fromkeys(names)]
    space = [axis for axis in axes if axis.index < family.domain.dimension]
    if not 1 <= len(space) <= MOST_COORDINATES:
        raise InputError(f"{len(space)} coordinates are named; a page shows 1 to {MOST_COORDINATES}, such as x1 x2 x17")
    return space


def network_content(subject: Subject) -> Content:
    """What does not depend on the coordinates: the family, its parameters and all of the network but its lift."""
    model, family, space = subject.model, subject.family, subject.family.parameters
    arrays = {name: array for name, array in numpy_weights(model).items() if not name.startswith(("lift_", "group_"))}
    low, high = trained_ends(space).tolist()
    with jax.enable_x64(True):
        nodes, weights = (np.asarray(some).tolist() for some in space.quadrature())
    region, tuned_at = family.domain.region, subject.tuned_at
    return {
        "format": FORMAT,
        "family": type(family).__name__,
        "equation": docstring(type(family))[0],
        "dimension": family.domain.dimension,
        "tuned_at": None if tuned_at is None else tuned_at.tolist(),
        "network": {
            **network_layout(model),
            "modulated": len(model.generator.widths),
            "low": low,
            "high": high,
            "arrays": {name: packed(array) for name, array in arrays.items()},
        },
        "quadrature": {"nodes": nodes, "weights": weights},
        "region": {"norm": region.norm, "horizon": region.horizon},
        "region_in_words": shortened(region.describe(), LONGEST_REGION),
        "ball_radius": family.domain.ball_radius,
    }


def subspace_content(subject: Subject, names: Sequence[str]) -> Content:
    """All that depends on which coordinates are offered; in double precision, in which the page computes."""
    family, axes = subject.family, axes_named(subject.family, names)
    domain = family.domain
    base = np.asarray(domain.centre(), np.float64)
    time = [] if domain.time_horizon is None else [domain.coordinates - 1]
    with jax.enable_x64(True):
        wide = Subject(*in_double_precision((subject.model, family)), subject.limits)
        return {
            "coordinates": [
                {"name": f"x{axis.index + 1}", "low": axis.low, "high": axis.high, "base": float(base[axis.index])}
                for axis in axes
            ],
            "time": _time(family, float(base[-1])),
            "others": domain.dimension - len(axes),
            "squared_norm": float(np.sum(base[: domain.dimension] ** 2)),
            "lift": restricted(wide.model.lift, Subspace(base, (*[axis.index for axis in axes], *time))),
            "constraint": constraint_on(wide, axes),
            **exact_on(wide, axes),
            "reference": reference_on(wide.family, axes),
            **_probes(wide, axes),
            "rounding": _rounding(subject, wide, axes),
        }


def sliders(space: ParameterSpace, constraint: Content) -> list[Content]:
    """The trained interval of each parameter, how far its slider reaches (beyond the box only where the hard constraint
    exists there), and where it starts."""
    parts = [constraint[name] for name in ("factor", "offset") if constraint[name] is not None]
    ends = slider_ends(space) if all(part["everywhere"] for part in parts) else trained_ends(space)
    sides = mu_of(space, np.stack([*ends, trained_ends(space).mean(axis=0)])).T.tolist()
    trained = zip(space.names, space.lows, space.highs, sides, strict=True)
    return [
        {"name": name, "low": float(low), "high": float(high), "from": first, "to": last, "start": middle}
        for name, low, high, (first, last, middle) in trained
    ]


def _time(family: Family, base: float) -> Content | None:
    """The interval of time, and where the page begins: the time that is asked for, where the domain has one."""
    horizon = family.domain.time_horizon
    if horizon is None:
        return None
    return {"low": 0.0, "high": horizon, "base": base, "start": float(getattr(family.domain, "passing_time", base))}


def _probes(wide: Subject, axes: Sequence[Axis]) -> Content:
    """Values of the solution and of the exact one at random points, and the root mean square of the first."""
    places = Places.random(wide, axes, PROBES)
    u, truth = places.ask(eqx.Partial(value, wide.model, wide.family), wide.family), np.full(PROBES, np.nan)
    if wide.family.has_exact:
        truth = places.ask(eqx.Partial(exact, wide.family), wide.family)
    if not np.all(np.isfinite(u)):
        raise FailedRun("no page can show this solution: it is not finite at points of its planes")
    values = [{"u": one, "exact": other} for one, other in zip(u.tolist(), truth.tolist(), strict=True)]
    probes = [question | found for question, found in zip(places.as_json(), values, strict=True)]
    return {"probes": probes, "size": float(np.sqrt(np.mean(u**2))) or 1.0}


def _rounding(subject: Subject, wide: Subject, axes: Sequence[Axis]) -> float:
    """How far the solution in its own precision is from itself in double precision, relative to its size."""
    places = Places.random(wide, axes, PROBES)
    precise = places.ask(eqx.Partial(value, wide.model, wide.family), wide.family)
    with jax.enable_x64(bool(subject.model.level.dtype == np.float64)):
        own = places.ask(eqx.Partial(value, subject.model, subject.family), subject.family)
    return float(np.max(np.abs(own - precise)) / (np.sqrt(np.mean(precise**2)) or 1.0))


def _approximations(space: Content, trust: Content) -> list[str]:
    """What of the page is approximate, and by how much."""
    said = [
        "u is computed in double precision; in its own the solution differs from that by "
        f"{space['rounding']:.0e} of its size"
    ]
    constraint = space["constraint"]
    tables = {
        "the factor of the hard constraint": constraint["factor"],
        "the offset of the hard constraint": constraint["offset"],
        "the exact solution": space["exact"],
    }
    for what, table in tables.items():
        if table is not None:
            said.append(f"{what} is a table that misses it by {table['error']:.0e} of its size at most")
    if not all(table["everywhere"] for table in tables.values() if table is not None):
        said.append("a table ends with the trained box, for the function is not known everywhere beyond it")
    if trust["residual"] is not None:
        percent = 100.0 * trust["interpolation_error"]
        shown = f"{percent:.1g}" if percent < 9.5 else f"{percent:.0f}"
        said.append(f"residuals are interpolated between some μ, within {shown} % where it was tried")
    return said
