"""Which estimator suits a family where nothing is said: one rule, measured in docs/choosing.md."""

from prism.derivatives.estimators import Coordinates, Estimator, Exact, Gram
from prism.problem.family import Family

SAMPLED_DIRECTIONS = 16
"""Directions that a sampled estimator draws per point."""
CHEAP_EXACT = {True: 128, False: 16}
"""Dimensions up to which every direction is cheap, for a natural gradient and for a first-order optimiser."""
MOST_CURVED = 2_000
"""Dimensions up to which the curvature of a solution shows beside its slope, and a wide lift pays."""


def suited_estimator(family: Family, natural: bool = True) -> Estimator:
    """`Gram()` for a natural gradient where operators of order 2 stand under a radial constraint, with a sample of its
    directions behind the widest lift. Else every direction where that is cheap, and random coordinates beyond.

    For judging a solution the natural one is right: it has the least variance.
    """
    if natural and family.constraint().radial and is_second_order(family):
        return Gram(SAMPLED_DIRECTIONS) if is_curved(family) else Gram()
    few = family.domain.dimension <= CHEAP_EXACT[natural]
    return Exact() if few else Coordinates(SAMPLED_DIRECTIONS)


def is_second_order(family: Family) -> bool:
    """Whether all terms take the directions of the isotropic tensor of order 2, as Δu, |∇u|² and Tr(σσᵀD²u) do."""
    return all(term.isotropic_order == 2 for term in family.terms.values())


def is_curved(family: Family) -> bool:
    """Whether the solution's quadratic form, of rank d, both shows and needs a wide lift."""
    return CHEAP_EXACT[True] < family.domain.dimension <= MOST_CURVED
