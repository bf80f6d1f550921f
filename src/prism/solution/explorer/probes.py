"""Random places on the planes of the slices, and what the solution is there."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from prism.networks.model import Model
from prism.numerics.keys import Purpose, child, items, stream
from prism.problem.family import Family
from prism.solution.explorer.fields import planes
from prism.solution.limits import Limits
from prism.solution.prediction import PointFunction, at_points, exact, value
from prism.solution.slices import Axis

Content = dict[str, Any]
PROBES = 64
"""Values of the live solution that the page compares its own with."""


@dataclass(frozen=True)
class Subject:
    """The solution that a page shows."""

    model: Model
    family: Family
    limits: Limits


def random_pairs(
    family: Family, axes: Sequence[Axis], count: int
) -> tuple[list[dict[int, float]], np.ndarray, np.ndarray]:
    """Random places on the planes of the slices, as values by coordinate and as points, and parameters."""
    generator = np.random.default_rng(0)
    domain, cycle = family.domain, itertools.cycle(planes(axes))
    keys = items(child(stream(0, Purpose.CHECK), Purpose.PARAMETERS), count)
    mu = np.asarray(jax.vmap(family.parameters.sample)(keys), np.float64)
    places, points = [], np.repeat(np.asarray(domain.centre(), np.float64)[None], count, axis=0)
    for point, plane in zip(points, cycle, strict=False):
        radius = domain.ball_radius
        reach = 1.0 if radius is None else 1.0 / len(plane) ** 0.5
        place = {}
        for number in plane:
            axis = axes[number]
            middle, half = (axis.low + axis.high) / 2, reach * (axis.high - axis.low) / 2
            point[axis.index] = middle + half * generator.uniform(-1.0, 1.0)
            place[number] = float(point[axis.index])
        if domain.time_horizon is not None:
            point[-1] = domain.time_horizon * generator.uniform()
        places.append(place)
    return places, points, mu


def probes_on(subject: Subject, wide: Subject, axes: Sequence[Axis]) -> Content:
    """Values of the solution and of the exact one at random places of the slices, in double precision, in which the
    page computes; and how far the solution in its own precision is from them."""
    family, timed = wide.family, wide.family.domain.time_horizon is not None
    places, points, mu = random_pairs(family, axes, PROBES)
    live = np.asarray(_at(value, subject, points, mu), np.float64)
    found = {"u": _at(value, wide, points, mu), "exact": np.full(PROBES, np.nan)}
    if family.has_exact:
        found["exact"] = _at(exact, wide, points, mu)
    size = np.sqrt(np.mean(found["u"] ** 2)) or 1.0
    probes = [
        {
            "space": place,
            "time": float(point[-1]) if timed else None,
            "mu": m.tolist(),
            "u": float(u),
            "exact": float(e),
        }
        for place, point, m, u, e in zip(places, points, mu, found["u"], found["exact"], strict=True)
    ]
    return {"probes": probes, "size": float(size), "rounding": float(np.max(np.abs(live - found["u"])) / size)}


def _at(function: PointFunction, subject: Subject, points: np.ndarray, mu: np.ndarray) -> np.ndarray:
    dtype = subject.model.lift.weight.dtype
    asked = (jnp.asarray(some, dtype) for some in (points, mu))
    return np.asarray(at_points(function, subject.model, subject.family, *asked), np.float64)
