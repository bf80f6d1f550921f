"""The network: Lift -> Manifold modulated by HyperGenerator(μ)."""

from prism.networks.lift import Lift
from prism.networks.manifold import Manifold
from prism.networks.model import Architecture, Model
from prism.networks.modulation import (
    CONCAT,
    FILM,
    NONE,
    SCALE,
    SHIFT,
    HyperGenerator,
    Modulation,
    ModulationSettings,
)

__all__ = [
    "CONCAT",
    "FILM",
    "NONE",
    "SCALE",
    "SHIFT",
    "Architecture",
    "HyperGenerator",
    "Lift",
    "Manifold",
    "Model",
    "Modulation",
    "ModulationSettings",
]
