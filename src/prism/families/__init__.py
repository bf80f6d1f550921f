"""The catalogue: one family of PDEs per file, pure mathematics at one point."""

from prism.families.allen_cahn import AllenCahn
from prism.families.convection import Convection, ConvectionDiffusion
from prism.families.poisson import Poisson
from prism.families.reaction import Reaction, ReactionDiffusion
from prism.families.sine_gordon import SineGordon
from prism.families.sine_gordon_beta import SineGordonBeta

__all__ = [
    "AllenCahn",
    "Convection",
    "ConvectionDiffusion",
    "Poisson",
    "Reaction",
    "ReactionDiffusion",
    "SineGordon",
    "SineGordonBeta",
]
