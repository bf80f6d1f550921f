"""The same loss of the same network with nested reverse differentiation in place of jets.

u_xxxy = ∂_y ∂_x ∂_x ∂_x u, one reverse pass inside the other, as codes with reverse mode alone take it. Derivatives
that begin alike share their passes, in the gradient by the weights too: u_x, u_xx and u_xxx are on the way to u_xxxy.
"""

from collections.abc import Callable, Collection

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.moments import Axes
from prism.errors import InputError
from prism.networks.model import Model
from prism.objective.batches import Batch, Draws
from prism.objective.residuals import solution_value
from prism.objective.rows import Objective
from prism.problem.family import Derivatives, Family
from prism.shapes import Parameter, Point, Scalar

Found = dict[Axes, Scalar]
"""Derivatives by the coordinates that they differentiate by, one after the other."""


class NestedObjective(Objective):
    """An objective whose equation is differentiated by nested reverse mode, for families of partial derivatives."""

    @staticmethod
    def of(objective: Objective) -> "NestedObjective":
        """The same loss, for optimisers that differentiate it as a whole."""
        if objective.slopes is not None:
            raise InputError("nested reverse mode takes no slopes; leave them out of the settings")
        return NestedObjective(**vars(objective))

    def equations(self, model: Model, batch: Batch, draws: Draws) -> Float[Array, "N"]:
        at = lambda x, mu, _: nested_residual(model, self.family, x, mu) / self.scale
        return batch.over_pairs(at, draws)


def nested_residual(model: Model, family: Family, x: Point, mu: Parameter) -> Scalar:
    """The family's residual at one pair."""
    wanted = {}
    for name, operator in family.terms.items():
        axes = operator.axes_in(family.domain.dimension, family.domain.coordinates)
        if axes is None:
            raise InputError(f"{name} of {type(family).__name__} is no partial derivative")
        wanted[name] = axes
    beginnings = {axes[:k] for axes in wanted.values() for k in range(1, len(axes) + 1)}
    u = lambda place: solution_value(model, family, place, mu)
    highest, lower = _differentiated(u, beginnings, max(map(len, beginnings)))(x)
    found = {**lower, **highest}
    terms = {name: found[axes] for name, axes in wanted.items()}
    return family.residual(Derivatives(found[()], terms), x, family.parameters.named(mu))


def _differentiated(
    u: Callable[[Point], Scalar], beginnings: Collection[Axes], order: int
) -> Callable[[Point], tuple[Found, Found]]:
    """Those of `beginnings` that have this order, and all lower ones with u itself: one reverse pass for each function
    that has to be differentiated once more."""
    if order == 0:
        return lambda x: ({(): u(x)}, {})
    below = _differentiated(u, beginnings, order - 1)

    def at(x: Point) -> tuple[Found, Found]:
        last, pull, lower = jax.vjp(below, x, has_aux=True)
        found: Found = {}
        for one in last:
            further = [axes for axes in beginnings if axes[:-1] == one and len(axes) == order]
            if further:
                (gradient,) = pull({other: jnp.full_like(last[other], other == one) for other in last})
                found |= {axes: gradient[axes[-1]] for axes in further}
        return found, {**lower, **last}

    return at
