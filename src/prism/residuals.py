"""One batch: derivatives and residuals at a pair (x, μ), and the only place where they are batched.

The maths is written for one pair. Under two nested `vmap`s whatever depends on x alone (the lift, the hard
constraint, μ-free parts of the source) is computed once a point, and whatever depends on μ alone (the
generator) once a parameter, for all pairs of N_x points and N_μ parameters.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.estimators import Estimator
from prism.families.family import Derivatives, Family
from prism.networks.model import Model
from prism.operators import Operator
from prism.shapes import Key, Parameter, Point, Scalar
from prism.taylor import Jet


def frames(family: Family) -> list[dict[str, Operator]]:
    """The family's terms, grouped so that each group is read off one jet."""
    groups: dict[object, dict[str, Operator]] = {}
    for name, operator in family.terms.items():
        groups.setdefault(operator.frame, {})[name] = operator
    return list(groups.values())


def derivatives(model: Model, family: Family, estimator: Estimator, x: Point, mu: Parameter, key: Key) -> Derivatives:
    """u and the family's terms at one x and one μ."""
    named, constraint = family.parameters.named(mu), family.constraint()
    value, terms = None, {}
    for index, group in enumerate(frames(family)):
        order = max(operator.order for operator in group.values())
        collapsed = all(operator.linear for operator in group.values() if operator.order == order)
        leader = next(iter(group.values()))
        frame_key = jax.random.fold_in(key, index)
        decomposition = leader.decompose(estimator, family.domain, x, named, frame_key)
        network = model.jet(x, mu, decomposition, order, collapsed)
        u = constraint.apply(network, x, named, decomposition.directions)
        value = u.value
        terms |= {name: operator.read(u) for name, operator in group.items()}
    if value is None:
        value = solution_value(model, family, x, mu)
    return Derivatives(value, terms)


def solution_value(model: Model, family: Family, x: Point, mu: Parameter) -> Scalar:
    """u(x; μ) alone."""
    network = model.point(x, mu)
    return family.constraint().apply(network, x, family.parameters.named(mu), None).value


def constrained_constant(family: Family, x: Point, mu: Parameter, constant: Scalar) -> Scalar:
    """u(x; μ) where the network is this constant: what the constraint alone makes of it."""
    network = Jet(constant, (), None, jnp.zeros(0, constant.dtype))
    return family.constraint().apply(network, x, family.parameters.named(mu), None).value


def residual(model: Model, family: Family, estimator: Estimator, x: Point, mu: Parameter, key: Key) -> Scalar:
    """F(u, Du, ...; x, μ), with derivatives as the estimator takes them."""
    u = derivatives(model, family, estimator, x, mu, key)
    return family.residual(u, x, family.parameters.named(mu))


@dataclass(frozen=True)
class Sampling:
    """How many points and parameters make a batch: all their pairs (crossed), or one parameter a point (paired)."""

    points: int = 100
    params: int = 100
    crossed: bool = False

    def __post_init__(self):
        for name, count in (("points", self.points), ("params", self.params)):
            if count < 1:
                raise InputError(f"a batch of {count} {name} holds nothing; give 1 or more")
        if not self.crossed and self.params != self.points:
            raise InputError(
                f"paired sampling takes one parameter a point; {self.points} points and {self.params} parameters do not"
            )

    @property
    def pairs(self) -> int:
        return self.points * self.params if self.crossed else self.points


class Batch(eqx.Module):
    """Points, parameters and one key for the directions at each point."""

    points: Float[Array, "points coordinates"]
    parameters: Float[Array, "params p"]
    key: Key


class Objective(eqx.Module):
    """mean (r / scale)²  over a batch, with r estimated once (`shared`: its variance is added to the loss) or
    as the product of two independent estimates (unbiased; paper, Theorem A.3 and Remark A.1).

    `scale` is the root mean square of the residual of u = 0 (up to the constraint), so that a loss of 1 means
    "as wrong as predicting nothing" at every dimension.
    """

    family: Family
    estimator: Estimator
    scale: Scalar
    sampling: Sampling = eqx.field(static=True)
    independent: bool = eqx.field(static=True, default=False)

    def draw(self, key: Key) -> Batch:
        point_key, parameter_key, direction_key = jax.random.split(key, 3)
        points = jax.vmap(self.family.domain.sample)(jax.random.split(point_key, self.sampling.points))
        keys = jax.random.split(parameter_key, self.sampling.params)
        return Batch(points, jax.vmap(self.family.parameters.sample)(keys), direction_key)

    def residuals(self, model: Model, batch: Batch, key: Key) -> Float[Array, "..."]:
        """r / scale of every pair of the batch: (points, params) crossed, (points,) paired."""
        one = lambda x, mu, k: residual(model, self.family, self.estimator, x, mu, k) / self.scale
        shared = self.estimator.shared
        keys = key if shared else jax.random.split(key, batch.points.shape[0])
        key_axis = None if shared else 0
        if self.sampling.crossed:
            one = jax.vmap(one, in_axes=(None, 0, None))
            return jax.vmap(one, in_axes=(0, None, key_axis))(batch.points, batch.parameters, keys)
        return jax.vmap(one, in_axes=(0, 0, key_axis))(batch.points, batch.parameters, keys)

    def loss(self, model: Model, batch: Batch) -> Scalar:
        first, second = jax.random.split(batch.key)
        r = self.residuals(model, batch, first)
        return jnp.mean(r * (self.residuals(model, batch, second) if self.independent else r))


def calibrate(model: Model, objective: Objective, key: Key) -> tuple[Model, Objective]:
    """Set the units of the network's output and of the residual from the problem itself.

    With r(N) the residual: scale = rms r(0), amplitude = rms r(0) / rms r'(0)[1], the size of the constant network
    that answers a residual of that size.
    """
    silent = eqx.tree_at(lambda m: (m.manifold.readout, m.manifold.offset), model, replace_fn=jnp.zeros_like)
    batch = objective.draw(key)
    offset = silent.manifold.offset

    def respond(constant: Scalar) -> Float[Array, "..."]:
        network = eqx.tree_at(lambda m: m.manifold.offset, silent, constant)
        return objective.residuals(network, batch, batch.key)

    at_rest, response = jax.jvp(respond, (offset,), (jnp.ones_like(offset),))
    scale, gain = _root_mean_square(at_rest), _root_mean_square(response)
    scale = jnp.where(scale > 0, scale, 1.0)
    amplitude = model.amplitude * jnp.where(gain > 0, scale / gain, 1.0)
    model = eqx.tree_at(lambda m: m.amplitude, model, amplitude)
    return model, eqx.tree_at(lambda o: o.scale, objective, scale * objective.scale)


def _root_mean_square(values: Float[Array, "..."]) -> Scalar:
    """Of the finite values: one bad point must not decide the units of a run."""
    finite = jnp.isfinite(values)
    squares = jnp.where(finite, values * values, 0.0)
    return jnp.sqrt(jnp.sum(squares) / jnp.maximum(jnp.sum(finite), 1))
