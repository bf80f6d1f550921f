"""Derivatives and residual at one pair (x, μ)."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.directions import Decomposition
from prism.derivatives.estimators import Estimator
from prism.derivatives.operators import Operator
from prism.derivatives.taylor import Jet
from prism.networks.lift import Lifted, hidden_jet, point_jet
from prism.networks.model import Model
from prism.problem.family import Derivatives, Family
from prism.shapes import Hidden, Key, Parameter, Point, Scalar


def frames(family: Family) -> list[dict[str, Operator]]:
    """The family's terms, grouped so that each group is read off one jet."""
    groups: dict[object, dict[str, Operator]] = {}
    for name, operator in family.terms.items():
        groups.setdefault(operator.frame, {})[name] = operator
    return list(groups.values())


def decompositions(
    family: Family, estimator: Estimator, weight: Float[Array, "coordinates width"], x: Point, mu: Parameter, key: Key
) -> list[Decomposition]:
    """Directions and weights of every frame at one x and one μ."""
    named = family.parameters.named(mu)
    leaders = [next(iter(group.values())) for group in frames(family)]
    return [
        leader.decompose(estimator, family.domain, x, named, jax.random.fold_in(key, index), weight)
        for index, leader in enumerate(leaders)
    ]


def derivatives(
    model: Model, family: Family, estimator: Estimator, x: Point, mu: Parameter, key: Key, probe: Lifted | None = None
) -> Derivatives:
    """u and the family's terms at one x and one μ. `probe` is added to what leaves the lift, to differentiate by it."""
    parts = decompositions(family, estimator, model.lift.weight, x, mu, key)
    lifted = model.lift.lifted(x, [part.directions for part in parts])
    if probe is not None:
        lifted = jax.tree.map(jnp.add, lifted, probe)
    return read_derivatives(model, family, parts, lifted, x, mu)


def read_derivatives(
    model: Model, family: Family, parts: Sequence[Decomposition], lifted: Lifted, x: Point, mu: Parameter
) -> Derivatives:
    """u and its terms from what has left the lift: nothing here, the constraint apart, sees the dimension."""
    named, constraint = family.parameters.named(mu), family.constraint()
    value, terms = None, {}
    for group, part, first in zip(frames(family), parts, lifted.firsts, strict=True):
        order = max(operator.order for operator in group.values())
        collapsed = all(operator.linear for operator in group.values() if operator.order == order)
        network = model.read(hidden_jet(lifted.value, first, part.weights, order, collapsed), mu)
        u = constraint.apply(network, x, named, part.directions)
        value = u.value
        terms |= {name: operator.read(u) for name, operator in group.items()}
    if value is None:
        value = constraint.apply(model.read(point_jet(lifted.value), mu), x, named, None).value
    return Derivatives(value, terms)


def solution_value(model: Model, family: Family, x: Point, mu: Parameter, probe: Lifted | None = None) -> Scalar:
    """u(x; μ) alone; `probe` as in `derivatives`."""
    lifted = model.lift(x) if probe is None else model.lift(x) + probe.value
    return lifted_value(model, family, lifted, x, mu)


def lifted_value(model: Model, family: Family, lifted: Hidden, x: Point, mu: Parameter) -> Scalar:
    """u(x; μ) from what has left the lift; the constraint alone still asks for x."""
    network = model.read(point_jet(lifted), mu)
    return family.constraint().apply(network, x, family.parameters.named(mu), None).value


def constrained_constant(family: Family, x: Point, mu: Parameter, constant: Scalar) -> Scalar:
    """u(x; μ) where the network is this constant: what the constraint alone makes of it."""
    network = Jet(constant, (), None, jnp.zeros(0, constant.dtype))
    return family.constraint().apply(network, x, family.parameters.named(mu), None).value


def residual(
    model: Model, family: Family, estimator: Estimator, x: Point, mu: Parameter, key: Key, probe: Lifted | None = None
) -> Scalar:
    """F(u, Du, ...; x, μ), with derivatives as the estimator takes them."""
    u = derivatives(model, family, estimator, x, mu, key, probe)
    return family.residual(u, x, family.parameters.named(mu))
