"""The loss of one batch, the only place where points and parameters are batched.

The maths is written for one pair. Under two nested `vmap`s whatever depends on x alone (the lift, the hard
constraint, μ-free parts of the source) is computed once a point, and whatever depends on μ alone (the
generator) once a parameter, for all pairs of N_x points and N_μ parameters.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.estimators import Estimator
from prism.errors import InputError
from prism.networks.lift import Lifted
from prism.networks.model import Model
from prism.numerics.chunks import chunk_of
from prism.objective.residuals import residual, solution_value
from prism.problem.conditions import Wanted
from prism.problem.family import Family
from prism.shapes import Key, Keys, Parameter, Point, Scalar


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
    """Points, parameters, one key for the directions at each point, and what each condition asks for."""

    points: Float[Array, "points coordinates"]
    parameters: Float[Array, "params p"]
    key: Key
    wanted: tuple[Wanted, ...] = ()


@dataclass(frozen=True)
class Slopes:
    """The residual's gradient as a part of the loss: the whole of it, or its derivative along so many random
    directions a point."""

    directions: int | None = None

    def __post_init__(self):
        if self.directions is not None and self.directions < 1:
            raise InputError(f"slopes along {self.directions} directions are none; give 1 or more, or whole")


class Objective(eqx.Module):
    """mean (r / scale)²  [ + mean |∇ₓr / slope_scale|² ]  over a batch, with r estimated once (`shared`: its variance
    is added to the loss) or as the product of two independent estimates (unbiased; paper, Theorem A.3, Remark A.1).

    `scale` is the root mean square of the residual of u = 0 (up to the constraint), so that a loss of 1 means
    "as wrong as predicting nothing" at every dimension; `slope_scale` that of its gradient, so that both parts
    start at one.
    """

    family: Family
    estimator: Estimator
    scale: Scalar
    sampling: Sampling = eqx.field(static=True)
    independent: bool = eqx.field(static=True, default=False)
    slopes: Slopes | None = eqx.field(static=True, default=None)
    slope_scale: Scalar = eqx.field(default_factory=lambda: jnp.ones(()))
    condition_scale: Scalar = eqx.field(default_factory=lambda: jnp.ones(()))

    def draw(self, key: Key) -> Batch:
        point_key, parameter_key, direction_key = jax.random.split(key, 3)
        points = jax.vmap(self.family.domain.sample)(jax.random.split(point_key, self.sampling.points))
        keys = jax.random.split(parameter_key, self.sampling.params)
        return Batch(points, jax.vmap(self.family.parameters.sample)(keys), direction_key, self._wanted(key))

    def _wanted(self, key: Key) -> tuple[Wanted, ...]:
        """A batch of what each condition asks for."""
        wanted = []
        for number, condition in enumerate(self.family.conditions.values()):
            keys = jax.random.split(jax.random.fold_in(key, number), condition.points)
            wanted.append(jax.vmap(lambda k, c=condition: c.draw(self.family.parameters, k))(keys))
        return tuple(wanted)

    def misses(self, model: Model, batch: Batch) -> list[Float[Array, "_"]]:
        """√weight (u − g) / condition_scale of each condition."""
        one = lambda w: self.miss(model, w)
        conditions = zip(self.family.conditions.values(), batch.wanted, strict=True)
        return [condition.weight**0.5 * jax.vmap(one)(wanted) for condition, wanted in conditions]

    def miss(self, model: Model, wanted: Wanted, probe: Lifted | None = None) -> Scalar:
        """(u − g) / condition_scale at one pair."""
        value = solution_value(model, self.family, wanted.x, wanted.mu, probe)
        return (value - wanted.value) / self.condition_scale

    def residuals(self, model: Model, batch: Batch, key: Key) -> Float[Array, "..."]:
        """r / scale of every pair of the batch: (points, params) crossed, (points,) paired."""
        one = lambda x, mu, k: residual(model, self.family, self.estimator, x, mu, k) / self.scale
        keys = self._keys(key, batch.points.shape[0])
        key_axis = None if self.estimator.shared else 0
        if self.sampling.crossed:
            one = jax.vmap(one, in_axes=(None, 0, None))
            return jax.vmap(one, in_axes=(0, None, key_axis))(batch.points, batch.parameters, keys)
        return jax.vmap(one, in_axes=(0, 0, key_axis))(batch.points, batch.parameters, keys)

    def _keys(self, key: Key, points: int) -> Keys:
        """One key for all points where they share their directions, else one each."""
        return key if self.estimator.shared else jax.random.split(key, points)

    def pairs(self, batch: Batch, key: Key) -> tuple[Float[Array, "N coordinates"], Float[Array, "N p"], Keys]:
        """Point, parameter and key of every pair, in the order of the flattened residuals."""
        points, parameters = batch.points, batch.parameters
        keys = self._keys(key, points.shape[0])
        keys = jnp.broadcast_to(keys, points.shape[:1]) if self.estimator.shared else keys
        if self.sampling.crossed:
            count = parameters.shape[0]
            parameters = jnp.tile(parameters, (points.shape[0], 1))
            points, keys = jnp.repeat(points, count, axis=0), jnp.repeat(keys, count)
        return points, parameters, keys

    def residuals_and_slopes(
        self, model: Model, batch: Batch, key: Key
    ) -> tuple[Float[Array, "N"], Float[Array, "N coordinates"]]:
        """r / scale and its gradient in x, for every pair."""
        points, parameters, keys = self.pairs(batch, key)

        def one(pair: tuple[Point, Parameter, Key]) -> tuple[Scalar, Point]:
            x, mu, k = pair
            return jax.value_and_grad(
                lambda place: residual(model, self.family, self.estimator, place, mu, k) / self.scale
            )(x)

        return jax.lax.map(jax.checkpoint(one), (points, parameters, keys), batch_size=chunk_of(points.shape))

    def loss(self, model: Model, batch: Batch) -> Scalar:
        first, second = jax.random.split(batch.key)
        r = self.residuals(model, batch, first)
        loss = jnp.mean(r * (self.residuals(model, batch, second) if self.independent else r))
        for misses in self.misses(model, batch):
            loss = loss + jnp.mean(misses**2)
        return loss if self.slopes is None else loss + self.slope_loss(model, batch, first, self.slopes)

    def slope_loss(self, model: Model, batch: Batch, key: Key, slopes: Slopes) -> Scalar:
        """mean |∇ₓr / slope_scale|²: by one reverse pass, or as the mean of (v·∇ₓr)² over normal v."""
        if slopes.directions is None:
            _, whole = self.residuals_and_slopes(model, batch, key)
            return jnp.mean(jnp.sum((self.scale / self.slope_scale * whole) ** 2, axis=1))
        count = slopes.directions
        points, parameters, keys = self.pairs(batch, key)

        def one(pair: tuple[Point, Parameter, Key]) -> Scalar:
            x, mu, k = pair
            at = lambda place: residual(model, self.family, self.estimator, place, mu, k) / self.slope_scale
            directions = jax.random.normal(jax.random.fold_in(k, 1), (count, x.shape[0]))
            return jnp.mean(jax.vmap(lambda v: jax.jvp(at, (x,), (v,))[1] ** 2)(directions))

        return jnp.mean(jax.lax.map(jax.checkpoint(one), (points, parameters, keys), batch_size=chunk_of(points.shape)))


def calibrate(model: Model, objective: Objective, key: Key) -> tuple[Model, Objective]:
    """Set the units of the network's output and of the residual from the problem itself.

    With r(N) the residual: scale = rms r(0), amplitude = rms r(0) / rms r'(0)[1], the size of the constant network
    that answers a residual of that size; slope_scale = rms |∇ₓr(0)|;
    condition_scale the larger of amplitude and what the conditions ask for.
    """
    zero = jnp.zeros_like(model.manifold.offset)
    batch, silent = objective.draw(key), model.constant(zero)
    respond = lambda value: objective.residuals(model.constant(value), batch, batch.key)
    at_rest, response = jax.jvp(respond, (zero,), (jnp.ones_like(zero),))
    scale, gain = _root_mean_square(at_rest), _root_mean_square(response)
    _, slopes = objective.residuals_and_slopes(silent, batch, batch.key)
    scale = jnp.where(scale > 0, scale, 1.0)
    amplitude = model.amplitude * jnp.where(gain > 0, scale / gain, 1.0)
    model = eqx.tree_at(lambda m: m.amplitude, model, amplitude)
    slope_scale = _root_mean_square(slopes) * slopes.shape[1] ** 0.5 * objective.scale
    slope_scale = jnp.where(slope_scale > 0, slope_scale, 1.0)
    missed = jnp.concatenate([jnp.ravel(amplitude), *objective.misses(silent, batch)])
    scales = (scale * objective.scale, slope_scale, jnp.max(jnp.abs(missed)))
    return model, eqx.tree_at(lambda o: (o.scale, o.slope_scale, o.condition_scale), objective, scales)


def _root_mean_square(values: Float[Array, "..."]) -> Scalar:
    """Of the finite values: one bad point must not decide the units of a run."""
    finite = jnp.isfinite(values)
    squares = jnp.where(finite, values * values, 0.0)
    return jnp.sqrt(jnp.sum(squares) / jnp.maximum(jnp.sum(finite), 1))
