"""From noisy values of u back to the physical parameters, through a trained solution."""

from prism.inversion.estimate import Estimate
from prism.inversion.inference import invert
from prism.inversion.observations import Observations

__all__ = ["Estimate", "Observations", "invert"]
