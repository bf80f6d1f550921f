"""PRISM: one network for a whole family of high-dimensional PDEs.

The names below follow the pipeline. Each is imported when first used, so that `prism --help` need not wait for JAX.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prism.artifacts import load
    from prism.conditions import Condition, Observed, Prescribed
    from prism.constraints import Constraint, Free, HardConstraint, vanishing
    from prism.domains import AtTime, Ball, Cube, Domain, Sphere, TimeCylinder, WholeSpace
    from prism.errors import CorruptedFile, FailedRun, InputError, PrismError
    from prism.estimators import Coordinates, Estimator, Exact, Gaussian, Gram, Rademacher
    from prism.families.family import Derivatives, Family
    from prism.inversion import Estimate, Observations, invert
    from prism.networks import CONCAT, FILM, NONE, SCALE, SHIFT, Architecture
    from prism.networks.tunable import Diagonals, LastLayer, Modulators
    from prism.objective import Sampling, Slopes
    from prism.operators import (
        Biharmonic,
        Directional,
        GradientNormSquared,
        Laplacian,
        Operator,
        Partial,
        TimeDerivative,
        WeightedTrace,
    )
    from prism.parameters import LogUniform, ParameterSpace, Uniform
    from prism.runs import solve
    from prism.solution import Solution
    from prism.training.optimisers import Adam, Optimiser
    from prism.training.spring import Spring
    from prism.trust import Trust

__version__ = "0.1.0"

_HOMES = {
    "domains": ("Domain", "Ball", "Sphere", "Cube", "WholeSpace", "TimeCylinder", "AtTime"),
    "parameters": ("ParameterSpace", "Uniform", "LogUniform"),
    "operators": (
        "Operator",
        "Laplacian",
        "GradientNormSquared",
        "Biharmonic",
        "WeightedTrace",
        "Partial",
        "TimeDerivative",
        "Directional",
    ),
    "constraints": ("Constraint", "Free", "HardConstraint", "vanishing"),
    "conditions": ("Condition", "Prescribed", "Observed"),
    "families.family": ("Family", "Derivatives"),
    "estimators": ("Estimator", "Exact", "Coordinates", "Rademacher", "Gaussian", "Gram"),
    "networks": ("Architecture", "FILM", "SCALE", "SHIFT", "CONCAT", "NONE"),
    "objective": ("Sampling", "Slopes"),
    "training.optimisers": ("Optimiser", "Adam"),
    "training.spring": ("Spring",),
    "runs": ("solve",),
    "solution": ("Solution",),
    "trust": ("Trust",),
    "networks.tunable": ("Diagonals", "Modulators", "LastLayer"),
    "artifacts": ("load",),
    "inversion": ("Observations", "Estimate", "invert"),
    "errors": ("PrismError", "InputError", "FailedRun", "CorruptedFile"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Adam",
    "Architecture",
    "AtTime",
    "Ball",
    "Biharmonic",
    "CONCAT",
    "Condition",
    "Constraint",
    "Coordinates",
    "CorruptedFile",
    "Cube",
    "Derivatives",
    "Diagonals",
    "Directional",
    "Domain",
    "Estimate",
    "Estimator",
    "Exact",
    "FILM",
    "FailedRun",
    "Family",
    "Free",
    "Gaussian",
    "GradientNormSquared",
    "Gram",
    "HardConstraint",
    "InputError",
    "Laplacian",
    "LastLayer",
    "LogUniform",
    "Modulators",
    "NONE",
    "Observations",
    "Observed",
    "Operator",
    "Optimiser",
    "ParameterSpace",
    "Partial",
    "Prescribed",
    "PrismError",
    "Rademacher",
    "SCALE",
    "SHIFT",
    "Sampling",
    "Slopes",
    "Solution",
    "Sphere",
    "Spring",
    "TimeCylinder",
    "TimeDerivative",
    "Trust",
    "Uniform",
    "WeightedTrace",
    "WholeSpace",
    "invert",
    "load",
    "solve",
    "vanishing",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'prism' has no attribute {name!r}")
    return getattr(importlib.import_module(f"prism.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
