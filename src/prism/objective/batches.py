"""One batch: everything that a step draws at random, drawn in one place, each part from a key of its own.

Points and parameters make pairs: all of them (crossed), or one parameter per point (paired). The directions of each
frame belong to a point, or to the whole batch where the estimator shares them.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from prism.derivatives.directions import Draw, Gradients
from prism.derivatives.estimators import Estimator
from prism.errors import InputError
from prism.numerics.chunks import map_chunks
from prism.numerics.keys import Purpose, child, children, item, items
from prism.problem.conditions import Target
from prism.problem.family import Family
from prism.problem.terms import diffusivity, draw_directions, frames, place_at
from prism.shapes import Key, Keys, Parameter, Point

Result = TypeVar("Result")
Draws = tuple[Draw, ...]


@dataclass(frozen=True)
class Sampling:
    """How many points and parameters make a batch: all their pairs (crossed), or one parameter per point (paired)."""

    points: int = 100
    params: int = 100
    crossed: bool = False

    def __post_init__(self):
        for name, count in (("points", self.points), ("params", self.params)):
            if count < 1:
                raise InputError(f"{name}={count} makes a batch of nothing; give 1 or more")
        if not self.crossed and self.params != self.points:
            raise InputError(
                f"points={self.points} and params={self.params} do not pair up, one parameter per point; "
                "give equal numbers, or crossed=True for all pairs"
            )

    @property
    def pairs(self) -> int:
        """Pairs of a point and a parameter in a batch."""
        return self.points * self.params if self.crossed else self.points

    def with_points(self, count: int) -> "Sampling":
        """The same with so many points."""
        return Sampling(count, self.params if self.crossed else count, self.crossed)

    @property
    def argument(self) -> str:
        """As a program gives it to `solve`."""
        return f"sampling=prism.Sampling({self.points}, {self.params}{', crossed=True' if self.crossed else ''})"


class Pair(eqx.Module):
    """One point, one parameter, the directions drawn for every frame, and a key for what else is drawn there."""

    x: Point
    mu: Parameter
    draws: Draws
    key: Key


class Pairs(eqx.Module):
    """N pairs, one after the other. Draws of a frame that all of them share have no axis of pairs."""

    points: Float[Array, "N coordinates"]
    parameters: Float[Array, "N p"]
    draws: Draws
    keys: Keys
    shared: tuple[bool, ...] = eqx.field(static=True)

    def __len__(self) -> int:
        return self.points.shape[0]

    def map(self, function: Callable[[Pair], Result], workspace: int | None = None) -> Result:
        """The function of every pair, in chunks that bound memory; `workspace` is how many numbers one pair needs, its
        coordinates unless given."""
        own = tuple(None if shared else draw for draw, shared in zip(self.draws, self.shared, strict=True))

        def one(sample: tuple[Point, Parameter, Any, Key]) -> Result:
            x, mu, drawn, key = sample
            both = zip(self.draws, drawn, self.shared, strict=True)
            return function(Pair(x, mu, tuple(common if shared else alone for common, alone, shared in both), key))

        samples = (self.points, self.parameters, own, self.keys)
        return map_chunks(one, samples, workspace or self.points.shape[1])

    def vmap(self, function: Callable[..., Result], *more: Array) -> Result:
        """The function of every pair, and of what more there is for each, at once."""
        axes = (0, 0, tuple(None if shared else 0 for shared in self.shared), 0)
        at = lambda x, mu, draws, key, *own: function(Pair(x, mu, draws, key), *own)
        in_axes = (*axes, *[0] * len(more))
        return jax.vmap(at, in_axes=in_axes)(self.points, self.parameters, self.draws, self.keys, *more)

    def repeated(self, count: int) -> "Pairs":
        """Every pair so many times, one after the other."""
        again = lambda leaf: jnp.repeat(leaf, count, axis=0)
        draws = zip(self.draws, self.shared, strict=True)
        drawn = tuple(draw if shared else jax.tree.map(again, draw) for draw, shared in draws)
        return Pairs(again(self.points), again(self.parameters), drawn, again(self.keys), self.shared)

    def first(self) -> Pair:
        """The first of them, for what depends on shapes alone."""
        draws = zip(self.draws, self.shared, strict=True)
        drawn = tuple(draw if shared else jax.tree.map(lambda leaf: leaf[0], draw) for draw, shared in draws)
        return Pair(self.points[0], self.parameters[0], drawn, self.keys[0])


class Batch(eqx.Module):
    """Points, parameters, the directions of every frame, a second draw of them where the loss asks for one, and the
    targets of each condition."""

    points: Float[Array, "points coordinates"]
    parameters: Float[Array, "params p"]
    draws: Draws
    second_draws: Draws | None
    targets: tuple[Target, ...]
    keys: Keys
    """One per pair, for what a row draws beside its directions."""
    number: Int[Array, ""]
    """Which of a run's batches this is."""
    shared: tuple[bool, ...] = eqx.field(static=True)
    """Of each frame: whether its draw is one for the whole batch."""
    crossed: bool = eqx.field(static=True)

    def pairs(self) -> Pairs:
        """All pairs, in the order of the flattened residuals: a point with each of its parameters, then the next."""
        points, parameters, draws = self.points, self.parameters, self.draws
        if self.crossed:
            count = parameters.shape[0]
            repeated = lambda leaf: jnp.repeat(leaf, count, axis=0)
            parameters = jnp.tile(parameters, (points.shape[0], 1))
            points = repeated(points)
            both = zip(draws, self.shared, strict=True)
            draws = tuple(draw if shared else jax.tree.map(repeated, draw) for draw, shared in both)
        return Pairs(points, parameters, draws, self.keys, self.shared)

    def over_pairs(self, function: Callable[[Point, Parameter, Draws], Result], draws: Draws) -> Result:
        """The function of every pair at once, flattened, along one of the draws of this batch.

        Under two nested `vmap`s whatever depends on x alone (the lift, the hard constraint, μ-free parts of the source)
        is computed once per point, and whatever depends on μ alone (the generator) once per parameter.
        """
        axes = tuple(None if shared else 0 for shared in self.shared)
        if not self.crossed:
            return jax.vmap(function, in_axes=(0, 0, axes))(self.points, self.parameters, draws)
        over_parameters = jax.vmap(function, in_axes=(None, 0, None))
        crossed = jax.vmap(over_parameters, in_axes=(0, None, axes))(self.points, self.parameters, draws)
        return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), crossed)


