"""Random places on the planes of the slices, and what the solution is there."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from prism.networks.model import Model
from prism.numerics.keys import Purpose, child, items, stream
from prism.problem.family import Family
from prism.solution.explorer.fields import planes
from prism.solution.limits import Limits
from prism.solution.prediction import at_places, exact, value
from prism.solution.slices import Axis

PROBES = 64
"""Values of the live solution that the page compares its own with."""


@dataclass(frozen=True)
class Subject:
    """The solution that a page shows."""

    model: Model
    family: Family
    limits: Limits


@dataclass(frozen=True)
class Places:
    """Where coordinates of points are moved to from the base, and a μ for each: rows for `at_places`."""

    indices: Int[np.ndarray, "rows moving"]
    values: Float[np.ndarray, "rows moving"]
    mu: Float[np.ndarray, "rows p"]
    numbers: Int[np.ndarray, "rows plane"]
    """Which of the slice's coordinates the first of them are; behind them stands time, where there is time."""

    @staticmethod
    def random(family: Family, axes: Sequence[Axis], count: int) -> "Places":
        """On every plane in turn, inside the ball where the domain is one; μ as in training."""
        generator, domain = np.random.default_rng(0), family.domain
        numbers = np.asarray(list(itertools.islice(itertools.cycle(planes(axes)), count)))
        low, high, index = np.asarray([[axis.low, axis.high, axis.index] for axis in axes])[numbers].transpose(2, 0, 1)
        inside = 1.0 if domain.ball_radius is None else numbers.shape[1] ** -0.5
        values = (low + high) / 2 + inside * (high - low) / 2 * generator.uniform(-1.0, 1.0, numbers.shape)
        if domain.time_horizon is not None:
            values = np.column_stack([values, domain.time_horizon * generator.uniform(size=count)])
            index = np.column_stack([index, np.full(count, domain.coordinates - 1)])
        keys = items(child(stream(0, Purpose.CHECK), Purpose.PARAMETERS), count)
        mu = np.asarray(jax.vmap(family.parameters.sample)(keys), np.float64)
        return Places(index.astype(int), values, mu, numbers)

    def as_json(self) -> list[dict[str, object]]:
        """Questions, as the page asks them."""
        moving, timed = self.numbers.shape[1], self.values.shape[1] > self.numbers.shape[1]
        return [
            {
                "space": dict(zip(plane.tolist(), row[:moving].tolist(), strict=True)),
                "time": float(row[-1]) if timed else None,
                "mu": mu.tolist(),
            }
            for plane, row, mu in zip(self.numbers, self.values, self.mu, strict=True)
        ]


def probes_on(subject: Subject, wide: Subject, axes: Sequence[Axis]) -> dict[str, Any]:
    """Values of the solution and of the exact one at random places of the slices, in double precision, in which the
    page computes; and how far the solution in its own precision is from them."""
    places = Places.random(wide.family, axes, PROBES)
    where = places.indices, places.values, places.mu
    u, truth = at_places(value, wide.model, wide.family, *where), np.full(PROBES, np.nan)
    if wide.family.has_exact:
        truth = at_places(exact, None, wide.family, *where)
    live = at_places(value, subject.model, subject.family, *where)
    size = float(np.sqrt(np.mean(u**2))) or 1.0
    values = [{"u": one, "exact": other} for one, other in zip(u.tolist(), truth.tolist(), strict=True)]
    return {
        "probes": [question | found for question, found in zip(places.as_json(), values, strict=True)],
        "size": size,
        "rounding": float(np.max(np.abs(live - u))) / size,
    }
