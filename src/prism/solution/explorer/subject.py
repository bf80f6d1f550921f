"""The solution that a page shows, and for which μ."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from prism.networks.model import Model
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace
from prism.solution.limits import Limits

BEYOND = 0.25
"""Widths of the box by which the sliders reach beyond each of its ends."""
AROUND = 1e-3
"""Widths of the box around the one μ of a tuned solution."""
Ends = Float[np.ndarray, "2 p"]
"""Both ends of an interval for every parameter, in the coordinate in which its law is uniform."""


@dataclass(frozen=True)
class Subject:
    """A network, its family, and where it was trained."""

    model: Model
    family: Family
    limits: Limits

    @property
    def reaches(self) -> tuple[Ends, ...]:
        """For which μ the page asks, and for which at least: those of the sliders and of the trained box; of a tuned
        solution its own."""
        trained = trained_ends(self.family.parameters)
        if (tuned := self.tuned_at) is None:
            return slider_ends(self.family.parameters), trained
        centre, width = uniform_of(self.family.parameters, tuned), trained[1] - trained[0]
        return (np.stack([centre - AROUND * width, centre + AROUND * width]),)

    @property
    def tuned_at(self) -> Float[np.ndarray, "p"] | None:
        """Its one μ."""
        told = self.limits.tuned_at
        return None if told is None else np.asarray([told[name] for name in self.family.parameters.names], np.float64)


def uniform_of(space: ParameterSpace, mu: Float[np.ndarray, "*rows p"]) -> Float[np.ndarray, "*rows p"]:
    """The coordinate in which the law is uniform, in double precision, in which the page computes."""
    return np.log(mu) if space.logarithmic else np.asarray(mu, np.float64)


def mu_of(space: ParameterSpace, uniform: Float[np.ndarray, "*rows p"]) -> Float[np.ndarray, "*rows p"]:
    """Its inverse."""
    return np.exp(uniform) if space.logarithmic else uniform


def trained_ends(space: ParameterSpace) -> Ends:
    """Those of the trained box."""
    return uniform_of(space, np.asarray([space.lows, space.highs], np.float64))


def slider_ends(space: ParameterSpace) -> Ends:
    """Those of the sliders."""
    low, high = trained_ends(space)
    return np.stack([low - BEYOND * (high - low), high + BEYOND * (high - low)])
