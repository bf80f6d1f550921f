"""Where a solution was trained, and what to say when it is asked elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float

from prism.problem.parameters import ParameterSpace
from prism.problem.regions import Region

WRAPPING = ("prism", "equinox", "jaxtyping")
SAME = 1e-6
"""Relative to the width of its box, below which two values of a parameter are the same."""


@dataclass(frozen=True)
class Limits:
    """The box of the parameters, the region of the points, and the one μ of a solution that was tuned."""

    parameters: ParameterSpace
    region: Region
    tuned_at: Mapping[str, float] | None = None

    def parameter_box(self) -> tuple[Float[np.ndarray, "p"], Float[np.ndarray, "p"]]:
        """Both ends of the trained space, that of a tuned solution its μ, with room for rounding."""
        lows, highs = (np.asarray(side, float) for side in (self.parameters.lows, self.parameters.highs))
        margin = SAME * np.maximum(highs - lows, np.maximum(np.abs(lows), np.abs(highs)))
        if self.tuned_at is not None:
            lows = highs = np.asarray([self.tuned_at[name] for name in self.parameters.names], float)
        return lows - margin, highs + margin

    def parameters_outside(self, mu: Float[Array, "n p"]) -> Bool[np.ndarray, "n p"]:
        """Which parameters of which row lie outside it."""
        (low, high), values = self.parameter_box(), np.asarray(mu, float)
        return (values < low[None]) | (values > high[None])

    def points_outside(self, points: Float[Array, "n coordinates"]) -> Bool[np.ndarray, "n"]:
        """Which points lie outside the domain, or where its law draws none."""
        return np.asarray(self.region.outside(points))

    def outside(self, points: Float[Array, "n coordinates"], mu: Float[Array, "n p"]) -> Bool[np.ndarray, "n"]:
        """Which rows of points and parameters ask for what was not trained."""
        return self.parameters_outside(mu).any(axis=1) | self.points_outside(points)

    def complaints(self, points: Float[Array, "n coordinates"], mu: Float[Array, "n p"]) -> list[str]:
        """What there is to say: the same words for every question of a kind, so that they are said once."""
        beyond = np.atleast_1d(self.parameters_outside(mu).any(axis=0))
        said = []
        if self.tuned_at is not None and beyond.any():
            tuned = ", ".join(f"{name} = {value:g}" for name, value in self.tuned_at.items())
            said.append(f"this solution was tuned at {tuned} and is asked at another μ; ask the one it was tuned from")
        elif beyond.any():
            sides = self.parameters.bounds().items()
            told = [f"{name} outside the trained [{low:g}, {high:g}]" for name, (low, high) in sides]
            named = ", ".join(words for words, far in zip(told, beyond, strict=True) if far)
            said.append(f"u is asked for {named}; `trust` tells how far it holds there")
        if self.points_outside(points).any():
            said.append(
                f"u is asked at points beyond the domain, or where its law draws none ({self.region.describe()})"
            )
        return said


def asking_level(frame: FrameType) -> int:
    """The `stacklevel` of a warning given in this frame that names the line of the user's program: the first frame
    outside of PRISM and of what wraps its methods."""
    level = 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in WRAPPING:
        frame, level = frame.f_back, level + 1
    return level


def is_traced(*values: object) -> bool:
    """Whether a value is not known yet, inside a function that JAX compiles: nothing can be told of it."""
    return any(isinstance(value, Tracer) for value in values)


def as_rows(points: Array, mu: Array) -> tuple[Float[Array, "n coordinates"], Float[Array, "n p"]]:
    """One point, or many, as rows."""
    return jnp.atleast_2d(points), jnp.atleast_2d(mu)
