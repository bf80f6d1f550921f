"""What a family of PDEs is: a residual at one point, for named parameters in a box."""

import abc
from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx

from prism.derivatives.operators import Operator
from prism.errors import InputError, UnknownName
from prism.problem.conditions import Condition
from prism.problem.constraints import Constraint, Free
from prism.problem.domains import Domain
from prism.problem.parameters import Named, ParameterSpace
from prism.shapes import Point, Scalar


class Derivatives:
    """u and its named terms at one point: `u.value`, `u.lap`."""

    def __init__(self, value: Scalar, terms: Mapping[str, Scalar]):
        self.__dict__.update(terms, value=value)

    def __getattr__(self, name: str) -> Scalar:
        there = ", ".join(sorted(known for known in self.__dict__ if not known.startswith("_")))
        raise UnknownName(
            f"residual reads u.{name}, which is not there; it has {there}. "
            f'Declare it: terms = {{"{name}": prism.Laplacian()}}'
        )


class Family(eqx.Module):
    """F(u, Du, ...; x, μ) = 0 on a domain, for every μ of a parameter space.

    A subclass gives `domain` (a field), `parameters`, `terms` and `residual`, all at one point and for one μ;
    `constraint` where u is known on the boundary by its form, `conditions` where it is asked for softly; `source` and
    `exact` where they exist.
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

    def exact(self, x: Point, mu: Named) -> Scalar:
        """The solution, where it is known."""
        raise InputError(f"{type(self).__name__} has no exact solution; define exact(self, x, mu)")

    def affine(self, x: Point, mu: Named) -> Scalar:
        """The best-known answer that is affine in x up to the constraint, a baseline, where it is known."""
        raise InputError(f"{type(self).__name__} has no affine baseline")

    @property
    def fastest(self) -> float:
        """The highest rate at which u changes with time, over the parameters: the lift's first frequencies."""
        return 1.0

    @property
    def has_exact(self) -> bool:
        return type(self).exact is not Family.exact

    @property
    def has_affine(self) -> bool:
        return type(self).affine is not Family.affine
