"""What a family of eigenvalue problems is: H(μ) = −Δ + v(y; μ), with a potential of one coordinate at a time, or two.

    v(y; μ) = Σ_i v_i(y_i; μ)  +  Σ_pairs Σ_i f_i(y_i; μ) · g_(i+o)(y_(i+o); μ)

Each v_i is maths at one number y and one index i, from 0. Pairs are products of one function of each coordinate, so
that every integral is one of a single coordinate.
"""

import abc
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Float, Int

from prism.errors import InputError
from prism.numerics.arguments import check_whole
from prism.problem.optional import optional, provides
from prism.problem.parameters import ParameterSpace
from prism.references.reference import Reference
from prism.shapes import Named, Scalar

Index = Int[Array, ""]
AtCoordinate = Callable[[Scalar, Index, Named], Scalar]
"""A function of one number y, the index i of its coordinate, and named parameters."""


class Pair(eqx.Module):
    """Σ_i left(y_i, i, μ) · right(y_(i+offset), i + offset, μ), for every i that has such a neighbour."""

    left: AtCoordinate
    right: AtCoordinate
    offset: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        check_whole("offset", self.offset, 1)


class Potential(eqx.Module):
    """A potential in `dimension` coordinates for every μ of a parameter space.

    A subclass gives `dimension` (a field), `parameters`, `single` and `half_width`; `pairs` where two coordinates
    interact; `exact` where the levels are known, `reference` where they can be computed without a network.
    """

    dimension: eqx.AbstractVar[int]
    parameters: ClassVar[ParameterSpace]

    @abc.abstractmethod
    def single(self, y: Scalar, i: Index, mu: Named) -> Scalar:
        """v_i(y; μ), of the coordinate i alone."""

    @abc.abstractmethod
    def half_width(self, i: Index) -> Scalar | float:
        """L_i: Ψ is zero where |y_i| ≥ L_i; choose it so that the true one has decayed there for every μ."""

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The products of functions of two coordinates; none where coordinates do not interact."""
        return ()

    @property
    def is_separable(self) -> bool:
        """Whether no two coordinates interact."""
        return not self.pairs

    @optional
    def exact(self, mu: Named, levels: int) -> Float[Array, "levels"]:
        """The lowest levels from below, where they are known."""
        raise InputError(f"{type(self).__name__} has no exact levels; define exact(self, mu, levels)")

    @optional
    def reference(self, mu: Named) -> Reference:
        """The lowest eigenvalue with an uncertainty, computed without a network in double precision."""
        raise InputError(f"{type(self).__name__} has no reference; define reference(self, mu)")

    @optional
    def trivial(self, mu: Named) -> Scalar:
        """A first answer for the lowest eigenvalue that errors are compared with."""
        raise InputError(f"{type(self).__name__} has no trivial answer; define trivial(self, mu)")

    @property
    def has_exact(self) -> bool:
        """Whether the levels are known."""
        return provides(self, "exact")

    @property
    def has_reference(self) -> bool:
        """Whether the lowest eigenvalue can be computed without a network."""
        return provides(self, "reference")

    @property
    def has_trivial(self) -> bool:
        """Whether there is a first answer to compare with."""
        return provides(self, "trivial")
