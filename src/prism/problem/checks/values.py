"""Values of a family where no network is needed to know them: at random points, for random parameters and at the
corners of their box."""

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from prism.derivatives.estimators import Gaussian
from prism.errors import InputError
from prism.numerics.compilation import RUNS_ONCE, on_cpu
from prism.numerics.keys import Purpose, child, items
from prism.problem.checks.declarations import name_of
from prism.problem.family import Derivatives, Family
from prism.problem.parameters import ParameterSpace
from prism.problem.terms import decompositions, derivatives, draw_directions, place_at
from prism.problem.wave import Wave
from prism.shapes import Key, Parameter, Point, Scalar, Vector

PAIRS = 8
"""Random pairs of a point and a parameter at which a family is tried."""
CORNERS = 16
"""Corners of the box at which it is tried as well: all of them, for up to four parameters."""


class Pairs(NamedTuple):
    """Points and the parameter at each."""

    points: Float[np.ndarray, "n coordinates"]
    parameters: Float[np.ndarray, "n p"]


def check_values(family: Family, key: Key) -> Pairs:
    """Finite values everywhere, and a residual that u and every parameter move. Returns the random pairs."""
    corners = jnp.asarray(_corners(family.parameters), float)
    compiled = jax.jit(lambda *given: _looks(family, *given), compiler_options=on_cpu(RUNS_ONCE))
    look = lambda moved, shift: _Looks(*jax.tree.map(np.asarray, compiled(key, corners, moved, shift)))
    count, size = PAIRS + len(corners), family.parameters.size
    none, each = np.zeros((count, size), bool), np.arange(count)[:, None] % size == np.arange(size)
    first = look(none, 0.0)
    for name, found in {**first.fields, "residual": first.values}.items():
        _check_finite(family, name, found, first.parameters)
    by_u = look(none, 0.1).values[:, 0] != first.values[:, 0]
    by_parameter = np.any(look(each, 0.0).values != first.values, axis=1)[:, None] & each
    if not np.any(by_u) or not np.all(np.any(by_parameter, axis=0)):
        _check_slopes(family, key, corners)
    return Pairs(first.points[:PAIRS], first.parameters[:PAIRS])


class _Looks(NamedTuple):
    """Pairs, and at each the functions that the family gives and the residual with what the conditions prescribe."""

    points: Any
    parameters: Any
    fields: dict[str, Any]
    values: Any


def _looks(
    family: Family, key: Key, corners: Float[Array, "n p"], moved: Bool[Array, "pairs p"], shift: Scalar
) -> _Looks:
    """For a wave that is shifted so far; parameters that are `moved` lie on the other side of their interval. It is one
    program for all of these, in which what does not change stays the same to the last bit."""
    keys, points, parameters = _places(family, key, corners)
    space = family.parameters
    other_side = jnp.sum(jnp.asarray([space.lows, space.highs], float), axis=0)[None] - parameters
    parameters = jnp.where(moved, other_side, parameters)

    def look(one: Key, x: Point, mu: Parameter) -> tuple[dict[str, Scalar], Vector]:
        named = space.named(mu)
        fields = {name: jnp.asarray(getattr(family, name)(x, named), x.dtype) for name in known_fields(family)}
        trial = _Trial(family, one, x, shift)
        return fields, jnp.stack([trial.residual(trial.terms(mu), mu), *trial.prescribed(mu)])

    return _Looks(points, parameters, *jax.vmap(look)(keys, points, parameters))


def _places(family: Family, key: Key, corners: Float[Array, "n p"]) -> tuple[Array, Array, Array]:
    """Keys, points and parameters: random pairs, then the corners at the same points again, so that what fails there
    alone is the corner's fault."""
    count = PAIRS + corners.shape[0]
    keys = items(key, PAIRS)[np.arange(count) % PAIRS]
    drawn = jax.vmap(lambda one: family.parameters.sample(child(one, Purpose.PARAMETERS)))(keys[:PAIRS])
    points = jax.vmap(lambda one: family.domain.sample(child(one, Purpose.POINTS)))(keys[:PAIRS])
    return keys, points[np.arange(count) % PAIRS], jnp.concatenate([drawn, corners])


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
    """A family at one point, with a wave N for its network, whose jets are known in closed form."""

    family: Family
    key: Key
    x: Point
    shift: Scalar

    def terms(self, mu: Parameter) -> dict[str, Scalar]:
        """u and every term of it."""
        family, place = self.family, place_at(self.family, self.x, mu, None)
        draws = draw_directions(family, Gaussian(2), place, child(self.key, Purpose.DIRECTIONS))
        u = derivatives(family, decompositions(family, draws, place), Wave(self.x + self.shift), place)
        return {name: getattr(u, name) for name in ("value", *family.terms)}

    def residual(self, u: dict[str, Scalar], mu: Parameter) -> Scalar:
        given = Derivatives(u["value"], {name: u[name] for name in self.family.terms})
        return self.family.residual(given, self.x, self.family.parameters.named(mu))

    def prescribed(self, mu: Parameter) -> list[Scalar]:
        """What the conditions prescribe that hold at every parameter."""
        keys = items(child(self.key, Purpose.CONDITIONS), len(self.family.conditions))
        return [
            condition.draw_at(mu, self.family.parameters, own).value
            for condition, own in zip(self.family.conditions.values(), keys, strict=True)
            if condition.at_every_parameter
        ]


def _check_slopes(family: Family, key: Key, corners: Float[Array, "n p"]) -> None:
    """Raise an InputError where the derivative of the residual by u, or by a parameter, is zero everywhere. Takes
    seconds to compile: for families in which something seems to be without effect."""

    def look(one: Key, x: Point, mu: Parameter) -> tuple[Array, Array]:
        trial = _Trial(family, one, x, jnp.zeros(()))
        by_u = jnp.stack([*jax.grad(trial.residual)(trial.terms(mu), mu).values()])
        return by_u, jax.jacfwd(lambda m: jnp.stack([trial.residual(trial.terms(m), m), *trial.prescribed(m)]))(mu)

    compiled = jax.jit(lambda: jax.vmap(look)(*_places(family, key, corners)), compiler_options=on_cpu(RUNS_ONCE))
    by_u, by_parameter = map(np.asarray, compiled())
    if np.all(by_u == 0.0):
        raise InputError(
            f"the residual of {name_of(family)} does not depend on u: every u solves it, or none; use u.value and "
            "the terms in it"
        )
    everywhere = all(condition.at_every_parameter for condition in family.conditions.values())
    unused = np.all(by_parameter == 0.0, axis=(0, 1))
    for name in np.asarray(family.parameters.names)[unused & everywhere]:
        raise InputError(
            f"{name_of(family)} never uses the parameter {name}: its residual does not change with it; "
            "use it in residual, source or constraint, or take it out of parameters"
        )


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
