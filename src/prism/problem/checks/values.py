"""Values of a family where no network is needed to know them: at random points, for random parameters and at the
corners of their box."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from prism.derivatives.estimators import Gaussian
from prism.errors import InputError
from prism.numerics.compilation import RUNS_ONCE, on_cpu
from prism.numerics.keys import Purpose, child, item, items
from prism.problem.checks.declarations import name_of
from prism.problem.family import Derivatives, Family
from prism.problem.parameters import ParameterSpace
from prism.problem.terms import constrained_value, decompositions, derivatives, draw_directions, place_at
from prism.problem.wave import Wave
from prism.shapes import Key, Parameter, Point, Scalar, Vector

PAIRS = 8
"""Random pairs of a point and a parameter at which a family is tried."""
CORNERS = 16
"""Corners of the box at which it is tried as well: all of them, for up to four parameters."""
MOST_ROUNDS, FEWEST_ROUNDS, SEARCHED_COORDINATES = 250, 10, 20_000_000
"""Further draws of random pairs in search of an effect of a parameter: as many as have this many coordinates in all,
within these bounds."""
REFLECTED, EXCHANGED = 1, 2
"""How a parameter is moved."""


class Pairs(NamedTuple):
    """Points and the parameter at each."""

    points: Float[np.ndarray, "n coordinates"]
    parameters: Float[np.ndarray, "n p"]


def check_values(family: Family, key: Key) -> Pairs:
    """Finite values everywhere, and a residual that u and every parameter move. Returns the random pairs."""
    corners = jnp.asarray(_corners(family.parameters), float)
    compiled = jax.jit(lambda *given: _looks(family, *given), compiler_options=on_cpu(RUNS_ONCE))
    look = lambda own, moved: _Found(*jax.tree.map(np.asarray, compiled(own, corners, moved)))
    first = look(key, np.zeros((PAIRS + len(corners), family.parameters.size), int))
    for name, found in {**first.fields, **first.values}.items():
        _check_finite(family, name, found, first.parameters)
    if np.all(first.by_u == 0.0):
        raise InputError(
            f"the residual of {name_of(family)} does not depend on u: every u solves it, or none; use u.value and "
            "the terms in it"
        )
    if all(condition.at_every_parameter for condition in family.conditions.values()):
        _check_parameters(family, key, corners, look)
    return Pairs(first.points[:PAIRS], first.parameters[:PAIRS])


def _check_parameters(family: Family, key: Key, corners: Float[Array, "n p"], look: "Look") -> None:
    """Raise an InputError that names a parameter that changes no value at the pairs, by which no value has a derivative
    there, and that changes no value at many further random pairs."""
    acts = _moving_values(family, key, len(corners), look, REFLECTED)
    if np.all(acts):
        return
    # Equal values prove nothing: (μ − middle)² is the same on both sides of the interval.
    acts |= _with_derivative(family, key, corners)
    most = SEARCHED_COORDINATES // (PAIRS * family.domain.coordinates)
    rounds = int(np.clip(most, FEWEST_ROUNDS, MOST_ROUNDS))
    for number in range(rounds):
        if np.all(acts):
            return
        # Neither do derivatives: a parameter that moves the place of a jump is seen near that alone.
        acts |= _moving_values(family, item(key, number), len(corners), look, EXCHANGED)
    if not np.all(acts):
        raise InputError(
            f"{name_of(family)} never uses the parameter {family.parameters.names[int(np.argmin(acts))]}: its residual "
            f"did not change with it at {rounds * PAIRS} random points; use it in residual, source or constraint, or "
            "take it out of parameters"
        )


def _moving_values(family: Family, key: Key, corner_count: int, look: "Look", how: int) -> Bool[np.ndarray, "p"]:
    """Which parameters, moved alone at some of the pairs, change a value there."""
    count, size = PAIRS + corner_count, family.parameters.size
    one_moved = np.arange(count)[:, None] % size == np.arange(size)
    still, moved = look(key, np.zeros((count, size), int)), look(key, how * one_moved)
    changed = [values != still.values[name] for name, values in moved.values.items()]
    return np.any(np.any(changed, axis=0)[:, None] & one_moved, axis=0)


class _Found(NamedTuple):
    """At each pair: `fields` are the family's own functions (source, exact), `values` the residual and what each
    condition prescribes, `by_u` the residual's derivatives by u and its terms."""

    points: Any
    parameters: Any
    fields: dict[str, Any]
    values: dict[str, Any]
    by_u: Any


Look = Callable[[Key, np.ndarray], _Found]
"""Evaluates a family at the pairs that a key draws, with the marked parameters moved."""


def _looks(family: Family, key: Key, corners: Float[Array, "n p"], moved: Int[Array, "pairs p"]) -> _Found:
    """Evaluate the family at every pair, with the parameters marked in `moved` reflected about the middle of their
    interval, or exchanged with those of another pair.

    That is an argument of one compiled program: two programs may round differently, and here a difference has to mean
    an effect.
    """
    keys, points, parameters = _places(family, key, corners)
    space = family.parameters
    other_side = jnp.sum(jnp.asarray([space.lows, space.highs], float), axis=0)[None] - parameters
    other_pair = jnp.roll(parameters, 1, axis=0)
    parameters = jnp.select([moved == REFLECTED, moved == EXCHANGED], [other_side, other_pair], parameters)

    def look(one: Key, x: Point, mu: Parameter) -> tuple[dict[str, Scalar], dict[str, Scalar], Vector]:
        named, trial = space.named(mu), _Trial(family, one, x)
        fields = {name: jnp.asarray(getattr(family, name)(x, named), x.dtype) for name in known_fields(family)}
        by_u = jax.grad(trial.residual)(trial.terms(mu), mu)  # not through the jets: cheap to compile
        return fields, trial.values(mu), jnp.stack([*by_u.values()])

    return _Found(points, parameters, *jax.vmap(look)(keys, points, parameters))


