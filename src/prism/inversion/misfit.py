"""How far a parameter is from explaining the data: the errors whose squares are minimised."""

import abc
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from prism.inversion.surrogate import Physics, Surrogate, linearise


class Misfit(abc.ABC):
    """Errors e(s) over the unit box: those of the data first, then those of a prior if there is one."""

    @property
    @abc.abstractmethod
    def observations(self) -> int:
        """The number of errors that belong to the data."""

    @property
    @abc.abstractmethod
    def count(self) -> int:
        """The number of all errors."""

    @abc.abstractmethod
    def linearised(
        self, s: Float[np.ndarray, "m p"]
    ) -> tuple[Float[np.ndarray, "m errors"], Float[np.ndarray, "m errors p"]]:
        """e and ∂e/∂s for each of m parameters."""


@dataclass(frozen=True)
class Prior:
    """Residuals of the equation beside the errors of the data, each multiplied by `weight`."""

    physics: Physics
    weight: float


@dataclass(frozen=True)
class SolutionMisfit(Misfit):
    """e(s) = u(x_i; μ(s)) − y_i with u of a trained solution, and the residuals of the prior."""

    surrogate: Surrogate
    values: Float[np.ndarray, "n"]
    prior: Prior | None = None

    @property
    def observations(self) -> int:
        return len(self.values)

    @property
    def count(self) -> int:
        return self.observations + (0 if self.prior is None else self.prior.physics.batch.points.shape[0])

    def linearised(
        self, s: Float[np.ndarray, "m p"]
    ) -> tuple[Float[np.ndarray, "m errors"], Float[np.ndarray, "m errors p"]]:
        values, sensitivities = linearise(self.surrogate, s)
        errors = values - self.values
        if self.prior is None:
            return errors, sensitivities
        residuals, changes = (self.prior.weight * part for part in linearise(self.prior.physics, s))
        return np.concatenate([errors, residuals], axis=1), np.concatenate([sensitivities, changes], axis=1)
