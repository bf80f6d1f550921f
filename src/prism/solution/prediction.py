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
from prism.numerics.chunks import chunk_size, map_chunks
from prism.objective.residuals import solution_value
from prism.problem.domains import Domain
from prism.problem.family import Family
from prism.shapes import Parameter, Point, Scalar

PointFunction = Callable[[Model, Family, Array, Array], Array]
"""A function of a network and its family at one pair (x, μ)."""
PairFunction = Callable[[Array, Array], Array]
"""A function at one pair: `eqx.Partial(value, model, family)`, whose arrays JAX then sees as arguments."""
MOST_AT_ONCE = 1_024
"""Points that are worked on at once, which bounds what a lift makes of them."""


def value(model: Model, family: Family, x: Point, mu: Parameter) -> Scalar:
    """u(x; μ)."""
    return solution_value(model, family, x, mu)


def exact(family: Family, x: Point, mu: Parameter) -> Scalar:
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
    function: PairFunction,
    domain: Domain,
    indices: Int[np.ndarray, "rows moving"],
    values: Float[np.ndarray, "rows moving"],
    mu: Float[np.ndarray, "rows p"],
) -> Float[np.ndarray, "rows"]:
    """The function at points that differ from the centre in a few coordinates, each row in its own. Whole points exist
    for one chunk of rows at a time."""
    size = chunk_size(len(values), domain.coordinates, MOST_AT_ONCE)
    dtype, found = jnp.zeros(()).dtype, []
    for first in range(0, len(values), size):
        rows = np.arange(first, first + size) % len(values)  # the last chunk is filled up: one program serves all
        chunk = (jnp.asarray(indices[rows]), jnp.asarray(values[rows], dtype), jnp.asarray(mu[rows], dtype))
        found.append(np.asarray(_at_places(function, domain, *chunk), np.float64)[: len(values) - first])
    return np.concatenate(found)


@eqx.filter_jit
def _at_places(
    function: PairFunction, domain: Domain, indices: Array, values: Array, mu: Array
) -> Float[Array, "rows"]:
    centre = domain.centre()
    return jax.vmap(lambda own, row, m: function(centre.at[own].set(row), m))(indices, values, mu)


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
