"""u_t = Δu + f(u),  u(x, 0) = g(|x|²):  the radial solution in any dimension d, by Laguerre polynomials.

For a value at (s*, t*), s = |x|², let T = t* + s*/2d and q = s / 2(T − t). Then U(q, t) = u solves

    (T − t) U_t = 2q U_qq + (d − q) U_q + (T − t) f(U),

whose linear part has the eigenvalues −n and the Laguerre polynomials L_n^{(d/2−1)}(q/2), orthogonal under the
chi-square law of q with d degrees of freedom. In orthonormal ones, p_n, the coefficients of U = Σ a_n p_n obey

    a_n' = −n a_n / (T − t) + <f(U), p_n>,

and u(s*, t*) = Σ a_n(t*) p_n at q = d. Without a reaction a_0 stays as it is, so that few modes and few moments of time
suffice, the fewer the larger d. The polynomials belong to the standardised variable (q − d)/√(2d), where nothing over-
or underflows at any d. Time is divided into panels; in each the equation holds at Chebyshev points (collocation), found
by Picard's iteration, which inverts the linear part.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh_tridiagonal

from prism.errors import FailedRun, InputError
from prism.references.reference import Reference

Function = Callable[[np.ndarray], np.ndarray]
Coefficients = Float[np.ndarray, "modes _"]

MODES = 48
PANELS = 2
TIME_NODES = 32
"""Chebyshev points in each panel."""
SMALLEST_WEIGHT = 1e-28
"""Nodes of less weight than this change no digit, and polynomials there are too large to be computed with."""
TOLERANCE = 1e-13
"""Picard's iteration stops at a change of this part of the largest coefficient."""
ITERATIONS = 200
ROUNDING = 1e-12
"""Relative uncertainty at least: what rounding leaves after so many sums."""


