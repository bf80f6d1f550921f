"""How a family is solved, and what is chosen where nothing is said: one rule, measured in docs/choosing.md.

The estimator's part of it is in `objective/estimation.py`, for judging a solution needs it too.
"""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from prism.derivatives.estimators import Estimator
from prism.derivatives.taylor import Sin, Tanh
from prism.networks.lifts.parts import Affine, Dense, Part, Parts, parts_of
from prism.networks.model import Architecture
from prism.numerics.arguments import check_kind, check_positive, check_whole
from prism.objective.batches import Sampling
from prism.objective.estimation import (
    NATURAL_EXACT_UP_TO,
    all_isotropic,
    needs_wide_lift,
    suited_estimator,
    takes_pairs,
)
from prism.objective.rows import Slopes
from prism.objective.worst_case import WorstCase
from prism.problem.checks.declarations import check_declarations
from prism.problem.family import Family
from prism.problem.user_code import calling, real_number
from prism.training.natural.spring import Spring
from prism.training.optimisers import Optimiser

QUARTIC_LIFT = 16
"""Channels of the dense lift where operators of order 4 take a direction for every pair of channels."""
MOST_CORNERS = 256
"""Of the parameters' box, at which an equation's rate is asked for."""
NATURAL_POINTS = 400
"""Points of a natural gradient's batch, fewer where they are long."""
FEWEST_NATURAL_POINTS = 32
NATURAL_COORDINATES = 2_000_000
"""Coordinates of a natural gradient's batch."""

KINDS: tuple[tuple[str, Any, str], ...] = (
    ("estimator", Estimator, "an estimator, such as prism.Gaussian(16)"),
    ("optimiser", Optimiser, "an optimiser, such as prism.Adam()"),
    ("architecture", Architecture, "an architecture, such as prism.Architecture(width=64)"),
    ("sampling", Sampling, "the size of a batch, such as prism.Sampling(100, 100)"),
    ("independent", bool, "True or False"),
    ("slopes", Slopes | None, "prism.Slopes(), or leave it out"),
    ("worst_case", WorstCase | None, "prism.WorstCase(3), or leave it out"),
)
"""What each setting has to be."""


@dataclass(frozen=True)
class Settings:
    """How a family is solved, the budget apart. `Settings.choose` fills in what is not given."""

    estimator: Estimator
    optimiser: Optimiser
    architecture: Architecture
    sampling: Sampling
    independent: bool = False
    slopes: Slopes | None = None
    seed: int = 0
    checkpoint_seconds: float = 60.0
    worst_case: WorstCase | None = None

    def __post_init__(self):
        for name, kind, example in KINDS:
            check_kind(name, getattr(self, name), kind, example)
        check_whole("seed", self.seed, 0, 2**32 - 1)
        check_positive("checkpoint_seconds", self.checkpoint_seconds)
        for name in ("points", "params"):
            check_whole(f"{name} of the sampling", getattr(self.sampling, name), 1)
        self.optimiser.check(self.slopes)

    @staticmethod
    def choose(
        family: Family,
        *,
        estimator: Estimator | None = None,
        optimiser: Optimiser | None = None,
        architecture: Architecture | None = None,
        sampling: Sampling | None = None,
        independent: bool = False,
        slopes: Slopes | None = None,
        seed: int = 0,
        checkpoint_seconds: float = 60.0,
        worst_case: WorstCase | None = None,
    ) -> "Settings":
        """What is given, and for the rest what suits the family."""
        check_declarations(family)
        optimiser = default_optimiser(family) if optimiser is None else optimiser
        check_kind("optimiser", optimiser, Optimiser, "an optimiser, such as prism.Adam()")
        return Settings(
            suited_estimator(family, optimiser.natural) if estimator is None else estimator,
            optimiser,
            default_architecture(family, optimiser) if architecture is None else architecture,
            default_sampling(family, optimiser) if sampling is None else sampling,
            independent,
            slopes,
            seed,
            checkpoint_seconds,
            worst_case,
        )

    def with_points(self, count: int) -> "Settings":
        """The same with so many points per batch."""
        return replace(self, sampling=self.sampling.with_points(count))


def default_optimiser(family: Family) -> Spring:
    """The natural gradient. It moves the lift by the residual's slopes where an elliptic equation alone decides u:
    isotropic operators under a hard constraint in closed form. Elsewhere (time, soft conditions, constraints of the
    user's own) slopes say less about u, and the lift goes into the kernel."""
    constraint = family.constraint()
    decided = constraint.radial and constraint.binding and not family.conditions
    by_slopes = decided and all_isotropic(family)
    return Spring() if by_slopes else Spring(lift_in_kernel=True, lift_by_slopes=False)


def architecture_for(lift: Part | Parts, usual: Architecture) -> Architecture:
    """The usual network behind another lift; a small one where nothing of that goes through the manifold, which then
    makes no more than a constant that moves with μ. In time, behind a lift without linear channels of space (|x|², t):
    32 tanh units, for sines serve phases k·x − ct, which such a lift has not. Behind single channels alone, |x|² or t,
    the first layer is linear: bent one by one, they would be lost where the activation is flat."""
    bent = [part for part in parts_of(lift).parts if part.is_bent]
    if not bent:
        return replace(usual, lift=lift, width=16, depth=2)
    if usual.linear_lift and not any(part.is_linear for part in bent):
        return replace(usual, lift=lift, width=32, activation=Tanh())
    return replace(usual, lift=lift, linear_lift=usual.linear_lift or all(part.is_single for part in bent))


def default_architecture(family: Family, optimiser: Optimiser) -> Architecture:
    """First-order optimisers: the paper's. Natural gradient, whose kernel costs N² times the number of weights: a small
    network behind a lift that is wide where curvature matters. With time, whose speed is a matter of μ: sines behind a
    linear lift with clocks, so that γ(μ) can scale time alone, which begin with the frequencies of the fastest μ."""
    if not optimiser.natural:
        return Architecture()
    if family.domain.time_horizon is not None:
        return Architecture(
            Dense(32, bias=1.0, clocks=fastest_rate(family)) + Affine(4),
            width=64,
            depth=4,
            generator_width=16,
            activation=Sin(),
            linear_lift=True,
        )
    return Architecture(Dense(_lift_width(family), bias=1.0) + Affine(4), width=64, depth=3, generator_width=32)


def _lift_width(family: Family) -> int:
    """Of the dense lift of an equation without time."""
    if takes_pairs(family):
        return QUARTIC_LIFT
    return 512 if needs_wide_lift(family) else 256 if family.domain.dimension <= NATURAL_EXACT_UP_TO else 64


def fastest_rate(family: Family) -> float:
    """The highest rate at which u changes with time, at the corners of the parameters' box."""
    space = family.parameters
    ends = zip(space.lows, space.highs, strict=True)
    corners = [*itertools.islice(itertools.product(*ends), MOST_CORNERS), tuple(space.highs)]
    what = f"rate of {type(family).__name__}"
    with calling(what):
        rates = [family.rate(space.named(jnp.asarray(corner, dtype=float))) for corner in corners]
        fastest = float(max(real_number(what, rate, whole=True) for rate in rates))
    check_positive(what, fastest)
    return fastest


def default_sampling(family: Family, optimiser: Optimiser) -> Sampling:
    """One μ per point. First order: 100 points, as in the paper. Natural gradient: 400, fewer where they are long."""
    points = 100
    if optimiser.natural:
        affordable = NATURAL_COORDINATES // family.domain.coordinates
        points = int(np.clip(affordable, FEWEST_NATURAL_POINTS, NATURAL_POINTS))
    return Sampling(points, points, crossed=False)
