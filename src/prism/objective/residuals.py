"""Derivatives and residual of a network at one pair (x, μ)."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.directions import Decomposition, Draw
from prism.derivatives.taylor import Jet, linear_jet, point_jet
from prism.networks.lift import Lifted
from prism.networks.model import Model
from prism.objective.batches import Batch, Draws
from prism.problem.family import Derivatives, Family
from prism.problem.terms import Frame, constrained_value, decompositions, derivatives, place_at
from prism.shapes import Hidden, Parameter, Point, Scalar


@dataclass(frozen=True)
class LiftedNetwork:
    """N at one pair, from what has left the lift: nothing here sees the dimension."""

    model: Model
    lifted: Lifted
    mu: Parameter

    def jet(self, number: int, frame: Frame, decomposition: Decomposition) -> Jet:
        first = self.lifted.firsts[number]
        hidden = linear_jet(self.lifted.value, first, frame.order, frame.collapsed, decomposition.weights)
        return self.model.read(hidden, self.mu)

    def value(self) -> Jet:
        return self.model.read(point_jet(self.lifted.value), self.mu)


def network_derivatives(
    model: Model, family: Family, draws: Sequence[Draw], x: Point, mu: Parameter, probe: Lifted | None = None
) -> Derivatives:
    """u and the family's terms at one pair, along the directions drawn.

    `probe` is added to what leaves the lift, so that one can differentiate by it.
    """
    place = place_at(family, x, mu, model.lift.weight)
    decomposed = decompositions(family, draws, place)
    lifted = model.lift.lifted(x, [one.directions for one in decomposed])
    if probe is not None:
        lifted = jax.tree.map(jnp.add, lifted, probe)
    return derivatives(family, decomposed, LiftedNetwork(model, lifted, mu), place)


def residual(
    model: Model, family: Family, draws: Sequence[Draw], x: Point, mu: Parameter, probe: Lifted | None = None
) -> Scalar:
    """F(u, Du, ...; x, μ), with derivatives along the directions drawn; `probe` as in `network_derivatives`."""
    u = network_derivatives(model, family, draws, x, mu, probe)
    return family.residual(u, x, family.parameters.named(mu))


def batch_residuals(model: Model, family: Family, batch: Batch, draws: Draws | None = None) -> Float[Array, "N"]:
    """The residual of every pair of a batch, along its draw of directions or another."""
    at = lambda x, mu, drawn: residual(model, family, drawn, x, mu)
    return batch.over_pairs(at, batch.draws if draws is None else draws)


def solution_value(model: Model, family: Family, x: Point, mu: Parameter, probe: Lifted | None = None) -> Scalar:
    """u(x; μ) alone; `probe` as in `network_derivatives`."""
    lifted = model.lift(x) if probe is None else model.lift(x) + probe.value
    return lifted_value(model, family, lifted, x, mu)


def lifted_value(model: Model, family: Family, lifted: Hidden, x: Point, mu: Parameter) -> Scalar:
    """u(x; μ) from what has left the lift; only the constraint still asks for x."""
    return constrained_value(family, model.read(point_jet(lifted), mu).value, x, mu)
