"""Functions of a family on the planes of a slice, as tables: what only JAX can compute, for where JAX is not.

On a plane two of the coordinates move, and the others are at the base. The variables of a table are the number of the
plane, its two coordinates from −1 to 1, time where there is time, and the parameters in the coordinate in which their
law is uniform.
"""

import itertools
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from prism.problem.family import Family
from prism.problem.terms import constrained_value
from prism.shapes import Parameter, Point, Scalar
from prism.solution.explorer.chebyshev import Table, Untabulated, tabulated
from prism.solution.explorer.packing import packed
from prism.solution.prediction import PointFunction, at_places
from prism.solution.slices import Axis

FINE, COARSE = 1e-9, 1e-7
"""Tolerances of tables: of what u is made of, and of what it is compared with. What they miss is measured."""
LARGEST_ERROR = 1e-3
"""A table that misses more, relative to the function's size, is left out."""


def offset(model: None, family: Family, x: Point, mu: Parameter) -> Scalar:
    """u where N = 0."""
    return constrained_value(family, jnp.zeros(()), x, mu)


def factor(model: None, family: Family, x: Point, mu: Parameter) -> Scalar:
    """u of N = 1 beyond that of N = 0."""
    return constrained_value(family, jnp.ones(()), x, mu) - offset(None, family, x, mu)


def planes(axes: Sequence[Axis]) -> list[tuple[int, ...]]:
    """Every pair of the coordinates, by their places among the axes; of one coordinate its line."""
    numbers = range(len(axes))
    return list(itertools.combinations(numbers, 2)) if len(axes) > 1 else [(0,)]


def on_planes(
    function: PointFunction, family: Family, axes: Sequence[Axis], box: Sequence[tuple[float, float]], tolerance: float
) -> dict[str, object]:
    """The table of a function on all planes; `box` holds the intervals of the parameters."""
    chosen, horizon = planes(axes), family.domain.time_horizon
    moving = len(chosen[0])
    times = [] if horizon is None else [(0.0, horizon)]
    variables = [len(chosen), *[(-1.0, 1.0)] * moving, *times, *box]
    at = lambda rows: at_places(function, None, family, *_placed(rows, family, axes, chosen))
    table = tabulated(at, variables, 1 + moving, tolerance)
    if not table.error <= LARGEST_ERROR:
        raise Untabulated(f"is missed by a table of it by {table.error:.0e} of its size")
    return _content(table, chosen, np.float64 if tolerance == FINE else np.float32)


def _content(table: Table, chosen: list[tuple[int, ...]], precision: type[np.floating]) -> dict[str, object]:
    return {
        "planes": [list(plane) for plane in chosen],
        "intervals": [None if isinstance(variable, int) else list(variable) for variable in table.variables],
        "cores": [packed(core.astype(precision)) for core in table.cores],
        "error": table.error,
    }


def _placed(
    rows: np.ndarray, family: Family, axes: Sequence[Axis], chosen: list[tuple[int, ...]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of rows of a table's variables: which coordinates they move, where to, and μ."""
    domain, moving = family.domain, len(chosen[0])
    timed = int(domain.time_horizon is not None)
    which = np.asarray(chosen)[rows[:, 0].astype(int)]
    low, high = (np.asarray([getattr(axis, end) for axis in axes])[which] for end in ("low", "high"))
    values = (low + high) / 2 + (high - low) / 2 * rows[:, 1 : 1 + moving]
    indices = np.asarray([axis.index for axis in axes])[which]
    times, last = rows[:, 1 + moving : 1 + moving + timed], np.full((len(rows), timed), domain.coordinates - 1)
    mu = family.parameters.from_uniform_coordinate(jnp.asarray(rows[:, 1 + moving + timed :]))
    return np.concatenate([indices, last], axis=1), np.concatenate([values, times], axis=1), np.asarray(mu)
