"""Channels of a lift beside those of its own matrix: what each group of them tells the rest of the network."""

import abc
from collections.abc import Sequence

import equinox as eqx
import jax
from jaxtyping import Array, Float

from prism.derivatives.directions import Decomposition
from prism.errors import InputError
from prism.networks.lifts.parts import Part, Places
from prism.networks.modulation import Modulation
from prism.shapes import Hidden, Point

Slopes = Float[Array, "N coordinates"]
"""∂r_n/∂x_n of every pair of a batch."""
Responses = Float[Array, "N channels"]
"""∂r_n/∂z_n of every pair of a batch."""


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


class Group(eqx.Module):
    """Some channels of a lift as a function of x."""

    part: eqx.AbstractVar[Part]
    """What was asked for."""

    @property
    @abc.abstractmethod
    def bent(self) -> bool:
        """Whether its channels go through the manifold; else they are read out."""

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
    def by_slopes(self) -> tuple[str, ...]:
        """The names of its weights that follow the residual's slopes where the optimiser takes these: as many as
        coordinates, and no rows of a Jacobian are made for them."""
        return ()

    @property
    def mixed_by_mu(self) -> bool:
        """Of channels that are read out: whether their factors q(μ) start as those of affine ones, at random but for
        the first, and not at one."""
        return False

    def slope_step(
        self, points: Float[Array, "N coordinates"], p: Responses, slopes: Slopes, damping: float
    ) -> tuple[tuple[Array, ...], Slopes]:
        """The changes of its weights that follow the slopes, `by_slopes`, and the slopes that these leave."""
        return (), slopes

    @property
    def matrix(self) -> Float[Array, "coordinates channels"] | None:
        """W where its channels are linear, x W + b; None elsewhere."""
        return None

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


def check_places(name: str, window: int, groups: Places | None, dimension: int) -> None:
    """Refuse windows and groups of coordinates that do not exist."""
    if groups is None:
        if window > dimension:
            raise InputError(f"a window of {window} coordinates does not fit into {dimension} dimensions")
        return
    numbers = [number for place in groups for number in place]
    wrong = [number for number in numbers if not isinstance(number, int) or not 0 <= number < dimension]
    if wrong:
        raise InputError(f"groups of {name} name coordinate {wrong[0]!r}; there are {dimension}, from 0")
    twice = [place for place in groups if len(set(place)) < len(place)]
    if twice:
        raise InputError(f"the group {twice[0]} of {name} names a coordinate twice; leave one out")
