"""Hard conditions  u = a·N + b  that hold for every network N, with the jets of a and b.

A closed form costs nothing per direction; functions of the user's own are differentiated by JAX along vectors.
"""

import abc
import math
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.derivatives.directions import Directions
from prism.derivatives.taylor import Jet, polynomial_jet
from prism.errors import InputError
from prism.problem.domains import Domain
from prism.shapes import Named, Point, Scalar

Field = Callable[[Point, Named], Scalar]


class Constraint(eqx.Module):
    """What every candidate u satisfies by its form: `apply` makes the jet of u of the jet of the network N."""

    radial: ClassVar[bool] = False
    """Whether it knows x through |x|² alone, so that directions need no more than their products with x."""
    binding: ClassVar[bool] = True
    """Whether it fixes u anywhere."""

    @abc.abstractmethod
    def apply(self, network: Jet, x: Point, mu: Named, directions: Directions | None) -> Jet:
        """The jet of u from the jet of N, along the same directions; without any, its value alone."""


class Free(Constraint):
    """u = N."""

    radial = True
    binding = False

    def apply(self, network: Jet, x: Point, mu: Named, directions: Directions | None) -> Jet:
        return network


class VanishingOnSphere(Constraint):
    """u = (1 − |x|²/R²)·N.  Along v:  a_1 = −2 x·v/R²,  a_2 = −|v|²/R²,  nothing beyond."""

    radial = True
    radius: float = eqx.field(static=True)

    def apply(self, network: Jet, x: Point, mu: Named, directions: Directions | None) -> Jet:
        inverse = 1.0 / self.radius**2
        value = 1.0 - inverse * jnp.sum(x * x)
        if directions is None:
            return polynomial_jet(value, (), network) * network
        first = -2.0 * inverse * directions.inner(x)
        second = -inverse * directions.squared_norms()
        return polynomial_jet(value, (first, second), network) * network


class HardConstraint(Constraint):
    """u = a(x, μ)·N + b(x, μ) for functions of your own: `HardConstraint(factor=a, offset=b)`."""

    factor: Field
    offset: Field | None = None

    def apply(self, network: Jet, x: Point, mu: Named, directions: Directions | None) -> Jet:
        vectors = None if directions is None else directions.dense(x.shape[0])
        u = _field_jet(self.factor, x, mu, vectors, network) * network
        return u if self.offset is None else u + _field_jet(self.offset, x, mu, vectors, network)


def _field_jet(field: Field, x: Point, mu: Named, vectors, like: Jet) -> Jet:
    """The jet of a user's function, by repeated `jax.jvp` along each direction."""

    def coefficients(v: Point) -> tuple[Scalar, ...]:
        along = lambda t: field(x + t * v, mu)
        derivatives = []
        for order in range(1, like.order + 1):
            along = _derivative(along)
            derivatives.append(along(jnp.zeros((), x.dtype)) / math.factorial(order))
        return tuple(derivatives)

    value = jnp.asarray(field(x, mu))
    return polynomial_jet(value, () if vectors is None else jax.vmap(coefficients)(vectors), like)


def _derivative(function: Callable[[Scalar], Scalar]) -> Callable[[Scalar], Scalar]:
    return lambda t: jax.jvp(function, (t,), (jnp.ones_like(t),))[1]


def vanishing(domain: Domain) -> Constraint:
    """u = 0 on the boundary of the domain."""
    if domain.ball_radius is not None:
        return VanishingOnSphere(domain.ball_radius)
    raise InputError(
        f"vanishing() has a closed form on a Ball only; on {type(domain).__name__} give your own "
        "HardConstraint(factor=lambda x, mu: ...)"
    )
