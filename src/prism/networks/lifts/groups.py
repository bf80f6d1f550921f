"""Channels of a lift beside those of its own matrix: what each group of them tells the rest of the network."""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.directions import Decomposition
from prism.errors import InputError
from prism.networks.lifts.parts import Part
from prism.networks.modulation import Modulation
from prism.problem.points import Domain
from prism.shapes import Hidden, Point

ResidualGradients = Float[Array, "N coordinates"]
"""The slopes ∂r_n/∂x_n of every pair of a batch."""
Responses = Float[Array, "N channels"]
"""p_n = ∂r_n/∂z_n of every pair of a batch."""


class Along(eqx.Module):
    """What is asked of a lift for one frame: Taylor coefficients up to `order` along these directions, the last of them
    summed over directions where `collapsed`."""

    decomposition: Decomposition
    order: int = eqx.field(static=True)
    collapsed: bool = eqx.field(static=True)

    @property
    def has_top(self) -> bool:
        """Whether the last coefficient is needed as a sum alone; the first is always kept for each direction."""
        return self.collapsed and self.order > 1


class Coefficients(eqx.Module):
    """c_1, c_2, ... of each direction, and the collapsed coefficient beyond them where there is one."""

    lower: tuple[Float[Array, "n channels"], ...]
    top: Float[Array, "channels"] | None


def common_interval(part: Part, domain: Domain) -> tuple[float, float]:
    """Between which values coordinates lie, from whose middle these channels measure all of them."""
    if not domain.alike:
        raise InputError(
            f"{type(part).__name__} measures all coordinates alike, and those of this {type(domain).__name__} lie "
            "far from each other; bring them to the same interval, or take a Dense lift"
        )
    return domain.bounds


@dataclass(frozen=True)
class Recipe:
    """All that some channels are computed from, for a program that does not know PRISM: which kind they are of, and its
    numbers and arrays by name."""

    kind: str
    numbers: Mapping[str, float | int | None]
    arrays: Mapping[str, Array]


class Group(eqx.Module):
    """Some channels of a lift as a function of x."""

    part: eqx.AbstractVar[Part]
    """What was asked for."""

    @property
    def bent(self) -> bool:
        """Whether its channels go through the manifold; else they are read out."""
        return self.part.is_bent

    @property
    @abc.abstractmethod
    def channels(self) -> int:
        """How many numbers it adds to z."""

    @property
    @abc.abstractmethod
    def modulated(self) -> tuple[int, ...]:
        """The widths of its own layers that μ scales and shifts; none where it knows no μ."""

    @property
    @abc.abstractmethod
    def workspace(self) -> int:
        """How many numbers derivatives at one point hold at once."""

    @property
    def sees_space(self) -> bool:
        """Whether its channels change with the space coordinates, so that directions have to span their gradients."""
        return True

    @property
    def spans_point(self) -> bool:
        """Whether one of its gradients is the point itself, up to a factor."""
        return False

    @property
    def by_slopes(self) -> tuple[str, ...]:
        """The names of its weights that follow the residual's slopes where the optimiser takes these: as many as
        coordinates, and no rows of a Jacobian are made for them."""
        return ()

    @property
    def distinct_factors(self) -> bool:
        """Of channels that are read out: whether their factors q(μ) differ from the start (`FactorStart`)."""
        return False

    def slope_step(
        self, points: Float[Array, "N coordinates"], p: Responses, slopes: ResidualGradients, damping: float
    ) -> tuple[tuple[Array, ...], ResidualGradients]:
        """The changes of its weights that follow the slopes, `by_slopes`, and the slopes that these leave."""
        return (), slopes

    @property
    def matrix(self) -> Float[Array, "coordinates channels"] | None:
        """W where its channels are linear, x W + b; None elsewhere."""
        return None

    @property
    @abc.abstractmethod
    def recipe(self) -> Recipe:
        """What its channels are computed from."""

    @abc.abstractmethod
    def __call__(self, x: Point, modulations: Sequence[Modulation]) -> Hidden:
        """Its channels at a point."""

    @abc.abstractmethod
    def along(self, x: Point, modulations: Sequence[Modulation], along: Along) -> Coefficients:
        """Their Taylor coefficients."""

    def lifted(
        self, x: Point, modulations: Sequence[Modulation], frames: Sequence[Along]
    ) -> tuple[Hidden, list[Coefficients]]:
        """Its channels, and their Taylor coefficients for each frame."""
        return self(x, modulations), [self.along(x, modulations, along) for along in frames]

    def jacobian(self, x: Point, modulations: Sequence[Modulation]) -> Float[Array, "coordinates channels"]:
        """∂z/∂x."""
        return jax.jacrev(lambda moved: self(moved, modulations))(x).T


def of_polynomial(along: Along, first: Float[Array, "n channels"], *higher: Float[Array, "n channels"]) -> Coefficients:
    """The coefficients of a polynomial: those that are given, zeros beyond them, up to the order that is asked for."""
    zeros = [jnp.zeros_like(first)] * (along.order - 1 - len(higher))
    lower = (first, *higher, *zeros)[: along.order]
    if not along.has_top:
        return Coefficients(lower, None)
    return Coefficients(lower[:-1], along.decomposition.weights @ lower[-1])
