"""The same loss of the same network with nested reverse differentiation in place of jets.

u_xxxy = ∂_y ∂_x ∂_x ∂_x u, one `jax.grad` inside the other, as codes with reverse mode alone take it. Derivatives that
begin alike share what they have in common: the compiler finds that their expressions are equal.
"""

from collections.abc import Callable

import jax
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.networks.model import Model
from prism.objective.batches import Batch, Draws
from prism.objective.residuals import solution_value
from prism.objective.rows import Objective
from prism.problem.family import Derivatives, Family
from prism.shapes import Parameter, Point, Scalar


class NestedObjective(Objective):
    """An objective whose equation is differentiated by nested reverse mode, for families of partial derivatives."""

    @staticmethod
    def of(objective: Objective) -> "NestedObjective":
        """The same loss."""
        return NestedObjective(**vars(objective))

    def equations(self, model: Model, batch: Batch, draws: Draws) -> Float[Array, "N"]:
        at = lambda x, mu, _: nested_residual(model, self.family, x, mu) / self.scale
        return batch.over_pairs(at, draws)


def nested_residual(model: Model, family: Family, x: Point, mu: Parameter) -> Scalar:
    """The family's residual at one pair."""
    u = lambda place: solution_value(model, family, place, mu)
    terms = {}
    for name, operator in family.terms.items():
        axes = operator.axes_in(family.domain.dimension, family.domain.coordinates)
        if axes is None:
            raise InputError(f"{name} of {type(family).__name__} is no partial derivative")
        derivative = u
        for axis in axes:
            derivative = _by(derivative, axis)
        terms[name] = derivative(x)
    return family.residual(Derivatives(u(x), terms), x, family.parameters.named(mu))


def _by(function: Callable[[Point], Scalar], axis: int) -> Callable[[Point], Scalar]:
    return lambda x: jax.grad(function)(x)[axis]
