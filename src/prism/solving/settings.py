"""How a family is solved, and what is chosen where nothing is said: one rule, measured in docs/choosing.md."""

from dataclasses import dataclass, replace

import numpy as np

from prism.derivatives.estimators import Coordinates, Estimator, Exact, Gram
from prism.derivatives.operators import GradientNormSquared, Laplacian, WeightedTrace
from prism.derivatives.taylor import Sin
from prism.networks.model import Architecture
from prism.objective.objective import Sampling, Slopes
from prism.problem.constraints import Free
from prism.problem.domains import TimeCylinder
from prism.problem.family import Family
from prism.training.natural.spring import Spring
from prism.training.optimisers import Optimiser

FEW, MANY = 16, 128
"""Dimensions up to which every direction is cheap for Adam, and for the natural gradient."""
CURVED = 2_000
"""Dimensions up to which the curvature of a solution shows beside its slope, and a wide lift pays."""


@dataclass(frozen=True)
class Settings:
    """How a family is solved, the budget apart. What is None is chosen for the family by `completed`."""

    estimator: Estimator | None = None
    optimiser: Optimiser | None = None
    architecture: Architecture | None = None
    sampling: Sampling | None = None
    independent: bool = False
    slopes: Slopes | None = None
    seed: int = 0
    checkpoint_seconds: float = 60.0

    def completed(self, family: Family) -> "Completed":
        optimiser = self.optimiser or default_optimiser(family)
        return Completed(
            self.estimator or default_estimator(family, optimiser),
            optimiser,
            self.architecture or default_architecture(family, optimiser),
            self.sampling or default_sampling(family, optimiser),
            self.independent,
            self.slopes,
            self.seed,
            self.checkpoint_seconds,
        )


@dataclass(frozen=True)
class Completed:
    """Settings in which nothing is left open."""

    estimator: Estimator
    optimiser: Optimiser
    architecture: Architecture
    sampling: Sampling
    independent: bool
    slopes: Slopes | None
    seed: int
    checkpoint_seconds: float

    def with_points(self, count: int) -> "Completed":
        params = self.sampling.params if self.sampling.crossed else count
        return replace(self, sampling=Sampling(count, params, self.sampling.crossed))


def default_optimiser(family: Family) -> Spring:
    """The natural gradient. It moves the lift by the residual's gradient where an elliptic equation alone decides u:
    order-2 operators under a hard constraint in closed form. Elsewhere (time, soft conditions, constraints of the
    user's own) slopes say less about u, and the lift goes into the kernel."""
    constraint = family.constraint()
    bound = constraint.radial and not isinstance(constraint, Free) and not family.conditions
    return Spring() if bound and _of_second_order(family) else Spring(in_kernel=True, slopes=False)


def default_estimator(family: Family, optimiser: Optimiser) -> Estimator:
    """`Gram()` for the natural gradient where operators of order 2 stand under a radial constraint, with 16 directions
    sampled from it behind the widest lift. Else every direction where that is cheap, and 16 random coordinates
    beyond."""
    natural = isinstance(optimiser, Spring)
    if natural and family.constraint().radial and _of_second_order(family):
        return Gram(FEW) if _is_between(family) else Gram()
    return Exact() if family.domain.dimension <= (MANY if natural else FEW) else Coordinates(FEW)


def _of_second_order(family: Family) -> bool:
    """Whether nothing but Δu, |∇u|² and Tr(σσᵀD²u) occurs."""
    return all(isinstance(term, Laplacian | GradientNormSquared | WeightedTrace) for term in family.terms.values())


def _is_between(family: Family) -> bool:
    """Whether the solution's quadratic form, of rank d, both shows and needs the widest lift."""
    return MANY < family.domain.dimension <= CURVED


def default_architecture(family: Family, optimiser: Optimiser) -> Architecture:
    """Adam: the paper's. Natural gradient, whose kernel costs N² times the number of weights: a small network behind
    a lift that is wide where curvature matters. With time, whose speed is a matter of μ: sines behind a linear lift
    with clocks, so that γ(μ) can scale time alone, which begin with the frequencies of the fastest μ."""
    if not isinstance(optimiser, Spring):
        return Architecture()
    if isinstance(family.domain, TimeCylinder):
        return Architecture(
            lift_width=32,
            width=64,
            depth=4,
            generator_width=16,
            activation=Sin(),
            lift_bias=1.0,
            clocks=family.fastest,
            linear_lift=True,
        )
    lift_width = 512 if _is_between(family) else 256 if family.domain.dimension <= MANY else 64
    return Architecture(lift_width=lift_width, width=64, depth=3, generator_width=32, lift_bias=1.0)


def default_sampling(family: Family, optimiser: Optimiser) -> Sampling:
    """One μ a point. Adam: 100 points, as in the paper. Natural gradient: 400 points, fewer where they are long."""
    points = 100
    if isinstance(optimiser, Spring):
        points = int(np.clip(2_000_000 // family.domain.coordinates, 32, 400))
    return Sampling(points, points, crossed=False)
