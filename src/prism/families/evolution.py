"""Families in space and time: an initial state on all of R^d, and what the equation makes of it.

    u = e^{−λt} u₀(x; μ) + (1 − e^{−λt}) N(x, t; μ),     λ(μ) the rate at which u changes,

holds the initial state for every network N, which is u itself once that state is forgotten. Points are normal,
x ~ N(0, I), and there is no boundary: the turning of `Convection` leaves their law as it is, so that nothing enters
that the initial state does not decide.
"""

import abc
import math
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.problem.constraints import Constraint, HardConstraint
from prism.problem.domains import WholeSpace
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace
from prism.problem.time_domains import TimeCylinder
from prism.shapes import Key, Named, Point, Scalar


class EvolutionFamily(Family):
    """An equation for u(x, t), 0 ≤ t ≤ 1, that starts from a state along a unit vector k of space.

    k is drawn once and saved with the problem.
    """

    domain: TimeCylinder
    direction: Float[Array, "d"]
    parameters: ParameterSpace

    box: ClassVar[ParameterSpace]
    """The parameters unless others are given."""

    @classmethod
    def create(cls, dimension: int, key: Key, parameters: ParameterSpace | None = None) -> Self:
        """The problem in `dimension` space dimensions, its direction drawn from the key."""
        if dimension < 2:
            raise InputError(f"{cls.__name__} needs 2 space dimensions or more, not {dimension}")
        drawn = jax.random.normal(key, (dimension,))
        return cls(
            domain=TimeCylinder(WholeSpace(dimension, inwards=0.0), 1.0),  # pyright: ignore[reportArgumentType]
            direction=drawn / jnp.linalg.norm(drawn),
            parameters=parameters or cls.box,
        )

    @abc.abstractmethod
    def rate(self, mu: Named) -> Scalar:
        """λ(μ), the rate at which u changes."""

    def initial(self, x: Point, mu: Named) -> Scalar:
        """u₀(x; μ) at the place of (x, t)."""
        return self.exact(x.at[-1].set(0.0), mu)

    def constraint(self) -> Constraint:
        return HardConstraint(
            factor=lambda x, mu: -jnp.expm1(-self.rate(mu) * x[-1]),
            offset=lambda x, mu: jnp.exp(-self.rate(mu) * x[-1]) * self.initial(x, mu),
        )

    def wave(self, x: Float[Array, "d"]) -> Scalar:
        """w(x) = √2 sin(k·x), of size one."""
        return math.sqrt(2.0) * jnp.sin(jnp.dot(self.direction, x))


def turned(x: Float[Array, "d"], angle: Scalar) -> Float[Array, "d"]:
    """x with every pair (x₁, x₂), (x₃, x₄), ... of its coordinates turned by an angle; an odd one out stays."""
    even = x.shape[0] // 2 * 2
    first, second = x[0:even:2], x[1:even:2]
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    pairs = jnp.stack([cos * first - sin * second, sin * first + cos * second], axis=1)
    return jnp.concatenate([pairs.reshape(-1), x[even:]])


def turning(x: Float[Array, "d"]) -> Float[Array, "d"]:
    """J x = (−x₂, x₁, −x₄, x₃, ...), the velocity of that motion."""
    even = x.shape[0] // 2 * 2
    pairs = jnp.stack([-x[1:even:2], x[0:even:2]], axis=1)
    return jnp.concatenate([pairs.reshape(-1), jnp.zeros_like(x[even:])])
