"""What every truncated Taylor expansion can do: the rules by which a network passes derivatives on."""

import abc
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import equinox as eqx
from jaxtyping import Array, Float

from prism.shapes import Vector


class Expansion(eqx.Module):
    """A function of x near a point: its value, and normalised derivatives along directions (`Jet`) or by coordinates
    (`PartialJet`)."""

    value: eqx.AbstractVar[Float[Array, "*shape"]]

    @property
    @abc.abstractmethod
    def order(self) -> int:
        """The highest order of derivative that it holds."""

    @property
    @abc.abstractmethod
    def carries_first(self) -> bool:
        """Whether it holds first derivatives one by one, so that it can be `widened`."""

    @property
    @abc.abstractmethod
    def summed_by(self) -> Vector | None:
        """The weights of the directions that the highest derivatives are summed over; None where they are not."""

    @abc.abstractmethod
    def map_linear(self, linear: Callable[[Array], Array]) -> Self:
        """The expansion of L(f) for a linear map L: L of each coefficient."""

    @abc.abstractmethod
    def shift(self, offset: Array) -> Self:
        """The expansion of f + constant: only the zeroth coefficient sees it."""

    @abc.abstractmethod
    def __add__(self, other: Any) -> Any:
        """The expansion of a sum of two functions."""

    @abc.abstractmethod
    def __mul__(self, other: Any) -> Any:
        """The expansion of a product, by Cauchy's rule."""

    @abc.abstractmethod
    def composed(self, outer: Sequence[Array]) -> Self:
        """The expansion of σ(f), from the a_m with σ(f_0 + s) = Σ_m a_m sᵐ."""

    @abc.abstractmethod
    def polynomial(self, value: Array, coefficients: Sequence[Array], summed: Array | None = None) -> Self:
        """The expansion, to the same derivatives, of a scalar g with coefficients c_1(j), c_2(j), ... along the same
        directions, zero beyond. `summed` is Σ_j w_j of the highest one, where that alone is known."""

    @abc.abstractmethod
    def widened(self, first: Float[Array, "n *shape"]) -> Self:
        """With first derivatives along more directions, which no higher one knows of."""

    @abc.abstractmethod
    def narrowed(self, count: int) -> tuple[Self, Float[Array, "n *shape"]]:
        """Without the last `count` of these, and they alone."""


AnyExpansion = TypeVar("AnyExpansion", bound=Expansion)
