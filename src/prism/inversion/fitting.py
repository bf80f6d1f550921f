"""Bounded least squares  min |e(s)|²  over the unit box, by Levenberg and Marquardt, from many starts side by side."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from prism.inversion.surrogate import Physics, Surrogate, linearise

ITERATIONS = 60
TOLERANCE = 1e-6
"""Steps shorter than this part of the box end the search."""
SMALLEST, LARGEST = 1e-6, 1e8
"""Between which the damping moves."""


@dataclass(frozen=True)
class Prior:
    """Residuals of the equation beside those of the data, each multiplied by `weight`."""

    physics: Physics
    weight: float


@dataclass(frozen=True)
class Misfit:
    """e(s) = u(x_i; μ(s)) − y_i, and below it the rows of the prior."""

    surrogate: Surrogate
    values: Float[np.ndarray, "n"]
    prior: Prior | None = None

    def linearised(
        self, s: Float[np.ndarray, "m p"]
    ) -> tuple[Float[np.ndarray, "m rows"], Float[np.ndarray, "m rows p"]]:
        """e and ∂e/∂s for each of m parameters."""
        values, slopes = linearise(self.surrogate, s)
        values = values - self.values
        if self.prior is None:
            return values, slopes
        more, steeper = linearise(self.prior.physics, s)
        weight = self.prior.weight
        return np.concatenate([values, weight * more], axis=1), np.concatenate([slopes, weight * steeper], axis=1)


@dataclass(frozen=True)
class Fits:
    """Where m searches ended: s, e, ∂e/∂s and |e|² of each."""

    s: Float[np.ndarray, "m p"]
    rows: Float[np.ndarray, "m rows"]
    slopes: Float[np.ndarray, "m rows p"]

    @property
    def costs(self) -> Float[np.ndarray, "m"]:
        return np.sum(self.rows**2, axis=1)

    @property
    def best(self) -> int:
        return int(np.argmin(self.costs))

    def data_costs(self, count: int) -> Float[np.ndarray, "m"]:
        """Σ (u − y)² of each, without the rows of a prior below the first `count`."""
        return np.sum(self.rows[:, :count] ** 2, axis=1)

    def replaced(self, better: Bool[np.ndarray, "m"], other: "Fits") -> "Fits":
        return Fits(
            np.where(better[:, None], other.s, self.s),
            np.where(better[:, None], other.rows, self.rows),
            np.where(better[:, None, None], other.slopes, self.slopes),
        )


def spread(count: int, unknowns: int) -> Float[np.ndarray, "count p"]:
    """Points that fill the unit box evenly, its centre first: a Kronecker sequence of the generalised golden ratio."""
    ratio = 2.0
    for _ in range(64):
        ratio = (1.0 + ratio) ** (1.0 / (unknowns + 1))
    return (0.5 + np.outer(np.arange(count), ratio ** -np.arange(1.0, unknowns + 1))) % 1.0


def minimise(misfit: Misfit, starts: Float[np.ndarray, "m p"], free: Bool[np.ndarray, "m p"] | None = None) -> Fits:
    """A minimum from each start; coordinates that are not free stay where they are."""
    free = np.ones(starts.shape, bool) if free is None else free
    fits, damping = Fits(starts, *misfit.linearised(starts)), np.full(len(starts), 1e-3)
    for _ in range(ITERATIONS):
        trial = np.clip(fits.s + _steps(fits, damping, free), 0.0, 1.0)
        moving = np.any(np.abs(trial - fits.s) > TOLERANCE, axis=1) & (damping < LARGEST)
        if not moving.any():
            break
        there = Fits(trial, *misfit.linearised(trial))
        better = there.costs < fits.costs
        fits = fits.replaced(better, there)
        damping = np.clip(np.where(better, damping / 10.0, damping * 10.0), SMALLEST, LARGEST)
    return fits


def _steps(fits: Fits, damping: Float[np.ndarray, "m"], free: Bool[np.ndarray, "m p"]) -> Float[np.ndarray, "m p"]:
    """−(H + damping·diag H)⁻¹ g over the coordinates that can move: free, and not pushed out of the box."""
    gradient = np.einsum("mr,mrp->mp", fits.rows, fits.slopes)
    hessian = np.einsum("mrp,mrq->mpq", fits.slopes, fits.slopes)
    outward = ((fits.s <= 0.0) & (gradient > 0.0)) | ((fits.s >= 1.0) & (gradient < 0.0))
    able = free & ~outward
    diagonal = np.einsum("mpp->mp", hessian)
    least = 1e-12 * diagonal.sum(axis=1, keepdims=True) + np.finfo(np.float64).tiny
    added = np.where(able, damping[:, None] * diagonal + least, 1.0)
    matrix = hessian * (able[:, :, None] & able[:, None, :]) + added[:, :, None] * np.eye(added.shape[1])
    return -np.linalg.solve(matrix, np.where(able, gradient, 0.0)[..., None])[..., 0]
