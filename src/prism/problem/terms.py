"""The terms of a family at one point, read off jets: nothing here knows what network the jets are of.

draws = draw_directions(family, estimator, place, key)      once per point
decomposed = decompositions(family, draws, place)           directions and weights there
u = derivatives(family, decomposed, network, place)         u.value, u.lap, ...
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from prism.derivatives.directions import Decomposition, Draw, Gradients
from prism.derivatives.estimators import Estimator
from prism.derivatives.expansion import Expansion
from prism.derivatives.frames import Frame, framed
from prism.derivatives.operators import Place
from prism.derivatives.taylor import Jet, point_jet, sum_of
from prism.numerics.keys import Purpose, children, item, stream
from prism.problem.family import Derivatives, Family
from prism.shapes import Key, Parameter, Point, Scalar


@runtime_checkable
class NetworkJets(Protocol):
    """What is asked of a network N at one pair (x, μ)."""

    def jets(self, frames: Sequence[Frame], decomposed: Sequence[Decomposition]) -> list[Expansion]:
        """Its expansion for every frame, along the directions of the frame's decomposition."""
        ...

    def value(self) -> Jet:
        """Its value, as a jet of order 0."""
        ...


@dataclass(frozen=True)
class Constant:
    """N = constant everywhere."""

    constant: Scalar

    def jets(self, frames: Sequence[Frame], decomposed: Sequence[Decomposition]) -> list[Expansion]:
        return [frame.constant(self.constant, found) for frame, found in zip(frames, decomposed, strict=True)]

    def value(self) -> Jet:
        return point_jet(self.constant)


def frames(family: Family) -> list[Frame]:
    """The family's terms, grouped by their directions."""
    return framed(family.terms, family.domain.dimension, family.domain.coordinates)


def diffusivity(family: Family) -> Scalar:
    """κ where the residual is c·(u_t − κΔu) + ...: the ratio of its derivatives by Δu and by u_t at a random point,
    where u and every term are 1. The largest over the parameters; negative where the equation is u_t + |κ|Δu + ... = 0,
    and 0 without either term."""
    times = [name for name, operator in family.terms.items() if operator.is_time_derivative]
    spreads = [name for name, operator in family.terms.items() if operator.is_laplacian]
    if not times or not spreads or family.domain.time_horizon is None:
        return jnp.zeros(())
    space, x = family.parameters, family.domain.sample(stream(0, Purpose.CHECK))
    ones = dict.fromkeys(family.terms, jnp.ones(()))

    def at(mu: Parameter) -> Scalar:
        residual = lambda terms: family.residual(Derivatives(jnp.ones(()), terms), x, space.named(mu))
        by_terms = jax.grad(residual)(ones)
        rate, spread = (sum_of(by_terms[name] for name in names) for names in (times, spreads))
        return jnp.where(rate == 0, 0.0, -spread / jnp.where(rate == 0, 1.0, rate))

    ends = jnp.asarray([space.lows, space.highs], x.dtype)
    found = jax.vmap(at)(jnp.concatenate([ends, space.quadrature()[0]]))
    found = jnp.where(jnp.isfinite(found), found, 0.0)
    return found[jnp.argmax(jnp.abs(found))]


def is_linear(family: Family) -> bool:
    """Whether every term is linear in u, however the residual combines them."""
    return all(operator.linear for operator in family.terms.values())


def place_at(family: Family, x: Point, mu: Parameter, gradients: Gradients | None) -> Place:
    """The place (x, μ) as a lift with these gradients sees it."""
    return Place(x, family.parameters.named(mu), gradients, family.domain.dimension)


def sample_pair(family: Family, key: Key) -> tuple[Point, Parameter]:
    """A random point and, independent of it, a random parameter."""
    point, parameter = children(key, Purpose.POINTS, Purpose.PARAMETERS)
    return family.domain.sample(point), family.parameters.sample(parameter)


def draw_directions(family: Family, estimator: Estimator, place: Place, key: Key) -> tuple[Draw, ...]:
    """The random part of the directions of every frame, each from a key of its own."""
    return tuple(frame.draw(estimator, place, item(key, number)) for number, frame in enumerate(frames(family)))


def decompositions(family: Family, draws: Sequence[Draw], place: Place) -> list[Decomposition]:
    """Directions and weights of every frame at a place."""
    return [frame.decompose(draw, place) for frame, draw in zip(frames(family), draws, strict=True)]


def derivatives(family: Family, decomposed: Sequence[Decomposition], network: NetworkJets, place: Place) -> Derivatives:
    """u and its terms where N has these jets."""
    constraint, terms = family.constraint(), {}
    if not decomposed:
        return Derivatives(constraint.apply(network.value(), place.x, place.mu, None).value, {})
    value, grouped = jnp.zeros(()), frames(family)
    jets = network.jets(grouped, decomposed)
    for frame, decomposition, jet in zip(grouped, decomposed, jets, strict=True):
        u = constraint.apply(jet, place.x, place.mu, decomposition.directions)
        value = u.value
        terms |= frame.read(u)
    return Derivatives(value, terms)


def constrained_value(family: Family, value: Scalar, x: Point, mu: Parameter) -> Scalar:
    """u(x; μ) where N has this value."""
    named = family.parameters.named(mu)
    u = family.constraint().apply(point_jet(value), x, named, None).value
    return u + family.background(x, named) if family.has_background else u


def constant_width(family: Family) -> int:
    """Channels that directions have to span where N is constant: one, and what the constraint adds."""
    return 1 + family.constraint().span_width


def constant_place(family: Family, x: Point, mu: Parameter) -> Place:
    """The place (x, μ) as a constant network sees it."""
    return place_at(family, x, mu, Gradients.unknown(x.shape[0], 1).with_own(family.constraint().gradients(x)))


def constant_residual(family: Family, draws: Sequence[Draw], x: Point, mu: Parameter, value: Scalar) -> Scalar:
    """The residual at one pair where N is this constant everywhere. Draws are for `constant_width` channels."""
    place = constant_place(family, x, mu)
    u = derivatives(family, decompositions(family, draws, place), Constant(value), place)
    return family.residual(u, x, place.mu)
