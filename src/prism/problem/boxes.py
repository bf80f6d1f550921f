"""Boxes with sides of their own, and the faces of a box, where boundary values are given."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from equinox import field
from jaxtyping import Array, Bool, Float

from prism.errors import InputError
from prism.numerics.arguments import check_kind, check_positive, check_whole, real
from prism.numerics.keys import Purpose, child, children
from prism.problem.points import Domain
from prism.problem.regions import Region
from prism.shapes import Key, Point, Scalar

FARTHEST = 4.0
"""By how many spreads a coordinate may lie from the middle of the longest side where all are measured from there."""


def _ends(given: Any) -> tuple[float, ...]:
    check_kind("the ends of a Box", given, Sequence, "one number per coordinate, such as (-8.0, -4.0)")
    return tuple(real("an end of a Box", end) for end in given)


class Box(Domain):
    """[low_1, high_1] × ... × [low_d, high_d], uniform: `Box((-8.0, -4.0), (8.0, 4.0))`."""

    lows: tuple[float, ...] = field(static=True, converter=_ends)
    highs: tuple[float, ...] = field(static=True, converter=_ends)

    def __check_init__(self):
        if len(self.lows) != len(self.highs) or not self.lows:
            raise InputError(
                f"a Box of {len(self.lows)} lower and {len(self.highs)} upper ends; give one of each per coordinate, "
                "such as Box((-8.0, -4.0), (8.0, 4.0))"
            )
        for low, high in zip(self.lows, self.highs, strict=True):
            check_positive(f"the width of a Box along [{low:g}, {high:g}]", high - low)

    @classmethod
    def in_dimensions(cls, dimension: int) -> "Box":
        """(0, 1)ᵈ."""
        return cls((0.0,) * dimension, (1.0,) * dimension)  # pyright: ignore[reportCallIssue]

    @property
    def description(self) -> str:
        sides = zip(self.lows, self.highs, strict=True)
        return f"{' × '.join(f'[{low:g}, {high:g}]' for low, high in sides)}; x uniform"

    @property
    def dimension(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return len(self.lows)

    @property
    def bounds(self) -> tuple[float, float]:
        """The ends of the longest side."""
        return max(zip(self.lows, self.highs, strict=True), key=lambda side: side[1] - side[0])

    def interval(self, index: int) -> tuple[float, float]:
        return self.lows[index], self.highs[index]

    @property
    def alike(self) -> bool:
        ends = np.asarray([self.lows, self.highs])
        return bool(np.all(np.abs(ends - np.mean(self.bounds)) <= FARTHEST * self.spread))

    @property
    def spread(self) -> float:
        return float(np.sqrt(np.mean(np.square(self._widths)) / 12.0))

    @property
    def norm_spread(self) -> float:
        """Of the sum of squares of uniform numbers, each of variance w⁴/180 and mean w²/12."""
        squares = np.square(self._widths)
        return float(np.sqrt(np.sum(squares**2) / 180.0) / (np.sum(squares) / 12.0))

    @property
    def region(self) -> Region:
        return Region(side=(self.lows, self.highs))

    def centre(self) -> Point:
        return (jnp.asarray(self.lows, float) + jnp.asarray(self.highs, float)) / 2

    def sample(self, key: Key) -> Point:
        part = jax.random.uniform(child(key, Purpose.SPACE), (self.dimension,))
        return jnp.asarray(self.lows, part.dtype) + jnp.asarray(self._widths, part.dtype) * part

    def volume_point(self, key: Key) -> Point:
        return self.sample(key)

    def clipped(self, point: Point) -> Point:
        return jnp.clip(point, jnp.asarray(self.lows, point.dtype), jnp.asarray(self.highs, point.dtype))

    @property
    def _widths(self) -> Float[np.ndarray, "d"]:
        return np.subtract(self.highs, self.lows)


class Faces(Domain):
    """The two sides of a box or a cube that bound one coordinate, also with time: `Faces(box, 0)`.

    Points are the domain's, moved along that coordinate onto either side, half of them onto each. One side alone is
    `Faces(Box((0.0,), (1.0,)), 0, upper=True)`, here x₁ = 1.
    """

    whole: Domain
    axis: int = field(static=True)
    upper: bool | None = field(static=True, default=None)

    def __check_init__(self):
        check_kind("the domain of Faces", self.whole, Domain, "a Box or a Cube, with time a TimeCylinder of one")
        if self.whole.region.side is None:
            raise InputError(f"{type(self.whole).__name__} has no faces; give Faces(box, axis) of a Box or a Cube")
        check_whole("the axis of Faces", self.axis, 0, self.whole.dimension - 1)
        check_kind("upper of Faces", self.upper, bool | None, "True or False, or leave it out for both sides")

    @property
    def description(self) -> str:
        end = {None: "an end", False: "the lower end", True: "the upper end"}[self.upper]
        return f"{self.whole.description}, at {end} of x{self.axis + 1}"

    @property
    def dimension(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.whole.dimension

    @property
    def coordinates(self) -> int:
        return self.whole.coordinates

    @property
    def bounds(self) -> tuple[float, float]:
        return self.whole.bounds

    def interval(self, index: int) -> tuple[float, float]:
        return self.whole.interval(index)

    @property
    def alike(self) -> bool:
        return self.whole.alike

    @property
    def spread(self) -> float:
        return self.whole.spread

    @property
    def norm_spread(self) -> float:
        return self.whole.norm_spread

    @property
    def region(self) -> Region:
        return self.whole.region

    def centre(self) -> Point:
        return self._moved(self.whole.centre(), jnp.asarray(bool(self.upper)))

    def sample(self, key: Key) -> Point:
        inside, which = children(key, Purpose.SPACE, Purpose.ROW)
        upper = jax.random.bernoulli(which) if self.upper is None else jnp.asarray(self.upper)
        return self._moved(self.whole.sample(inside), upper)

    def training_point(self, key: Key, diffusivity: Scalar) -> Point:
        return self.sample(key)

    def clipped(self, point: Point) -> Point:
        low, high = self.whole.interval(self.axis)
        nearer = point[self.axis] > (low + high) / 2
        return self._moved(self.whole.clipped(point), nearer if self.upper is None else jnp.asarray(self.upper))

    def _moved(self, point: Point, upper: Bool[Array, ""]) -> Point:
        low, high = self.whole.interval(self.axis)
        return point.at[self.axis].set(jnp.where(upper, high, low))
