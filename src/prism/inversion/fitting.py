"""Bounded least squares  min |e(s)|²  over the unit box, from many starts side by side.

The network may evaluate in float32; the steps are solved in float64.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from prism.inversion.misfit import Misfit
from prism.numerics.least_squares import Box, Levenberg

ITERATIONS = 60
TOLERANCE = 1e-6
"""Steps shorter than this part of the box end the search."""
FIRST_DAMPING = 1e-3
SMALLEST, LARGEST = 1e-6, 1e8
"""Between which the damping moves: below, sensitivities that are rounding alone would make the step; above, no step
is left to take."""
UNIT_BOX = Box(0.0, 1.0)


@dataclass(frozen=True)
class Fits:
    """Where m searches ended: s, the errors e, their sensitivities ∂e/∂s and the cost |e|² of each."""

    s: Float[np.ndarray, "m p"]
    errors: Float[np.ndarray, "m errors"]
    sensitivities: Float[np.ndarray, "m errors p"]
    costs: Float[np.ndarray, "m"]

    @property
    def best(self) -> int:
        """The search of the least cost."""
        return int(np.argmin(self.costs))

    def best_data_cost(self, observations: int) -> float:
        """Σ (u − y)² of the best, over the errors of the data alone."""
        return float(np.sum(self.errors[self.best, :observations] ** 2))


def spread(count: int, unknowns: int) -> Float[np.ndarray, "count p"]:
    """Points that fill the unit box evenly, its centre first: a Kronecker sequence of the generalised golden ratio."""
    ratio = 2.0
    for _ in range(64):
        ratio = (1.0 + ratio) ** (1.0 / (unknowns + 1))
    return (0.5 + np.outer(np.arange(count), ratio ** -np.arange(1.0, unknowns + 1))) % 1.0


def minimise(misfit: Misfit, starts: Float[np.ndarray, "m p"], free: Bool[np.ndarray, "m p"] | None = None) -> Fits:
    """A local minimum of |e|² in the unit box from each start; coordinates that are not free stay where they are."""
    state = Levenberg.start(starts, misfit.count, FIRST_DAMPING).step(misfit.linearised)
    for _ in range(ITERATIONS):
        proposed = state.proposed(UNIT_BOX, free)
        moving = np.any(np.abs(proposed - state.unknowns) > TOLERANCE, axis=1) & (state.damping < LARGEST)
        if not moving.any():
            break
        state = state.judged(proposed, misfit.linearised)
        state = replace(state, damping=np.clip(state.damping, SMALLEST, LARGEST))
    return Fits(*map(np.asarray, (state.unknowns, state.errors, state.jacobian, state.cost)))
