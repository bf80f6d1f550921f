"""The catalogue: one family of PDEs per file, pure mathematics at one point."""

from prism.families.allen_cahn import AllenCahn
from prism.families.allen_cahn_time import AllenCahnTime
from prism.families.biharmonic import ClampedBiharmonic
from prism.families.convection import Convection, ConvectionDiffusion
from prism.families.gkdv import GKdV
from prism.families.hamilton_jacobi_bellman import HJBLog, HJBRosenbrock
from prism.families.heat import Heat
from prism.families.kdv2d import KdV2D
from prism.families.kp import KP
from prism.families.poisson import Poisson
from prism.families.reaction import Reaction, ReactionDiffusion
from prism.families.sine_gordon import SineGordon
from prism.families.sine_gordon_beta import SineGordonBeta
from prism.families.sine_gordon_time import SineGordonTime, SineGordonTimeBeta

__all__ = [
    "AllenCahn",
    "AllenCahnTime",
    "ClampedBiharmonic",
    "Convection",
    "ConvectionDiffusion",
    "GKdV",
    "HJBLog",
    "HJBRosenbrock",
    "Heat",
    "KP",
    "KdV2D",
    "Poisson",
    "Reaction",
    "ReactionDiffusion",
    "SineGordon",
    "SineGordonBeta",
    "SineGordonTime",
    "SineGordonTimeBeta",
]
