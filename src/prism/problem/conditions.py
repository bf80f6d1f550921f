"""Soft conditions  u(x; μ) = g,  or  v·∇u = g,  on a part of the domain: boundary, initial time, data. Residuals beside
the equation's.

    loss = mean r² + Σ_c weight_c · mean (u − g)²

r in units in which it starts at one, u − g in units of its largest miss.
"""

import abc
import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.numerics.arguments import check_function, check_kind, check_whole, real, shown
from prism.numerics.keys import Purpose, child, children
from prism.problem.domains import Domain
from prism.problem.optional import optional, provides
from prism.problem.parameters import ParameterSpace
from prism.problem.user_code import real_number
from prism.shapes import Key, Named, Parameter, Point, Scalar


class Target(eqx.Module):
    """A pair (x, μ) where u, or its derivative along a vector, is known, and the value there."""

    x: Point
    mu: Parameter
    value: Scalar
    along: Point | None = None

    def of(self, u: Callable[..., Scalar], probe: Sequence[Any] = ()) -> Scalar:
        """What the value says something about: u, or v·∇u. Of a u that takes more than a point, `probe` is that and how
        it changes along v."""
        if self.along is None:
            return u(self.x, *probe[:1])
        return jax.jvp(u, (self.x, *probe[:1]), (self.along, *probe[1:]))[1]


class Condition(eqx.Module):
    """Values that u should take: `points` of them per step, with `weight` in the loss."""

    if TYPE_CHECKING:  # as fields they would come first in a subclass's arguments, for a type checker alone
        points: ClassVar[int]
        weight: ClassVar[float]
    else:
        points: eqx.AbstractVar[int]
        weight: eqx.AbstractVar[float]

    @abc.abstractmethod
    def draw(self, parameters: ParameterSpace, key: Key) -> Target:
        """One pair and the value of u there."""

    @optional
    def draw_at(self, mu: Parameter, parameters: ParameterSpace, key: Key) -> Target:
        """One pair at a given μ, where the condition says something about every μ."""
        raise InputError(
            f"{type(self).__name__} says nothing about a given μ; define draw_at(self, mu, parameters, key)"
        )

    def diffused(self, diffusivity: Scalar) -> "Condition":
        """The condition for an equation of this diffusivity, which decides where points are needed."""
        return self

    @property
    def at_every_parameter(self) -> bool:
        """Whether it says something about every μ, as `draw_at` does."""
        return provides(self, "draw_at")

    def __check_init__(self):
        check_whole("the number of points of a condition", self.points, 1)
        real("the weight of a condition", self.weight)
        if not 0.0 < self.weight < float("inf"):
            raise InputError(
                f"a condition with {self.points} points and weight {self.weight:g} asks for nothing; give both positive"
            )


class Prescribed(Condition):
    """u = value(x, μ) on a domain of lower dimension: `Prescribed(Sphere(10), lambda x, mu: 0.0 * x[0])`.

    With a vector field `along` it is v·∇u = value(x, μ): `Prescribed(Sphere(10), lambda x, mu: 0.0 * x[0], along=lambda
    x: x)` is ∂u/∂n = 0. It is weighted as a value is: a v of half the domain's length gives it the units of u.
    Every batch draws `points`; `weight` multiplies their mean square in the loss. `diffusivity` is the equation's,
    filled in before points are drawn.
    """

    domain: Domain
    value: Callable[[Point, Named], Scalar]
    points: int = eqx.field(static=True, default=50)
    weight: float = eqx.field(static=True, default=1.0)
    diffusivity: Scalar | float = 0.0
    along: Callable[[Point], Point] | None = None

    def __check_init__(self):
        check_kind("the domain of a Prescribed condition", self.domain, Domain, "a domain, such as prism.Sphere(10)")
        check_function("the value of a Prescribed condition", self.value, ("x", "mu"))
        if self.along is not None:
            check_function("the vector field of a Prescribed condition", self.along, ("x",))

    def diffused(self, diffusivity: Scalar) -> "Prescribed":
        return dataclasses.replace(self, diffusivity=diffusivity)

    def draw(self, parameters: ParameterSpace, key: Key) -> Target:
        point, parameter = children(key, Purpose.POINTS, Purpose.PARAMETERS)
        return self.draw_at(parameters.sample(parameter), parameters, point)

    def draw_at(self, mu: Parameter, parameters: ParameterSpace, key: Key) -> Target:
        x = self.domain.training_point(key, jnp.asarray(self.diffusivity))
        value = real_number("the value of a Prescribed condition", self.value(x, parameters.named(mu)), whole=True)
        return Target(x, mu, value.astype(x.dtype), None if self.along is None else self._vector(x))

    def _vector(self, x: Point) -> Point:
        assert self.along is not None
        vector = jnp.asarray(self.along(x), x.dtype)
        if vector.shape != x.shape:
            raise InputError(
                f"`along` of a Prescribed condition gives a vector of shape {vector.shape}; give {x.shape}, one entry "
                "per coordinate of a point"
            )
        return vector


class Observed(Condition):
    """u as measured: at each row of `at` under the parameters in the same row of `under`, one of `values`.

    Every batch draws `points` of the rows; `weight` multiplies their mean square in the loss.
    """

    at: Float[Array, "..."] = eqx.field(converter=lambda given: _numbers("at", given))
    under: Float[Array, "..."] = eqx.field(converter=lambda given: _numbers("under", given))
    values: Float[Array, "..."] = eqx.field(converter=lambda given: _numbers("values", given))
    points: int = eqx.field(static=True, default=50)
    weight: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        at, under, values = self.at.shape, self.under.shape, self.values.shape
        if (len(at), len(under), len(values)) != (2, 2, 1) or not at[0] == under[0] == values[0] or not values[0]:
            raise InputError(
                f"Observed with at of shape {at}, under of shape {under} and values of shape {values} does not fit; "
                "give (number, coordinates), (number, parameters) and (number,)"
            )

    def draw(self, parameters: ParameterSpace, key: Key) -> Target:
        row = jax.random.randint(child(key, Purpose.ROW), (), 0, self.values.shape[0])
        return Target(self.at[row], self.under[row], self.values[row])


def _numbers(name: str, given: Any) -> Array:
    """An array of finite real numbers; inside a trace, whatever stands for it."""
    try:
        array = jnp.asarray(given, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} of Observed is {shown(given)}; give an array of numbers") from error
    if not isinstance(array, Tracer) and not bool(jnp.all(jnp.isfinite(array))):
        row = np.argwhere(~np.isfinite(np.asarray(array)))[0][0]
        raise InputError(f"{name} of Observed is not finite in row {row} (from 0); leave such rows out")
    return array