def _places(family: Family, key: Key, corners: Float[Array, "n p"]) -> tuple[Array, Array, Array]:
    """Keys, points and parameters: random pairs, then the corners at the same points again, so that what fails there
    alone is the corner's fault."""
    count = PAIRS + corners.shape[0]
    again = np.arange(count) % PAIRS
    keys = items(key, PAIRS)[again]
    drawn = jax.vmap(lambda one: family.parameters.sample(child(one, Purpose.PARAMETERS)))(keys[:PAIRS])
    points = jax.vmap(lambda one: family.domain.sample(child(one, Purpose.POINTS)))(keys[:PAIRS])
    return keys, points[again], jnp.concatenate([drawn, corners])


def _corners(space: ParameterSpace) -> Float[np.ndarray, "n p"]:
    """All corners of the box if they are few; else both ends of each parameter, with the others at their lowest or
    highest."""
    lows, highs = np.asarray(space.lows), np.asarray(space.highs)
    if 2**space.size <= CORNERS:
        upper = np.asarray([*itertools.product((False, True), repeat=space.size)])
    else:
        one = np.eye(space.size, dtype=bool)
        upper = np.concatenate([one, ~one, np.zeros((1, space.size), bool), np.ones((1, space.size), bool)])
    return np.where(upper, highs[None], lows[None])


@dataclass(frozen=True)
class _Trial:
    """A family at one point, with a `Wave` in place of its network, whose jets are known in closed form."""

    family: Family
    key: Key
    x: Point

    def terms(self, mu: Parameter) -> dict[str, Scalar]:
        """u and every term of it."""
        family, place = self.family, place_at(self.family, self.x, mu, None)
        draws = draw_directions(family, Gaussian(2), place, child(self.key, Purpose.DIRECTIONS))
        u = derivatives(family, decompositions(family, draws, place), Wave(self.x), place)
        return {name: getattr(u, name) for name in ("value", *family.terms)}

    def residual(self, u: dict[str, Scalar], mu: Parameter) -> Scalar:
        given = Derivatives(u["value"], {name: u[name] for name in self.family.terms})
        return self.family.residual(given, self.x, self.family.parameters.named(mu))

    def values(self, mu: Parameter) -> dict[str, Scalar]:
        """The residual, u for two values of the network and, of each condition that holds at every parameter, its value
        and its point."""
        found = {"residual": self.residual(self.terms(mu), mu)}
        for value in (0.0, 1.0):
            found[f"constraint at N = {value:g}"] = constrained_value(self.family, jnp.full((), value), self.x, mu)
        keys = items(child(self.key, Purpose.CONDITIONS), len(self.family.conditions))
        for (name, condition), own in zip(self.family.conditions.items(), keys, strict=True):
            if condition.at_every_parameter:
                target = condition.draw_at(mu, self.family.parameters, own)
                found[f'condition "{name}"'] = target.value
                along = jnp.arange(1.0, target.x.size + 1.0)
                found[f'point of the condition "{name}"'] = target.x @ along  # which every coordinate changes
                if target.along is not None:
                    found[f'vector of the condition "{name}"'] = target.along @ along
        return found


def _with_derivative(family: Family, key: Key, corners: Float[Array, "n p"]) -> Bool[np.ndarray, "p"]:
    """By which parameters a value has a derivative that is not zero at some pair. It compiles for seconds, so it is
    called only where values did not change."""
    slopes = lambda one, x, mu: jax.jacfwd(_Trial(family, one, x).values)(mu)
    compiled = jax.jit(lambda: jax.vmap(slopes)(*_places(family, key, corners)), compiler_options=on_cpu(RUNS_ONCE))
    found = np.stack([np.asarray(by_parameter) for by_parameter in compiled().values()])
    return np.any(found != 0.0, axis=(0, 1))


def known_fields(family: Family) -> list[str]:
    """Functions of a point and a parameter that a family gives, whose values can be looked at."""
    return [name for name in ("source", "exact") if getattr(family, f"has_{name}", hasattr(family, name))]


def _check_finite(family: Family, what: str, values: np.ndarray, parameters: np.ndarray) -> None:
    bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if not len(bad):
        return
    where = ", ".join(
        f"{name} = {value:.4g}" for name, value in zip(family.parameters.names, parameters[bad[0]], strict=True)
    )
    random = bad[bad < PAIRS]
    place, fix = (
        (f"{len(random)} of {PAIRS} random points", "look for a division by zero, a root or a logarithm")
        if len(random)
        else ("a corner of the parameters' box", "take other bounds, or another formula")
    )
    raise InputError(f"the {what} of {name_of(family)} is not finite at {place}, such as at {where}; {fix}")
