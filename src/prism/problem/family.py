"""What a family of PDEs is: a residual at one point, for named parameters in a box."""

import abc
import dataclasses
import inspect
import re
import typing
from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from prism.derivatives.operators import Operator
from prism.errors import InputError, UnknownName
from prism.problem.conditions import Condition
from prism.problem.constraints import Constraint, Free
from prism.problem.domains import Domain
from prism.problem.forms import QuadraticForm
from prism.problem.known import KnownValues
from prism.problem.optional import optional, provides
from prism.problem.parameters import ParameterSpace
from prism.references.reference import Reference
from prism.shapes import Named, Point, Scalar

OPERATORS = {
    "t": "TimeDerivative()",
    "tt": "TimeDerivative(2)",
    "lap": "Laplacian()",
    "laplacian": "Laplacian()",
    "grad": "GradientNormSquared()",
    "grad2": "GradientNormSquared()",
    "bilap": "Biharmonic()",
    "biharmonic": "Biharmonic()",
}
"""What a term is mostly meant to be, by its name."""
ALL_OPERATORS = (
    "Laplacian()",
    "GradientNormSquared()",
    "Biharmonic()",
    "TimeDerivative()",
    "Partial(0, 1)",
    "Directional(v)",
    "WeightedTrace(sigma)",
)


class Derivatives:
    """u and its named terms at one point: `u.value`, `u.lap`."""

    def __init__(self, value: Scalar, terms: Mapping[str, Scalar]):
        self.__dict__.update(terms, value=value)

    def __getattr__(self, name: str) -> Scalar:
        there = ", ".join(sorted(known for known in self.__dict__ if not known.startswith("_")))
        raise UnknownName(f"residual reads u.{name}, which is not there; it has {there}. {declaration(name)}")


def declaration(name: str) -> str:
    """How to declare a term of this name: by the operator that the name stands for, or by any there is."""
    coordinate = re.fullmatch(r"d?x(\d*)", name)
    operator = f"Partial({coordinate[1] or 0})" if coordinate else OPERATORS.get(name)
    if operator is not None:
        return f'Declare it: terms = {{"{name}": prism.{operator}}}'
    choices = ", ".join(f"prism.{operator}" for operator in ALL_OPERATORS)
    return f'Declare it: terms = {{"{name}": an operator}}, one of {choices}'


class Family(eqx.Module):
    """F(u, Du, ...; x, μ) = 0 on a domain, for every μ of a parameter space.

    A subclass gives `domain` (a field), `parameters`, `terms` and `residual`, all at one point and for one μ;
    `constraint` where u is known on the boundary by its form, `conditions` where it is asked for softly; `source`,
    `exact`, `affine` and `rate` where they are known.
    """

    domain: ClassVar[Domain]
    parameters: ClassVar[ParameterSpace]
    terms: ClassVar[Mapping[str, Operator]]
    conditions: ClassVar[Mapping[str, Condition]] = {}

    @abc.abstractmethod
    def residual(self, u: Derivatives, x: Point, mu: Named) -> Scalar:
        """Zero where u solves the equation."""

    def constraint(self) -> Constraint:
        """What holds for every candidate by its form."""
        return Free()

    @classmethod
    def in_dimensions(cls, dimension: int) -> "Family":
        """The family in so many space dimensions, as `prism solve FILE.py:NAME --dim D` builds it: on the domain that
        it declares, of that domain's usual size. Define it where the family has other fields, or another size."""
        kind, own = typing.get_type_hints(cls).get("domain"), "define the class method in_dimensions(cls, dimension)"
        if not isinstance(kind, type) or not issubclass(kind, Domain) or inspect.isabstract(kind):
            raise InputError(f"{cls.__name__} does not say on which domain; declare domain: prism.Ball, or {own}")
        missing = dataclasses.MISSING
        unknown = [field.name for field in dataclasses.fields(cls) if field.default is field.default_factory is missing]
        if unknown != ["domain"]:
            name = next((name for name in unknown if name != "domain"), "domain")
            raise InputError(f"{cls.__name__} has the field {name}, which the dimension does not give; {own}")
        return cls(domain=kind.in_dimensions(dimension))  # pyright: ignore[reportCallIssue]

    @optional
    def exact(self, x: Point, mu: Named) -> Scalar:
        """The solution, where it is known."""
        raise InputError(f"{type(self).__name__} has no exact solution; define exact(self, x, mu)")

    @optional
    def known_values(self, parameters: Float[np.ndarray, "n p"]) -> KnownValues:
        """The solution at some points for each of these parameters, where it is known there alone."""
        raise InputError(f"{type(self).__name__} has no known values; define known_values(self, parameters)")

    @optional
    def reference(self, x: Float[np.ndarray, "coordinates"], mu: Mapping[str, float]) -> Reference:
        """The solution at one point with an uncertainty, computed without a network in double precision."""
        raise InputError(f"{type(self).__name__} has no reference; define reference(self, x, mu)")

    @optional
    def affine(self, x: Point, mu: Named) -> Scalar:
        """A first-order answer that errors are compared with, where there is one."""
        raise InputError(f"{type(self).__name__} has no affine answer; define affine(self, x, mu)")

    @optional
    def background(self, x: Point, mu: Named) -> Scalar:
        """A known part of the solution, u = background + w, whose share of the residual the family works out itself:
        `constraint` and `residual` are of w alone."""
        raise InputError(f"{type(self).__name__} has no background; define background(self, x, mu)")

    def rate(self, mu: Named) -> Scalar:
        """How fast u changes with time: the inverse of the time in which it does."""
        return jnp.ones(())

    @property
    def has_exact(self) -> bool:
        """Whether the solution is known."""
        return provides(self, "exact")

    @property
    def has_known_values(self) -> bool:
        """Whether the solution is known at some points."""
        return provides(self, "known_values")

    @property
    def has_reference(self) -> bool:
        """Whether its solution can be computed without a network at any point."""
        return provides(self, "reference")

    @property
    def norms(self) -> tuple[QuadraticForm, ...]:
        """Quadratic forms that the problem is written in, for a lift to take; none unless a family names some."""
        return ()

    @property
    def has_background(self) -> bool:
        """Whether a part of the solution is known beforehand."""
        return provides(self, "background")

    @property
    def has_affine(self) -> bool:
        """Whether there is a first-order answer."""
        return provides(self, "affine")
