"""Functions that only JAX can run, on all planes of the offered coordinates, as tables for programs without it.

The variables of a table are the number of the plane, its two coordinates from −1 to 1, time where there is time, and
the parameters in the coordinate in which their law is uniform.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.solution.explorer.chebyshev import Index, Interval, Table, Untabulated, Variable, tabulated
from prism.solution.explorer.packing import packed
from prism.solution.explorer.places import Places, planes
from prism.solution.explorer.subject import Ends, Subject, mu_of
from prism.solution.prediction import PairFunction
from prism.solution.slices import Axis


@dataclass(frozen=True)
class Quality:
    """How exact a table is made, relative to the function's size (at each μ by itself, or over all of them), and in
    which precision it is kept."""

    tolerance: float
    precision: type[np.floating]
    at_each_mu: bool


FINE = Quality(1e-9, np.float64, at_each_mu=False)
"""Of the parts that u is made of: one of them may vanish at some μ."""
COARSE = Quality(1e-7, np.float32, at_each_mu=True)
"""Of what u is compared with."""
SINGLE_DOWN_TO = 0.1
"""A function that is smaller at some μ, relative to its size at others, is kept in double precision."""
LARGEST_ERROR = 1e-3
"""A table that misses more, relative to the function's size, is of no use."""


def table_on(function: PairFunction, subject: Subject, axes: Sequence[Axis], quality: Quality) -> dict[str, Any]:
    """For all μ that the sliders reach or, where the function has no table there, for the trained box."""
    *wider, least = subject.reaches
    for ends in wider:
        with contextlib.suppress(Untabulated):
            return {"everywhere": True, **_table_over(ends, function, subject, axes, quality)}
    return {"everywhere": not wider, **_table_over(least, function, subject, axes, quality)}


def _table_over(
    ends: Ends, function: PairFunction, subject: Subject, axes: Sequence[Axis], quality: Quality
) -> dict[str, Any]:
    """For μ between these ends."""
    family, chosen = subject.family, planes(axes)
    plane, horizon = len(chosen[0]), family.domain.time_horizon
    variables: list[Variable] = [Index(len(chosen)), *[Interval(-1.0, 1.0)] * plane]
    variables += [] if horizon is None else [Interval(0.0, horizon)]
    moving = len(variables)
    variables += [Interval(low, high) for low, high in ends.T.tolist()]

    def at(rows: np.ndarray) -> np.ndarray:
        numbers, mu = np.asarray(chosen)[rows[:, 0].astype(int)], mu_of(family.parameters, rows[:, moving:])
        return Places.of(family, axes, numbers, rows[:, 1:moving], mu).ask(function, family)

    table = tabulated(at, variables, 1 + plane, quality.tolerance, grouped=ends.shape[1] if quality.at_each_mu else 0)
    if not table.error <= LARGEST_ERROR:  # an error that is not a number is none either
        raise Untabulated(f"cannot be tabulated to better than {table.error:.0e} of its size")
    return {"planes": [list(plane) for plane in chosen], "error": table.error, **table_content(table, quality)}


def table_content(table: Table, quality: Quality) -> dict[str, Any]:
    """The numbers of a table; a variable that counts has no interval."""
    sides = [[v.low, v.high] if isinstance(v, Interval) else None for v in table.variables]
    precision = quality.precision if table.smallest > SINGLE_DOWN_TO else np.float64
    return {"intervals": sides, "cores": [packed(core.astype(precision)) for core in table.cores]}
