"""Derivatives and residual of a network at one pair (x, μ)."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.directions import Decomposition, Draw
from prism.derivatives.expansion import Expansion
from prism.derivatives.frames import Frame
from prism.derivatives.operators import Place
from prism.derivatives.taylor import Jet, point_jet
from prism.networks.lifts.groups import Along, Coefficients
from prism.networks.lifts.lift import Lifted
from prism.networks.model import Model
from prism.objective.batches import Batch, Draws
from prism.problem.family import Derivatives, Family
from prism.problem.terms import (
    constrained_value,
    decompositions,
    derivatives,
    frames,
    is_linear,
    place_at,
)
from prism.shapes import Hidden, Parameter, Point, Scalar


@dataclass(frozen=True)
class LiftedNetwork:
    """N at one pair, from what has left the lift: nothing here sees the dimension."""

    model: Model
    lifted: Lifted
    mu: Parameter

    def jets(self, frames: Sequence[Frame], decomposed: Sequence[Decomposition]) -> list[Expansion]:
        """The expansion of N for every frame. To save passes through the manifold, the directions of frames of order 1,
        as that of u_t, are put beside those of the frame of highest order; other frames pass on their own."""
        asked = list(zip(self.lifted.frames, frames, decomposed, strict=True))
        leader = max(range(len(asked)), key=lambda number: frames[number].order)
        z = self._hidden(*asked[leader])
        beside = [n for n, frame in enumerate(frames) if n != leader and frame.order == 1 and z.carries_first]
        first = [asked[n][0].lower[0] for n in beside]
        passed = self.model.read(z.widened(jnp.concatenate(first)) if first else z, self.mu)
        ends = list(itertools.accumulate(map(len, first)))
        found = {leader: passed}
        if beside:
            found[leader], below = passed.narrowed(ends[-1])
            for n, own in zip(beside, jnp.split(below, ends[:-1]), strict=True):
                found[n] = frames[n].expansion(passed.value, (own,), None, decomposed[n].weights)
        alone = lambda number: self.model.read(self._hidden(*asked[number]), self.mu)
        return [found[number] if number in found else alone(number) for number in range(len(asked))]

    def _hidden(self, found: Coefficients, frame: Frame, decomposition: Decomposition) -> Expansion:
        """That of z."""
        return frame.expansion(self.lifted.value, found.lower, found.top, decomposition.weights)

    def value(self) -> Jet:
        return self.model.read(point_jet(self.lifted.value), self.mu)


def _spans_all(family: Family) -> bool:
    """Whether directions have to span channels that are read out, too."""
    return not (is_linear(family) and family.constraint().radial)


def place_of(model: Model, family: Family, x: Point, mu: Parameter) -> Place:
    """The place (x, μ) as the network sees it."""
    gradients = model.gradients(x, mu, _spans_all(family))
    return place_at(family, x, mu, gradients.with_own(family.constraint().gradients(x)))


def span_width(model: Model, family: Family) -> int:
    """How many of the lift's channels directions have to span: all that are bent or linear in x. What else is read out
    enters an operator that is linear in u, under a constraint that knows |x| alone, by its own Laplacian and its
    derivative along x."""
    return model.lift.span_width(_spans_all(family)) + family.constraint().span_width


def network_derivatives(
    model: Model, family: Family, draws: Sequence[Draw], x: Point, mu: Parameter, probe: Lifted | None = None
) -> Derivatives:
    """u and the family's terms at one pair, along the directions drawn.

    `probe` is added to what leaves the lift, so that one can differentiate by it.
    """
    place = place_of(model, family, x, mu)
    decomposed = decompositions(family, draws, place)
    lifted = model.lifted(x, mu, asked_of_lift(family, decomposed))
    if probe is not None:
        lifted = jax.tree.map(jnp.add, lifted, probe)
    return derivatives(family, decomposed, LiftedNetwork(model, lifted, mu), place)


def asked_of_lift(family: Family, decomposed: Sequence[Decomposition]) -> list[Along]:
    """What the frames of a family need of the lift."""
    pairs = zip(frames(family), decomposed, strict=True)
    return [Along(decomposition, frame.order, frame.collapsed) for frame, decomposition in pairs]


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
    lifted = model.lift_point(x, mu)
    lifted = lifted if probe is None else lifted + probe.value
    return lifted_value(model, family, lifted, x, mu)


def lifted_value(model: Model, family: Family, lifted: Hidden, x: Point, mu: Parameter) -> Scalar:
    """u(x; μ) from what has left the lift; only the constraint still asks for x."""
    return constrained_value(family, model.read(point_jet(lifted), mu).value, x, mu)
