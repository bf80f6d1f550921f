"""What a family without an exact solution knows at one point: a table over the parameters, made of references."""

from collections.abc import Sequence

import numpy as np

from prism.problem.family import Family
from prism.solution.explorer import chebyshev
from prism.solution.explorer.chebyshev import Interval
from prism.solution.explorer.subject import mu_of, trained_ends, uniform_of
from prism.solution.explorer.tables import FINE, table_content
from prism.solution.slices import Axis

NODES = {1: 12, 2: 7, 3: 5}
"""For each parameter, by the number of parameters; with more than three the page shows no reference."""
CHECKED = 8
"""μ at which the table is compared with the references."""


def reference_on(family: Family, axes: Sequence[Axis]) -> dict[str, object] | None:
    """The references at the first of the known points, if it lies on a plane of the slices."""
    space, domain = family.parameters, family.domain
    if family.has_exact or not family.has_known_values or space.size not in NODES:
        return None
    variables = [Interval(*side) for side in trained_ends(space).T.tolist()]
    counts = [NODES[space.size]] * space.size
    low, high = trained_ends(space)
    held_out = mu_of(space, np.random.default_rng(0).uniform(low, high, (CHECKED, space.size)))
    nodes = mu_of(space, chebyshev.grid(counts, variables))
    found = family.known_values(np.concatenate([nodes, held_out]))
    point, values = np.asarray(found.points[0], np.float64), np.asarray(found.values[:, 0], np.float64)
    where = _where(point, np.asarray(domain.centre(), np.float64), axes, domain.dimension)
    if where is None or not np.all(np.isfinite(values)):
        return None
    table = chebyshev.interpolating(values[: len(nodes)].reshape(counts), variables, FINE.tolerance)
    missed = table(uniform_of(space, held_out)) - values[len(nodes) :]
    return {
        "space": where,
        "time": None if domain.time_horizon is None else float(point[-1]),
        **table_content(table, FINE),
        "uncertainty": float(np.max(np.abs(found.uncertainties)) + np.max(np.abs(missed))),
    }


def _where(point: np.ndarray, centre: np.ndarray, axes: Sequence[Axis], dimension: int) -> dict[int, float] | None:
    """Where a point lies on a plane of the slices: the coordinates, at most two, that are not at the centre."""
    moved = np.flatnonzero(point[:dimension] != centre[:dimension])
    numbers = {axis.index: number for number, axis in enumerate(axes)}
    if len(moved) > 2 or any(int(index) not in numbers for index in moved):
        return None
    return {numbers[int(index)]: float(point[index]) for index in moved}
