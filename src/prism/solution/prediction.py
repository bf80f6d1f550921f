"""u(x; μ) and its derivatives at any number of points, for parameters by name."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from prism.errors import InputError
from prism.networks.model import Model
from prism.numerics.arguments import shown
from prism.numerics.chunks import CHUNK_NUMBERS, map_chunks
from prism.objective.residuals import solution_value
from prism.problem.family import Family
from prism.shapes import Parameter, Point, Scalar

PointFunction = Callable[[Any, Family, Array, Array], Array]
"""A function of a network and its family at one pair (x, μ); of the family alone, it asks for no network."""
MOST_AT_ONCE = 4_096
"""Points that are worked on at once."""


def value(model: Model, family: Family, x: Point, mu: Parameter) -> Scalar:
    """u(x; μ)."""
    return solution_value(model, family, x, mu)


def exact(model: Model | None, family: Family, x: Point, mu: Parameter) -> Scalar:
    """u where the family knows it."""
    return family.exact(x, family.parameters.named(mu))


def gradient(model: Model, family: Family, x: Point, mu: Parameter) -> Point:
    """∇ₓu."""
    return jax.grad(lambda place: value(model, family, place, mu))(x)


def sensitivity(model: Model, family: Family, x: Point, mu: Parameter) -> Parameter:
    """∂u/∂μ."""
    return jax.grad(lambda parameter: value(model, family, x, parameter))(mu)


def at_points(function: PointFunction, model: Model, family: Family, x: Array, mu: Array) -> Array:
    """The function at one point (coordinates,) or at many (number, coordinates), in chunks that bound the memory."""
    at = _one if x.ndim == 1 else _many
    return at(function, model, family, x, mu)


def at_places(
    function: PointFunction,
    model: Model | None,
    family: Family,
    indices: Int[np.ndarray, "rows moving"],
    values: Float[np.ndarray, "rows moving"],
    mu: Float[np.ndarray, "rows p"],
) -> Float[np.ndarray, "rows"]:
    """The function at points that are the centre of the domain but for some coordinates, each row with its own; what
    has the size of the dimension is made on the way, for a few rows at a time."""
    size = max(1, min(MOST_AT_ONCE, CHUNK_NUMBERS // family.domain.coordinates, len(values)))
    dtype = jnp.zeros(()).dtype
    found = []
    for first in range(0, len(values), size):
        fill = lambda rows, first=first: np.concatenate([rows[first : first + size], rows[:1].repeat(size, axis=0)])[
            :size
        ]
        places, parameters = jnp.asarray(fill(values), dtype), jnp.asarray(fill(mu), dtype)
        some = _at_places(function, model, family, jnp.asarray(fill(indices)), places, parameters)
        found.append(np.asarray(some, np.float64)[: len(values) - first])
    return np.concatenate(found)


@eqx.filter_jit
def _at_places(
    function: PointFunction, model: Model | None, family: Family, indices: Array, values: Array, mu: Array
) -> Float[Array, "rows"]:
    centre = family.domain.centre()
    return jax.vmap(lambda own, row, m: function(model, family, centre.at[own].set(row), m))(indices, values, mu)


def asked_points(family: Family, x: Array, parameters: Mapping[str, float | Array]) -> tuple[Array, Array]:
    """Points and the μ of each as arrays, if they fit the family."""
    points = _numbers("the points", x)
    coordinates = family.domain.coordinates
    if points.ndim not in (1, 2) or points.shape[-1] != coordinates:
        raise InputError(f"points of shape {points.shape} do not fit; give ({coordinates},) or (number, {coordinates})")
    return points, _parameters(family, points.shape[:-1], parameters)


def _parameters(
    family: Family, shape: tuple[int, ...], parameters: Mapping[str, float | Array]
) -> Float[Array, "... p"]:
    space = family.parameters
    space.array(**dict.fromkeys(parameters, 0.0))
    sides = [_numbers(name, parameters[name]) for name in space.names]
    wrong = [name for name, side in zip(space.names, sides, strict=True) if side.shape not in ((), shape)]
    if wrong:
        raise InputError(f"{', '.join(wrong)}: give one number, or one for each of the {shape} points")
    return jnp.stack([jnp.broadcast_to(side, shape) for side in sides], axis=-1)


def _numbers(name: str, given: Any) -> Array:
    try:
        return jnp.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: {shown(given)} is not made of real numbers; give an array of them") from error


@eqx.filter_jit
def _one(function: PointFunction, model: Model, family: Family, x: Array, mu: Array) -> Array:
    return function(model, family, x, mu)


@eqx.filter_jit
def _many(function: PointFunction, model: Model, family: Family, points: Array, mu: Array) -> Array:
    at = lambda pair: function(model, family, *pair)
    return map_chunks(at, (points, mu), points.shape[1], most=points.shape[0])
