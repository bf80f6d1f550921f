"""Where the points of a domain lie, in numbers alone: to tell a user that he asks beyond it, here or where PRISM is
not."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, Bool, Float

TOLERANCE = 1e-5
"""Of the size of a bound: what rounding in float32 adds to |x|, so that the boundary counts as inside."""
Interval = tuple[float, float]
Sides = tuple[tuple[float, ...], tuple[float, ...]]
"""The lower ends of the intervals of several coordinates, and the upper ones."""


@dataclass(frozen=True)
class Region:
    """norm[0] ≤ |x| ≤ norm[1],  side[0] ≤ x_i ≤ side[1],  0 ≤ t ≤ horizon;  None where nothing is asked.

    Time is the last coordinate where there is a horizon; |x| and x_i are of the others. Where coordinates have
    intervals of their own, `side` holds a number for each. `Ball(100).region` is `Region(norm=(0.0, 1.0))`, and
    `Ball(100).region.outside(points)` says of each row of `points` whether it is beyond.
    """

    norm: Interval | None = None
    side: Interval | Sides | None = None
    horizon: float | None = None

    def outside(
        self, points: Float[Array, "number coordinates"] | Float[np.ndarray, "number coordinates"]
    ) -> Bool[Array, "number"] | Bool[np.ndarray, "number"]:
        """Whether each point lies outside; one that is not finite does. Arrays of NumPy or of JAX."""
        space = points if self.horizon is None else points[..., :-1]
        inside: Any = (abs(points) < float("inf")).all(axis=-1)
        if self.norm is not None:
            inside &= _within((space * space).sum(axis=-1) ** 0.5, self.norm)
        if self.side is not None:
            inside &= _within(space, self.side).all(axis=-1)
        if self.horizon is not None:
            inside &= _within(points[..., -1], (0.0, self.horizon))
        return ~inside

    def describe(self) -> str:
        """For a message: "|x| <= 1 and 0 <= t <= 1"."""
        time = None if self.horizon is None else (0.0, self.horizon)
        asked = (("|x|", self.norm), *self._sides(), ("t", time))
        return " and ".join(_described(name, between) for name, between in asked if between is not None) or "anywhere"

    def _sides(self) -> list[tuple[str, Interval | None]]:
        """The interval of every coordinate, by its name."""
        if self.side is None or not isinstance(self.side[0], tuple):
            return [("x_i", self.side)]  # pyright: ignore[reportReturnType]
        pairs = zip(*self.side, strict=True)  # pyright: ignore[reportArgumentType]
        return [(f"x_{number}", between) for number, between in enumerate(pairs, start=1)]

    def as_json(self) -> dict[str, object]:
        """The numbers by name."""
        return asdict(self)


def _within(values, between: Interval | Sides):
    """Whether each value lies between these, up to rounding."""
    low, high = (end if end.ndim == 0 else end[None] for end in np.asarray(between, dtype=float))
    slack = TOLERANCE * np.maximum(abs(low), abs(high))
    return (values >= low - slack) & (values <= high + slack)


def _described(name: str, between: Interval) -> str:
    low, high = between
    if low == high:
        return f"{name} = {low:g}"
    return f"{name} <= {high:g}" if name == "|x|" and low == 0.0 else f"{low:g} <= {name} <= {high:g}"