def draw_batch(family: Family, estimator: Estimator, sampling: Sampling, width: int, twice: bool, key: Key) -> Batch:
    """A batch for a lift of `width` channels; `twice` asks for a second, independent draw of the directions."""
    purposes = (Purpose.POINTS, Purpose.PARAMETERS, Purpose.CONDITIONS, Purpose.SLOPES)
    point_key, parameter_key, condition_key, slope_key = children(key, *purposes)
    kappa = diffusivity(family)
    points = jax.vmap(lambda k: family.domain.training_point(k, kappa))(items(point_key, sampling.points))
    parameters = jax.vmap(family.parameters.sample)(items(parameter_key, sampling.params))
    shared = tuple(frame.is_shared(estimator) for frame in frames(family))
    batch = Batch(
        points,
        parameters,
        (),
        None,
        _targets(family, condition_key),
        items(slope_key, sampling.pairs),
        jnp.zeros((), jnp.int32),
        shared,
        sampling.crossed,
    )
    return redraw(batch, family, estimator, width, key, twice)


def redraw(batch: Batch, family: Family, estimator: Estimator, width: int, key: Key, twice: bool = False) -> Batch:
    """The batch with new directions for every frame: one draw where it is shared, else one per point."""
    unknown, mu = Gradients.unknown(batch.points.shape[1], width), batch.parameters[0]
    at = lambda x, k: draw_directions(family, estimator, place_at(family, x, mu, unknown), k)

    def draws(purpose: Purpose) -> Draws:
        parent, nothing = child(key, purpose), (None,) * len(batch.shared)
        common = at(batch.points[0], child(parent, Purpose.WHOLE)) if any(batch.shared) else nothing
        own = nothing if all(batch.shared) else jax.vmap(at)(batch.points, items(parent, batch.points.shape[0]))
        both = zip(common, own, batch.shared, strict=True)
        return tuple(one if shared else each for one, each, shared in both)  # pyright: ignore[reportReturnType]

    second = draws(Purpose.SECOND_DIRECTIONS) if twice else None
    return dataclasses.replace(batch, draws=draws(Purpose.DIRECTIONS), second_draws=second)


def pair_at(family: Family, estimator: Estimator, mu: Parameter, width: int, key: Key) -> Pair:
    """A random point at a given parameter, with directions for a lift of `width` channels."""
    point_key, direction_key, slope_key = children(key, Purpose.POINTS, Purpose.DIRECTIONS, Purpose.SLOPES)
    x = family.domain.training_point(point_key, diffusivity(family))
    place = place_at(family, x, mu, Gradients.unknown(x.shape[0], width))
    return Pair(x, mu, draw_directions(family, estimator, place, direction_key), slope_key)


def _targets(family: Family, key: Key) -> tuple[Target, ...]:
    """A batch of targets for each condition."""
    targets, kappa = [], diffusivity(family)
    for number, condition in enumerate(family.conditions.values()):
        draw = partial(condition.diffused(kappa).draw, family.parameters)
        targets.append(jax.vmap(draw)(items(item(key, number), condition.points)))
    return tuple(targets)
