"""PRISM: one network for a whole family of high-dimensional PDEs. The names below follow the pipeline."""

from prism.constraints import Constraint, Free, HardConstraint, vanishing
from prism.domains import Ball, Cube, Domain, Gaussian, TimeCylinder
from prism.errors import CorruptedFile, FailedRun, InputError, PrismError
from prism.families import Family
from prism.operators import (
    Biharmonic,
    GradientNormSquared,
    Laplacian,
    Operator,
    Partial,
    TimeDerivative,
    WeightedTrace,
)
from prism.parameters import LogUniform, ParameterSpace, Uniform

__version__ = "0.1.0"

__all__ = [
    "Ball",
    "Biharmonic",
    "Constraint",
    "CorruptedFile",
    "Cube",
    "Domain",
    "FailedRun",
    "Family",
    "Free",
    "Gaussian",
    "GradientNormSquared",
    "HardConstraint",
    "InputError",
    "Laplacian",
    "LogUniform",
    "Operator",
    "ParameterSpace",
    "Partial",
    "PrismError",
    "TimeCylinder",
    "TimeDerivative",
    "Uniform",
    "WeightedTrace",
    "vanishing",
]
