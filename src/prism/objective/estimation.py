"""Which estimator suits a family where nothing is said: a part of the rule of `solving/settings.py`."""

from dataclasses import replace

from prism.derivatives.estimators import Coordinates, Estimator, Exact, Gram
from prism.networks.model import Model
from prism.problem.family import Family

SAMPLED_DIRECTIONS = 16
"""Directions that a sampled estimator draws per point."""
NATURAL_EXACT_UP_TO, FIRST_ORDER_EXACT_UP_TO = 128, 16
"""Dimensions up to which every direction is cheap, for a natural gradient and for a first-order optimiser."""
QUARTIC_EXACT_UP_TO = 32
"""The same where operators of order 4 take d² directions."""
WIDE_LIFT_UP_TO = 2_000
"""Dimensions up to which the curvature of a solution shows beside its linear part, and a wide lift pays."""


def suited_estimator(family: Family, natural: bool = True) -> Estimator:
    """`Gram()` for a natural gradient where isotropic operators stand under a constraint in closed form, with a sample
    of its directions behind the widest lift. Else every direction where that is cheap, and random coordinates beyond.

    For judging a solution (`judging_estimator`) the natural one is right: it has the least variance.
    """
    if natural and family.constraint().closed and takes_gram(family):
        return Gram(SAMPLED_DIRECTIONS) if needs_wide_lift(family) else Gram()
    exact_up_to = NATURAL_EXACT_UP_TO if natural else FIRST_ORDER_EXACT_UP_TO
    if takes_pairs(family):
        exact_up_to = min(exact_up_to, QUARTIC_EXACT_UP_TO)
    return Exact() if family.domain.dimension <= exact_up_to else Coordinates(SAMPLED_DIRECTIONS)


def judging_estimator(model: Model, family: Family) -> Estimator:
    """What suits the family or, behind a lift of norms and time alone, `Gram()`: it has one direction for each norm.

    At order 4 `Gram()` is exact behind linear channels and random behind others. A draw of its own for each pair then
    averages over the batch; one shared draw would not.
    """
    lift = model.lift
    norms_alone = lift.linear == 0 and all(group.spans_point or not group.sees_space for group in lift.groups)
    estimator = Gram() if norms_alone and takes_gram(family) else suited_estimator(family)
    return replace(estimator, shared=False) if takes_pairs(family) and isinstance(estimator, Gram) else estimator


def all_isotropic(family: Family) -> bool:
    """Whether all terms take the directions of an isotropic tensor, as Δu, |∇u|², Tr(σσᵀD²u) and Δ²u do."""
    return all(term.isotropic_order is not None for term in family.terms.values())


def takes_pairs(family: Family) -> bool:
    """Whether a term takes the directions of the isotropic tensor of order 4, as Δ²u does: one for every pair of those
    of order 2. Partial derivatives of high order have directions of their own."""
    return any(term.isotropic_order == 4 for term in family.terms.values())


def takes_gram(family: Family) -> bool:
    """Whether `Gram` has something to do: terms that take the directions of an isotropic tensor."""
    return any(term.isotropic_order is not None for term in family.terms.values())


def needs_wide_lift(family: Family) -> bool:
    """Whether the dimension is one where the solution's quadratic form, of rank d, shows and a wide lift pays; not with
    time, whose lift is narrow, nor where directions are pairs of channels."""
    timeless = family.domain.time_horizon is None and not takes_pairs(family)
    return timeless and NATURAL_EXACT_UP_TO < family.domain.dimension <= WIDE_LIFT_UP_TO
