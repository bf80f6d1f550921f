"""A solution that is known at some points only, from computations without a network, each value with an uncertainty."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from prism.references.reference import Reference


@dataclass(frozen=True)
class KnownValues:
    """u at each of some points (rows) for each of some parameters, and how far each value may be off."""

    points: Float[np.ndarray, "points coordinates"]
    values: Float[np.ndarray, "parameters points"]
    uncertainties: Float[np.ndarray, "parameters points"]

    @staticmethod
    def at_one_point(point: Float[np.ndarray, "coordinates"], found: Sequence[Reference]) -> "KnownValues":
        """From one reference for each parameter."""
        values, uncertainties = np.asarray([[one.value, one.uncertainty] for one in found]).T
        return KnownValues(point[None], values[:, None], uncertainties[:, None])
