"""Soft conditions  u(x; μ) = g  on a part of the domain: boundary, initial time, data. Residuals beside the equation's.

loss = mean r² + Σ_c weight_c · mean (u − g)² ,     each part in units in which it starts at one.
"""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.problem.domains import Domain
from prism.problem.parameters import Named, ParameterSpace
from prism.shapes import Key, Parameter, Point, Scalar


class Wanted(eqx.Module):
    """Where u is known, and what it is there."""

    x: Point
    mu: Parameter
    value: Scalar


class Condition(eqx.Module):
    """Values that u should take, a batch of `points` of them a step, weighed by `weight`."""

    points: eqx.AbstractVar[int]
    weight: eqx.AbstractVar[float]

    @abc.abstractmethod
    def draw(self, parameters: ParameterSpace, key: Key) -> Wanted:
        """One pair and the value wanted there."""

    def draw_at(self, mu: Parameter, parameters: ParameterSpace, key: Key) -> Wanted | None:
        """One pair at this μ; None where the condition says nothing about it."""
        return None

    def __check_init__(self):
        if self.points < 1 or not 0.0 < self.weight < float("inf"):
            raise InputError(
                f"a condition with {self.points} points and weight {self.weight:g} asks for nothing; give both positive"
            )


class Prescribed(Condition):
    """u = value(x, μ) on a domain of lower dimension: `Prescribed(Sphere(10), lambda x, mu: 0.0 * x[0])`."""

    domain: Domain
    value: Callable[[Point, Named], Scalar]
    points: int = eqx.field(static=True, default=50)
    weight: float = eqx.field(static=True, default=1.0)

    def draw(self, parameters: ParameterSpace, key: Key) -> Wanted:
        point_key, parameter_key = jax.random.split(key)
        return self.draw_at(parameters.sample(parameter_key), parameters, point_key)

    def draw_at(self, mu: Parameter, parameters: ParameterSpace, key: Key) -> Wanted:
        x = self.domain.sample(key)
        return Wanted(x, mu, jnp.asarray(self.value(x, parameters.named(mu))))


class Observed(Condition):
    """u as measured: at each row of `at` under the parameters in the same row of `under`, one of `values`."""

    at: Float[Array, "n coordinates"]
    under: Float[Array, "n p"]
    values: Float[Array, "n"]
    points: int = eqx.field(static=True, default=50)
    weight: float = eqx.field(static=True, default=1.0)

    def draw(self, parameters: ParameterSpace, key: Key) -> Wanted:
        row = jax.random.randint(key, (), 0, self.values.shape[0])
        return Wanted(self.at[row], self.under[row], self.values[row])
