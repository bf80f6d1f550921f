"""Intervals by the likelihood ratio: how far one parameter can be moved while all others follow.

    Λ(s_j) = min over the others |e(s)|² / variance − min over all |e(s)|² / variance,     interval: Λ ≤ quantile²

√Λ is nearly linear on each side of the minimum, so that a few positions and a straight line between them find its ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from prism.inversion.fitting import Misfit, minimise

POSITIONS = 8
"""Positions tried at once on each side."""
REACHES = (1.6, 5.0, np.inf)
"""How far they go, in half-widths of the Gauss-Newton interval: further, and at last to the edge, where need be."""


@dataclass(frozen=True)
class Likelihood:
    """The misfit of one data set, and the scale on which its differences count."""

    misfit: Misfit
    variance: float
    smallest: float
    quantile: float

    def roots(self, costs: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """√Λ."""
        return np.sqrt(np.maximum(costs - self.smallest, 0.0) / self.variance)


@dataclass(frozen=True)
class Profile:
    """√Λ over one coordinate of s, and where it stays below the quantile."""

    positions: Float[np.ndarray, "k"]
    roots: Float[np.ndarray, "k"]
    low: float
    high: float

    @property
    def closed(self) -> bool:
        """Whether both ends lie inside the box."""
        return self.low > 0.0 and self.high < 1.0


def profiles(
    likelihood: Likelihood,
    minima: Float[np.ndarray, "minima p"],
    roots: Float[np.ndarray, "minima"],
    covariance: Float[np.ndarray, "p p"],
) -> list[Profile]:
    """The profile of each coordinate; `roots` are √Λ at the minima, of which the outermost starts a side."""
    sides = []
    for which in range(minima.shape[1]):
        first, last = np.argmin(minima[:, which]), np.argmax(minima[:, which])
        sides += [_Side(which, 0.0, minima[[first]], roots[[first]]), _Side(which, 1.0, minima[[last]], roots[[last]])]
    for reach in REACHES:
        sides = _extended(likelihood, sides, covariance, reach)
        if all(side.end(likelihood.quantile) is not None for side in sides):
            break
    return [_joined(lower, upper, likelihood.quantile) for lower, upper in zip(sides[::2], sides[1::2], strict=True)]


@dataclass(frozen=True)
class _Side:
    """Coordinate `which` followed from a minimum towards an edge: the fits so far, outwards, and √Λ at each."""

    which: int
    edge: float
    fits: Float[np.ndarray, "k p"]
    roots: Float[np.ndarray, "k"]

    @property
    def positions(self) -> Float[np.ndarray, "k"]:
        return self.fits[:, self.which]

    def starts(self, covariance: Float[np.ndarray, "p p"], distance: float) -> Float[np.ndarray, "positions p"]:
        """The next positions, up to `distance` from the minimum or the edge, the others moved as covariance says."""
        here, room = self.fits[-1], self.edge - self.positions[0]
        last = self.positions[0] + np.sign(room) * min(abs(room), distance)
        moves = (last - here[self.which]) * np.arange(1, POSITIONS + 1) / POSITIONS
        along = covariance[self.which] / covariance[self.which, self.which]
        starts = np.clip(here + np.outer(moves, along), 0.0, 1.0)
        starts[-1, self.which] = last
        return starts

    def end(self, quantile: float) -> float | None:
        """Where √Λ crosses the quantile; the edge where it has been reached below that; None if not known yet."""
        above = np.flatnonzero(self.roots > quantile)
        if not above.size:
            return self.edge if self.positions[-1] == self.edge else None
        nearest = slice(max(above[0] - 1, 0), above[0] + 1)
        return float(np.interp(quantile, self.roots[nearest], self.positions[nearest]))


def _extended(
    likelihood: Likelihood, sides: Sequence[_Side], covariance: Float[np.ndarray, "p p"], reach: float
) -> list[_Side]:
    """Every side with its next positions, fitted all at once."""
    half_widths = likelihood.quantile * np.sqrt(np.diag(covariance))
    starts = [side.starts(covariance, reach * float(half_widths[side.which])) for side in sides]
    fixed = np.repeat([side.which for side in sides], POSITIONS)
    fits = minimise(likelihood.misfit, np.concatenate(starts), free=fixed[:, None] != np.arange(len(covariance)))
    found = zip(np.split(fits.s, len(sides)), np.split(likelihood.roots(fits.costs), len(sides)), strict=True)
    return [
        replace(side, fits=np.concatenate([side.fits, places]), roots=np.concatenate([side.roots, roots]))
        for side, (places, roots) in zip(sides, found, strict=True)
    ]


def _joined(lower: _Side, upper: _Side, quantile: float) -> Profile:
    low, high = lower.end(quantile), upper.end(quantile)
    return Profile(
        np.concatenate([lower.positions[::-1], upper.positions]),
        np.concatenate([lower.roots[::-1], upper.roots]),
        lower.edge if low is None else low,
        upper.edge if high is None else high,
    )
