"""Intervals by the likelihood ratio: how far one parameter can be moved while all others follow.

    Λ(s_j) = min over the others |e(s)|² / variance − min over all |e(s)|² / variance,     interval: Λ ≤ quantile²

√Λ is nearly linear on each side of the minimum, so that a few positions and a straight line between them find its ends;
where it is not, more positions are put where it crosses.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from prism.inversion.fitting import minimise
from prism.inversion.misfit import Misfit

POSITIONS = 6
"""Positions tried at once on each side."""
REACHES = (1.6, 5.0, *[np.inf] * 4)
"""How far they go in each round, in half-widths of the Gauss-Newton interval: at last to the edge."""
FINE = 0.5
"""Neighbours on both sides of a crossing whose √Λ differ by less than this part of the quantile are near enough."""


@dataclass(frozen=True)
class Likelihood:
    """The misfit of one data set, and the scale on which its differences count."""

    misfit: Misfit
    variance: float
    smallest: float
    quantile: float

    def roots(self, costs: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """√Λ of each cost |e|²."""
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
        if all(side.settled(likelihood.quantile) for side in sides):
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

    def crossing(self, quantile: float) -> slice:
        """The neighbours between which √Λ crosses the quantile; the last fit alone if it has not yet."""
        above = np.flatnonzero(self.roots > quantile)
        return slice(max(above[0] - 1, 0), above[0] + 1) if above.size else slice(len(self.roots) - 1, None)

    def settled(self, quantile: float) -> bool:
        """Whether the crossing is known well, or the edge has been reached without one."""
        roots, last = self.roots[self.crossing(quantile)], self.positions[-1]
        return bool(np.ptp(roots) <= FINE * quantile if roots.size > 1 else last == self.edge)

    def end(self, quantile: float) -> float:
        """Where √Λ crosses the quantile, or the edge."""
        near = self.crossing(quantile)
        return float(np.interp(quantile, self.roots[near], self.positions[near], right=self.edge))

    def starts(
        self, covariance: Float[np.ndarray, "p p"], quantile: float, distance: float
    ) -> Float[np.ndarray, "positions p"]:
        """The next positions: inside the crossing, or outwards up to `distance` from the minimum or the edge; the other
        coordinates moved as the covariance says."""
        near = self.crossing(quantile)
        here, *beyond = self.fits[near]
        room = self.edge - self.positions[0]
        outwards = self.edge if abs(room) <= distance else self.positions[0] + np.sign(room) * distance
        last, parts = (beyond[0][self.which], POSITIONS + 1) if beyond else (outwards, POSITIONS)
        steps = np.arange(1, POSITIONS + 1) / parts
        along = covariance[self.which] / covariance[self.which, self.which]
        starts = np.clip(here + np.outer(steps * (last - here[self.which]), along), 0.0, 1.0)
        starts[:, self.which] = (1.0 - steps) * here[self.which] + steps * last
        return starts

    def extended(self, fits: Float[np.ndarray, "new p"], roots: Float[np.ndarray, "new"]) -> "_Side":
        """With new fits among the old."""
        fits, roots = np.concatenate([self.fits, fits]), np.concatenate([self.roots, roots])
        order = np.argsort(np.abs(fits[:, self.which] - fits[0, self.which]), kind="stable")
        return replace(self, fits=fits[order], roots=roots[order])


def _extended(
    likelihood: Likelihood, sides: Sequence[_Side], covariance: Float[np.ndarray, "p p"], reach: float
) -> list[_Side]:
    """Every side with its next positions, fitted all at once."""
    quantile = likelihood.quantile
    half_widths = quantile * np.sqrt(np.diag(covariance))
    starts = [side.starts(covariance, quantile, reach * float(half_widths[side.which])) for side in sides]
    fixed = np.repeat([side.which for side in sides], POSITIONS)
    fits = minimise(likelihood.misfit, np.concatenate(starts), free=fixed[:, None] != np.arange(len(covariance)))
    found = zip(np.split(fits.s, len(sides)), np.split(likelihood.roots(fits.costs), len(sides)), strict=True)
    return [side.extended(places, roots) for side, (places, roots) in zip(sides, found, strict=True)]


def _joined(lower: _Side, upper: _Side, quantile: float) -> Profile:
    return Profile(
        np.concatenate([lower.positions[::-1], upper.positions]),
        np.concatenate([lower.roots[::-1], upper.roots]),
        lower.end(quantile),
        upper.end(quantile),
    )
