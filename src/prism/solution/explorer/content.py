"""Everything that a page holds, as JSON: the network behind the lift, slices of it, what is known of the truth, and
trust."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from prism.errors import InputError
from prism.numerics.precision import in_double_precision
from prism.problem.docstrings import docstring
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace
from prism.solution.explorer.conditions import conditions_on, reach
from prism.solution.explorer.packing import packed
from prism.solution.explorer.probes import Subject, probes_on
from prism.solution.explorer.restriction import Slice, restricted
from prism.solution.explorer.trust_map import steps, trust_map
from prism.solution.export import described, network_obstacle, numpy_weights
from prism.solution.slices import Axis, axis_of
from prism.solution.trust import Calibration

FORMAT = 1
FEW, MANY, LARGE = 4, 3, 20_000
"""How many coordinates are offered unless some are named: fewer in dimensions beyond the last number."""
MOST_COORDINATES = 8
AGREEMENT = 1e-5
"""Of the solution's size: by so much the page's values may differ from ours."""

Content = dict[str, Any]
Tell = Callable[[], None]


def usual_coordinates(family: Family) -> list[str]:
    """The first, the last and some in between."""
    d = family.domain.dimension
    count = min(d, FEW if d <= LARGE else MANY)
    numbers = range(1, d + 1) if d <= FEW else [1, 2, *([d // 2] if count > MANY else []), d]
    return [f"x{number}" for number in numbers]


def axes_named(family: Family, names: Sequence[str]) -> list[Axis]:
    """The coordinates of space by name; time, where it is named, is there anyhow."""
    axes = [axis_of(family.domain, name) for name in dict.fromkeys(names)]
    space = [axis for axis in axes if axis.index < family.domain.dimension]
    if not 1 <= len(space) <= MOST_COORDINATES:
        raise InputError(f"{len(space)} coordinates are named; a page shows 1 to {MOST_COORDINATES}, such as x1 x2 x17")
    return space


def work(family: Family, names: Sequence[str]) -> int:
    """How often `content` tells that it has gone on."""
    return steps(family.parameters.size) + 1


def content(
    subject: Subject,
    calibrate: Callable[[], Calibration],
    names: Sequence[str],
    remarks: Sequence[str],
    tell: Tell,
    served: bool = False,
) -> Content:
    """What the page reads; `tell` is called as the work goes on."""
    if obstacle := network_obstacle(subject.model):
        raise InputError(f"no page can show this solution: {obstacle}")
    found = slices(subject, names, tell)
    known = trust_map(subject.model, subject.family, calibrate(), tell)
    return {
        **network_content(subject),
        "remarks": [*remarks, *_remarks(found, known)],
        "slices": found,
        "trust": known,
        "agreement": AGREEMENT,
        "most_coordinates": MOST_COORDINATES,
        "served": served,
    }


def network_content(subject: Subject) -> Content:
    """What does not depend on the coordinates: the family, its parameters and all of the network but its lift."""
    model, family, space = subject.model, subject.family, subject.family.parameters
    arrays = {name: array for name, array in numpy_weights(model).items() if not name.startswith(("lift_", "group_"))}
    low, high = (np.asarray(end, np.float64).tolist() for end in space.uniform_box())
    nodes, weights = space.quadrature()
    region, tuned_at = family.domain.region, subject.limits.tuned_at
    return {
        "format": FORMAT,
        "family": type(family).__name__,
        "equation": docstring(type(family))[0],
        "dimension": family.domain.dimension,
        "parameters": _parameters(space),
        "tuned_at": None if tuned_at is None else [tuned_at[name] for name in space.names],
        "network": {
            **described(model),
            "modulated": len(model.generator.widths),
            "low": low,
            "high": high,
            "arrays": {name: packed(array) for name, array in arrays.items()},
        },
        "quadrature": {"nodes": np.asarray(nodes).tolist(), "weights": np.asarray(weights).tolist()},
        "region": {"norm": region.norm, "horizon": region.horizon},
        "region_in_words": region.describe(),
        "ball_radius": family.domain.ball_radius,
    }


def _remarks(found: Content, known: Content) -> list[str]:
    """What of the page is approximate, and by how much."""
    said = [
        "u is computed in double precision; in its own the solution differs from that by "
        f"{found['rounding']:.0e} of its size"
    ]
    constraint = found["constraint"]
    tables = {
        "the factor of the hard condition": constraint["factor"],
        "its offset": constraint["offset"],
        "the exact solution": found["exact"],
    }
    for what, table in tables.items():
        if table is not None:
            said.append(f"{what} is a table that misses it by {table['error']:.0e} of its size at most")
    if known["residual"] is not None:
        part = known["interpolation_error"]
        said.append(f"residuals are interpolated between some μ, within {100 * part:.1g} % where it was tried")
    return said


def _parameters(space: ParameterSpace) -> list[Content]:
    """The trained interval of each parameter, and how far its slider reaches."""
    ends = np.asarray(space.from_uniform_coordinate(jnp.asarray(reach(space))), np.float64)
    middle = np.asarray(space.middle(), np.float64)
    sides = zip(space.names, space.lows, space.highs, ends[0], ends[1], middle, strict=True)
    keys = ("name", "low", "high", "from", "to", "start")
    return [dict(zip(keys, [side[0], *map(float, side[1:])], strict=True)) for side in sides]


def slices(subject: Subject, names: Sequence[str], tell: Tell) -> Content:
    """All that depends on which coordinates are offered."""
    family, axes = subject.family, axes_named(subject.family, names)
    domain = family.domain
    base = np.asarray(domain.centre(), np.float64)
    timed = domain.time_horizon is not None
    cut = Slice(base, (*[axis.index for axis in axes], *([domain.coordinates - 1] if timed else [])))
    coordinate = lambda axis: {
        "name": f"x{axis.index + 1}", "low": axis.low, "high": axis.high, "base": float(base[axis.index])
    }  # fmt: skip
    with jax.enable_x64(True):
        wide_model, wide_family = in_double_precision((subject.model, family))
        lift = restricted(wide_model.lift, cut)
        known = conditions_on(wide_family, axes)
        tell()
        probes = probes_on(subject, Subject(wide_model, wide_family, subject.limits), axes)
    return {
        "coordinates": [coordinate(axis) for axis in axes],
        "time": _time(family, float(base[-1])),
        "others": domain.dimension - len(axes),
        "squared_norm": float(np.sum(base[: domain.dimension] ** 2)),
        "lift": lift,
        **known,
        **probes,
    }


def _time(family: Family, base: float) -> Content | None:
    """The interval of time, and where the page begins: the time that is asked for, where the domain has one."""
    horizon = family.domain.time_horizon
    if horizon is None:
        return None
    start = getattr(family.domain, "passing_time", base)
    return {"low": 0.0, "high": horizon, "base": base, "start": float(start)}
