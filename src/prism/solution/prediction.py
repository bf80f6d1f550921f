"""u(x; μ) and its derivatives at any number of points, for parameters by name."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.networks.model import Model
from prism.numerics.arguments import shown
from prism.numerics.chunks import map_chunks
from prism.objective.residuals import solution_value
from prism.problem.family import Family
from prism.shapes import Parameter, Point, Scalar

PointFunction = Callable[[Model, Family, Array, Array], Array]
"""A function of a network and its family at one pair (x, μ)."""


def value(model: Model, family: Family, x: Point, mu: Parameter) -> Scalar:
    """u(x; μ)."""
    return solution_value(model, family, x, mu)


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
