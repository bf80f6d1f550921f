"""Steps of weights of a lift that are as many as coordinates, by least squares on the residual's gradient.

A batch gives one residual per point, but d slopes ∂_i r. To leading order these see a channel z of the lift through
p = ∂r/∂z alone, ∂_i r_n = Σ_c p_nc ∂_i z_c + ..., so that weights that belong to few coordinates have small
least-squares problems of their own: `Group.slope_step` of each part. One after another they take what slopes the parts
before them leave.
"""

import itertools

from jaxtyping import Array, Float

from prism.networks.lifts.groups import ResidualGradients
from prism.networks.lifts.lift import Lift, Lifted


def slope_steps(
    lift: Lift, points: Float[Array, "N coordinates"], by_lifted: Lifted, slopes: ResidualGradients, damping: float
) -> tuple[Array, ...]:
    """The changes of all weights of groups that follow the residual's slopes, from the derivatives of r by what leaves
    the lift."""
    ends = itertools.accumulate([group.channels for group in lift.groups], initial=lift.linear)
    changes: list[Array] = []
    for group, (start, end) in zip(lift.groups, itertools.pairwise(ends), strict=True):
        own, slopes = group.slope_step(points, by_lifted.value[:, start:end], slopes, damping)
        changes += own
    return tuple(changes)
