"""u_t = u_rr + (d − 1)/r u_r + f(u)  on 0 ≤ r ≤ R, and  u_t = u_xx + f(u)  on an interval: the method of lines.

Central differences on an equal grid, u mirrored at r = 0, where the operator is d·u_rr, and at the far ends, which lie
so many standard deviations √(2t) away that they are not felt. The error of such differences is a series in h², so three
grids, each twice as fine as the one before, give two steps of Richardson's extrapolation:

    u = (16 E(h/2) − E(h)) / 15,     E(h) = (4 u_{h/2} − u_h) / 3,     uncertainty |u − E(h/2)|.

A cross-check of other methods for d up to about 100; in time the error is that of LSODA, kept far below.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.integrate import solve_ivp

from prism.errors import FailedRun, InputError
from prism.references.reference import Reference

Function = Callable[[np.ndarray], np.ndarray]

CELLS = 100
REACH = 10.0
"""Standard deviations of the diffusion beyond which nothing is felt."""
RELATIVE, ABSOLUTE = 1e-11, 1e-13
"""Tolerances of one step in time."""
IN_TIME = 1e-9
"""Relative uncertainty for all steps in time together."""


def radial_differences(
    dimension: int,
    initial: Function,
    reaction: Function,
    time: float,
    squared_norm: float = 0.0,
    cells: int = CELLS,
) -> Reference:
    """u at |x|² = `squared_norm` and `time`; `initial` is a function of s = |x|²; `cells` those of the coarsest grid.

    >>> solution = radial_differences(3, lambda s: 5 / (10 + 2 * s), np.sin, 0.3)
    >>> round(solution.value, 5), solution.uncertainty < 1e-6
    (0.51038, True)
    """
    _check(dimension, time, cells)
    radius = math.sqrt(squared_norm)
    end = radius + math.sqrt(2.0 * time) * (math.sqrt(dimension) + REACH)
    steps_to_point = round(cells * radius / end)
    if radius > 0.0 and steps_to_point == 0:
        raise InputError(
            f"no grid of {cells} cells has a point at |x| = {radius:g}; give {math.ceil(end / radius)} cells"
        )
    spacing = radius / steps_to_point if steps_to_point else end / cells

    def value(finer: int) -> float:
        r = spacing / finer * np.arange(math.ceil(end / spacing) * finer + 1)
        lines = _Lines(_radial_rows(r, dimension), reaction)
        return float(lines.evolved(initial(r * r), time)[steps_to_point * finer])

    return _extrapolated(value, f"central differences in r, {cells} to {4 * cells} cells")


def line_differences(initial: Function, reaction: Function, x: float, time: float, cells: int = CELLS) -> Reference:
    """u at x on the line and `time`; `initial` is a function of x; `cells` those of the coarsest grid on each side.

    >>> solution = line_differences(np.arctan, lambda u: u - u**3, 0.5, 0.3)
    >>> round(solution.value, 5), solution.uncertainty < 1e-6
    (0.41515, True)
    """
    _check(1, time, cells)
    end = REACH * math.sqrt(2.0 * time)

    def value(finer: int) -> float:
        places = x + end / (cells * finer) * np.arange(-cells * finer, cells * finer + 1)
        lines = _Lines(_plain_rows(places), reaction)
        return float(lines.evolved(initial(places), time)[cells * finer])

    return _extrapolated(value, f"central differences in x, {cells} to {4 * cells} cells on each side")


def _check(dimension: int, time: float, cells: int) -> None:
    if dimension < 1 or not time > 0.0 or cells < 4:
        raise InputError(f"dimension {dimension}, time {time:g}, {cells} cells; give at least 1, above 0, at least 4")


def _extrapolated(value: Callable[[int], float], method: str) -> Reference:
    """Richardson's extrapolation of values on grids 1, 2 and 4 times as fine."""
    coarse, middle, fine = value(1), value(2), value(4)
    once, again = (4.0 * middle - coarse) / 3.0, (4.0 * fine - middle) / 3.0
    best = (16.0 * again - once) / 15.0
    return Reference(best, abs(best - again) + IN_TIME * abs(best), method)


@dataclass(frozen=True)
class _Rows:
    """A tridiagonal operator whose rows add up to zero: lower·(u_{i−1} − u_i) + upper·(u_{i+1} − u_i)."""

    lower: Float[np.ndarray, "n"]
    upper: Float[np.ndarray, "n"]


def _plain_rows(places: Float[np.ndarray, "n"]) -> _Rows:
    """u_xx, mirrored at both ends."""
    rate = np.full(len(places), 1.0 / (places[1] - places[0]) ** 2)
    lower, upper = rate.copy(), rate.copy()
    lower[0], upper[0], lower[-1], upper[-1] = 0.0, 2.0 * rate[0], 2.0 * rate[0], 0.0
    return _Rows(lower, upper)


def _radial_rows(r: Float[np.ndarray, "n"], dimension: int) -> _Rows:
    """u_rr + (d − 1)/r u_r, at r = 0 its limit d·u_rr, mirrored at the far end."""
    rows = _plain_rows(r)
    drift = (dimension - 1) / (2.0 * r[1] * r[1:-1])
    rows.lower[1:-1] -= drift
    rows.upper[1:-1] += drift
    rows.upper[0] *= dimension
    return rows


@dataclass(frozen=True)
class _Lines:
    """u_i' = (rows u)_i + f(u_i)."""

    rows: _Rows
    reaction: Function

    def rate(self, time: float, u: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
        change = np.diff(u)
        found = np.array(self.reaction(u))
        found[:-1] += self.rows.upper[:-1] * change
        found[1:] -= self.rows.lower[1:] * change
        return found

    def evolved(self, start: Float[np.ndarray, "n"], time: float) -> Float[np.ndarray, "n"]:
        """u at `time`, by LSODA with a banded Jacobian."""
        options = {"rtol": RELATIVE, "atol": ABSOLUTE, "lband": 1, "uband": 1}
        run = solve_ivp(self.rate, (0.0, time), start, method="LSODA", t_eval=[time], **options)
        if not run.success:
            raise FailedRun(f"the method of lines failed: {run.message}")
        return run.y[:, -1]
