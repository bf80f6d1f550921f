"""What the data do not tell: directions of the unit box along which u hardly changes, and minima that fit as well.

Along a unit vector v the Gauss-Newton interval is 2·quantile·√variance / |J v| wide, and the box 1 / max|v_j|.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from prism.inversion.fitting import Fits
from prism.inversion.profiles import Likelihood
from prism.problem.parameters import ParameterSpace

MOST = 2.0 / 3.0
"""An interval that covers this part of the box tells too little to be given as one."""
PART = 0.1
"""A parameter takes part in a direction whose component is at least this part of the largest."""
SAME = 1e-3
"""Searches that end this near to each other, in parts of the box, have found the same minimum."""


@dataclass(frozen=True)
class Direction:
    """A direction of the unit box that the data leave open; `blind` where u changes by less than its own error."""

    vector: Float[np.ndarray, "p"]
    blind: bool

    @property
    def indices(self) -> list[int]:
        """The indices of the parameters that take part."""
        sizes = np.abs(self.vector)
        return [int(index) for index in np.flatnonzero(sizes >= PART * sizes.max())]

    def combination(self, space: ParameterSpace) -> str:
        """The direction in the coordinates that people read, such as `mu1 − 0.98 mu2`."""
        low, high = (np.asarray(end, np.float64) for end in space.uniform_box())
        weights = (self.vector * (high - low))[self.indices]
        weights = weights / np.abs(weights).max() * np.sign(weights[0])
        logarithm = "log " if space.logarithmic else ""
        text = ""
        for index, weight in zip(self.indices, weights, strict=True):
            sign = (" − " if weight < 0.0 else " + ") if text else ""
            size = f"{abs(weight):.2f} ".removeprefix("1.00 ")
            text += f"{sign}{size}{logarithm}{space.names[index]}"
        return text


def combinations(directions: Sequence[Direction], space: ParameterSpace) -> list[str]:
    """What the data leave open, in words: each direction's combination, or every parameter where all are open."""
    return list(space.names) if len(directions) == space.size else [one.combination(space) for one in directions]


def open_directions(sensitivities: Float[np.ndarray, "n p"], likelihood: Likelihood, error: float) -> list[Direction]:
    """The eigen-directions of JᵀJ along which the interval covers most of the box, or u changes by less than `error`
    from one side of the box to the other; J = ∂u/∂s at the data."""
    eigenvalues, vectors = np.linalg.eigh(sensitivities.T @ sensitivities)
    found = []
    for gain, v in zip(np.sqrt(np.maximum(eigenvalues, 0.0)), vectors.T, strict=True):
        length = 1.0 / np.abs(v).max()
        blind = bool(gain * length <= error * sensitivities.shape[0] ** 0.5)
        if blind or 2.0 * likelihood.quantile * likelihood.variance**0.5 >= MOST * length * gain:
            found.append(Direction(v, blind))
    return found


def separate_minima(likelihood: Likelihood, fits: Fits) -> list[int]:
    """The indices of searches that ended in different minima, all within the interval's threshold, the best first."""
    kept: list[int] = []
    near = likelihood.roots(fits.costs) <= likelihood.quantile
    for index in np.argsort(fits.costs)[: near.sum()]:
        if all(_apart(likelihood, fits.s[index], fits.s[other]) for other in kept):
            kept.append(int(index))
    return kept


def _apart(likelihood: Likelihood, one: Float[np.ndarray, "p"], other: Float[np.ndarray, "p"]) -> bool:
    """Whether the likelihood falls below the threshold between the two."""
    if np.abs(one - other).max() < SAME:
        return False
    between = one[None] + np.outer([0.25, 0.5, 0.75], other - one)
    costs = np.sum(likelihood.misfit.linearised(between)[0] ** 2, axis=1)
    return bool(np.any(likelihood.roots(costs) > likelihood.quantile))