def radial_solutions(
    dimension: int,
    initial: Function,
    reaction: Function,
    time: float,
    squared_norm: float = 0.0,
    modes: int = MODES,
    panels: int = PANELS,
) -> list[Reference]:
    """u at |x|² = `squared_norm` and `time`; `initial` is g as a function of s, `reaction` is f.

    One value, or one for each of many parameters: then `reaction` (or `initial`) closes over arrays of one axis, and is
    called with arrays whose last axis has length one and broadcasts against those. The uncertainty is the change on
    halving the modes, plus that on halving the points in time.

    >>> (solution,) = radial_solutions(100, lambda s: 5 / (10 + 2 * s), np.sin, 0.3)
    >>> round(solution.value, 7), solution.uncertainty < 1e-9
    (0.0528094, True)
    >>> mu = np.array([0.8, 1.0, 1.2])
    >>> found = radial_solutions(100, lambda s: 5 / (10 + 2 * s), lambda u: mu * np.sin(u), 0.3)
    >>> [round(one.value, 4) for one in found]
    [0.0497, 0.0528, 0.0561]
    """
    _check(dimension, time, squared_norm, modes)
    horizon = time + squared_norm / (2.0 * dimension)
    value = lambda modes, nodes: _value(
        _laguerre(dimension, modes), initial, reaction, _Times(time, horizon, panels, nodes)
    )
    fine, fewer_modes, fewer_times = (
        value(modes, TIME_NODES),
        value(modes // 2, TIME_NODES),
        value(modes, TIME_NODES // 2),
    )
    uncertainty = np.abs(fine - fewer_modes) + np.abs(fine - fewer_times) + ROUNDING * np.abs(fine)
    method = f"Laguerre series of {modes} modes, {panels} x {TIME_NODES} points in time"
    return [Reference(float(u), float(error), method) for u, error in zip(fine, uncertainty, strict=True)]


def _check(dimension: int, time: float, squared_norm: float, modes: int) -> None:
    if dimension < 1:
        raise InputError(f"{dimension} is no dimension; give 1 or more")
    if not time > 0.0 or not squared_norm >= 0.0:
        raise InputError(f"no solution at time {time:g} and |x|² = {squared_norm:g}; give a time above 0 and |x|² ≥ 0")
    if modes < 4:
        raise InputError(f"{modes} modes tell no uncertainty; give 4 or more")


@dataclass(frozen=True)
class _Laguerre:
    """Orthonormal polynomials p_n (columns) at the nodes q of Gauss' rule for the chi-square law, and at q = d."""

    q: Float[np.ndarray, "nodes"]
    weights: Float[np.ndarray, "nodes"]
    polynomials: Float[np.ndarray, "nodes modes"]
    at_mean: Float[np.ndarray, "modes"]


def _laguerre(dimension: int, modes: int) -> _Laguerre:
    """Gauss' rule of twice as many nodes as modes: eigenvalues of the Jacobi matrix, weights 1 / Σ p_n²."""
    n, half = np.arange(2 * modes), dimension / 2.0
    diagonal, beside = 2.0 * n / math.sqrt(half), np.sqrt(n * (n + half - 1.0) / half)
    nodes, vectors = eigh_tridiagonal(diagonal, beside[1:])
    nodes = nodes[vectors[0] ** 2 > SMALLEST_WEIGHT]
    polynomials = _orthonormal(np.append(nodes, 0.0), diagonal, beside)
    weights = 1.0 / np.sum(polynomials[:-1] ** 2, axis=1)
    q = dimension + math.sqrt(2.0 * dimension) * nodes
    return _Laguerre(q, weights, polynomials[:-1, :modes], polynomials[-1, :modes])


def _orthonormal(
    z: Float[np.ndarray, "points"], diagonal: Float[np.ndarray, "n"], beside: Float[np.ndarray, "n"]
) -> Float[np.ndarray, "points n"]:
    """b_{n+1} p_{n+1} = (z − a_n) p_n − b_n p_{n−1} with p_0 = 1."""
    columns = [np.ones_like(z)]
    before = np.zeros_like(z)
    for n in range(len(diagonal) - 1):
        following = ((z - diagonal[n]) * columns[-1] - beside[n] * before) / beside[n + 1]
        before = columns[-1]
        columns.append(following)
    return np.stack(columns, axis=1)


@dataclass(frozen=True)
class _Times:
    """Panels of equal length from 0 to `end`, with Chebyshev points in each; `horizon` is T."""

    end: float
    horizon: float
    panels: int
    nodes: int

    def steps(self, modes: int) -> list["_Step"]:
        edges = np.linspace(0.0, self.end, self.panels + 1)
        return [self._step(low, high, modes) for low, high in itertools.pairwise(edges)]

    def _step(self, low: float, high: float, modes: int) -> "_Step":
        points, derivative = _chebyshev(self.nodes)
        left = self.horizon - (low + (high - low) * (points[1:] + 1.0) / 2.0)
        # The equation times T − t, so that it stays finite at T, where it says a_n = 0; a_0 has no such term.
        scale = np.stack([np.ones_like(left), *[left] * (modes - 1)])
        linear = scale[:, :, None] * derivative[1:] * (2.0 / (high - low))
        linear[:, :, 1:] += np.arange(modes)[:, None, None] * np.eye(len(left))
        inverse = np.linalg.inv(linear[:, :, 1:])
        return _Step(-(inverse @ linear[:, :, :1])[:, :, 0], inverse * scale[:, None, :])


def _chebyshev(count: int) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n n"]]:
    """Points −cos(πj/m), j = 0 ... m, and the matrix that differentiates a polynomial through its values there."""
    points = -np.cos(np.pi * np.arange(count + 1) / count)
    signs = np.where(np.arange(count + 1) % 2, -1.0, 1.0) * np.where(np.arange(count + 1) % count, 1.0, 2.0)
    matrix = signs[:, None] / signs / (points[:, None] - points + np.eye(count + 1))
    return points, matrix - np.diag(np.sum(matrix, axis=1))


@dataclass(frozen=True)
class _Step:
    """One panel: a_n at its points is `decay`·a_n at its beginning + `integral`·<f(U), p_n> at its points."""

    decay: Float[np.ndarray, "modes times"]
    integral: Float[np.ndarray, "modes times times"]

    def end(self, start: Coefficients, laguerre: _Laguerre, reaction: Function) -> Coefficients:
        """The coefficients at the end of the panel, from those at its beginning."""
        linear = self.decay[:, :, None] * start[:, None, :]
        weighted = (laguerre.polynomials * laguerre.weights[:, None]).T
        found = linear
        for _ in range(ITERATIONS):
            forces = np.tensordot(weighted, reaction(np.tensordot(laguerre.polynomials, found, 1)), 1)
            before, found = found, linear + self.integral @ forces
            if np.max(np.abs(found - before)) <= TOLERANCE * np.max(np.abs(found)):
                return found[:, -1]
        raise FailedRun(
            "Picard's iteration did not converge: the reaction is too strong for so long a panel; give more panels"
        )


def _value(laguerre: _Laguerre, initial: Function, reaction: Function, times: _Times) -> Float[np.ndarray, "batch"]:
    """Σ a_n p_n(d) at the end."""
    start = initial(2.0 * times.horizon * laguerre.q[:, None])
    coefficients = (laguerre.polynomials * laguerre.weights[:, None]).T @ start
    for step in times.steps(laguerre.polynomials.shape[1]):
        coefficients = step.end(coefficients, laguerre, reaction)
    return laguerre.at_mean @ coefficients
