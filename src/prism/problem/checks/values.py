"""Values of a family where no network is needed to know them: at random points, for random parameters and at the
corners of their box."""

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.derivatives.estimators import Gaussian
from prism.errors import InputError
from prism.numerics.compilation import RUNS_ONCE, on_cpu
from prism.numerics.keys import Purpose, child, item, items
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
    look = jax.jit(lambda key, corners: _looks(family, key, corners), compiler_options=on_cpu(RUNS_ONCE))
    points, parameters, fields, values, by_parameter, by_u = jax.tree.map(np.asarray, look(key, corners))
    for name, found in {**fields, "residual": values}.items():
        _check_finite(family, name, found, parameters)
    if np.all(by_u == 0.0):
        raise InputError(
            f"the residual of {name_of(family)} does not depend on u: every u solves it, or none; use u.value and "
            "the terms in it"
        )
    everywhere = all(condition.at_every_parameter for condition in family.conditions.values())
    for name, column in zip(family.parameters.names, by_parameter.T, strict=True):
        if np.all(column == 0.0) and everywhere:
            raise InputError(
                f"{name_of(family)} never uses the parameter {name}: its residual does not change with it; "
                "use it in residual, source or constraint, or take it out of parameters"
            )
    return Pairs(points[:PAIRS], parameters[:PAIRS])


Looks = tuple[Array, Array, dict[str, Array], Array, Array, Array]


def _looks(family: Family, key: Key, corners: Float[Array, "n p"]) -> Looks:
    """At random points for random parameters, then for the corners: points, parameters, and what `_look` tells."""
    keys = items(key, PAIRS + corners.shape[0])
    drawn = jax.vmap(lambda one: family.parameters.sample(child(one, Purpose.PARAMETERS)))(keys[:PAIRS])
    parameters = jnp.concatenate([drawn, corners])
    points = jax.vmap(lambda one: family.domain.sample(child(one, Purpose.POINTS)))(keys)
    return points, parameters, *jax.vmap(lambda *one: _look(family, *one))(keys, points, parameters)


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


def _look(
    family: Family, key: Key, x: Point, mu: Parameter
) -> tuple[dict[str, Scalar], Vector, Float[Array, "values p"], Float[Array, "u"]]:
    """The family's functions, the residual with what the conditions prescribe, the derivatives of these by μ, and that
    of the residual by u and its terms.

    The residual is that of a wave N, whose jets are known in closed form: no network is compiled for it.
    """
    prescribed = [condition for condition in family.conditions.values() if condition.at_every_parameter]
    draws = draw_directions(family, Gaussian(2), place_at(family, x, mu, None), child(key, Purpose.DIRECTIONS))
    named = family.parameters.named(mu)

    def terms(m: Parameter) -> dict[str, Scalar]:
        place = place_at(family, x, m, None)
        u = derivatives(family, decompositions(family, draws, place), Wave(x), place)
        return {name: getattr(u, name) for name in ("value", *family.terms)}

    def residual(u: dict[str, Scalar], m: Parameter) -> Scalar:
        given = Derivatives(u["value"], {name: u[name] for name in family.terms})
        return family.residual(given, x, family.parameters.named(m))

    def at(m: Parameter) -> Vector:
        keys = [item(child(key, Purpose.CONDITIONS), number) for number in range(len(prescribed))]
        targets = [c.draw_at(m, family.parameters, k).value for c, k in zip(prescribed, keys, strict=True)]
        return jnp.stack([residual(terms(m), m), *targets])

    by_u = jnp.stack([*jax.grad(residual)(terms(mu), mu).values()])
    fields = {name: jnp.asarray(getattr(family, name)(x, named), x.dtype) for name in known_fields(family)}
    return fields, at(mu), jax.jacfwd(at)(mu), by_u


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
