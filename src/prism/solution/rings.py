"""How error and residual are related inside the trained box and in rings around it.

    log(error / ρ) ≈ c + Σ_s b_s e_s(μ),      e_s how far μ lies beyond each of the box's 2p sides, in box widths

Each ring has a fit of its own, by least squares over held-out μ. Its 95 % interval lies between two order statistics of
the fit's errors, each at a μ that this fit was made without (conformal prediction, leaving one out): nothing is assumed
of their law, which is skewed far outside. Distances are taken in the coordinate in which the parameters are uniform.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.numerics.keys import items
from prism.problem.parameters import ParameterSpace
from prism.shapes import Key, Parameter, Scalar

BOUNDS = ((0.0, 0.0), (0.0, 0.25), (0.25, 0.5), (0.5, 1.0))
"""The box itself, and the rings: further outside than the first number of widths, at most as far as the second."""
LEVEL = 0.95
"""Of the intervals."""
FEWEST = math.ceil(2.0 / (1.0 - LEVEL) - 1e-9) - 1
"""Values without which there is no interval of this level: below 39, even that from the least to the greatest is less
sure than 95 %."""
PER_COEFFICIENT = 4
"""Values for each coefficient of a fit and beyond each side that has a slope; with fewer, slopes are left out."""
ROUNDING = 1e-5
"""Widths by which a distance may be wrong in single precision."""

Sides = Float[np.ndarray, "sides"]
"""e_s(μ): how far μ lies below the lower end of each parameter, then how far above each upper end; never negative."""


@dataclass(frozen=True)
class Fit:
    """log(error / ρ) = centre + Σ slopes·e, and where in between it lies relative to that."""

    centre: float
    slopes: tuple[float | None, ...]
    """None for a side beyond which too few values were finite: nothing is known there."""
    low: float
    high: float

    def logarithm(self, beyond: Sides) -> float | None:
        """The fitted log(error / ρ); None beyond a side of which nothing is known."""
        pairs = [(slope, float(far)) for slope, far in zip(self.slopes, beyond, strict=True) if far > 0.0]
        known = [slope * far for slope, far in pairs if slope is not None]
        return self.centre + sum(known) if len(known) == len(pairs) else None


@dataclass(frozen=True)
class Ring:
    """The μ outside the box by more than `inner` of its widths, and by `outer` at most; the box where both are 0."""

    inner: float
    outer: float
    count: int
    """Held-out μ in it at which error and residual are finite: a family need not exist outside its box."""
    fit: Fit | None
    """None where these are too few."""

    @staticmethod
    def of(bounds: tuple[float, float], beyond: Float[np.ndarray, "n sides"], logs: Float[np.ndarray, "n"]) -> "Ring":
        """From the log(error / ρ) at some μ of the ring, those that are not finite left out."""
        finite = np.isfinite(logs)
        return Ring(*bounds, count=int(finite.sum()), fit=fitted(beyond[finite], logs[finite]))

    def holds(self, distance: float) -> bool:
        """Whether a μ so far from the box belongs to it, or to a ring further inside."""
        return distance <= self.outer + (ROUNDING if self.outer else 0.0)

    def describe(self) -> str:
        return f"outside by {self.inner:g} to {self.outer:g} box widths" if self.outer else "inside the box"


def fitted(beyond: Float[np.ndarray, "n sides"], logs: Float[np.ndarray, "n"]) -> Fit | None:
    """The fit to finite values and its interval; None where they are too few for one."""
    count = len(logs)
    if count < FEWEST:
        return None
    reached = np.sum(beyond > 0.0, axis=0)
    known = reached >= PER_COEFFICIENT
    sloped = known if count >= PER_COEFFICIENT * (1 + known.sum()) else np.zeros_like(known)
    columns = np.column_stack([np.ones(count), beyond[:, sloped]])
    inverse = np.linalg.pinv(columns)
    coefficients, leverage = inverse @ logs, np.einsum("nc,cn->n", columns, inverse)
    # (1 − leverage) turns the error of the fit to all values into that of the fit to all but one, at this one.
    errors = np.sort((logs - columns @ coefficients) / (1.0 - leverage))
    cut = math.floor((count + 1) * (1.0 - LEVEL) / 2.0)
    slopes = np.zeros(len(known))
    slopes[sloped] = coefficients[1:]
    return Fit(
        centre=float(coefficients[0]),
        slopes=tuple(float(slope) if seen else None for slope, seen in zip(slopes, known, strict=True)),
        low=float(errors[cut - 1]),
        high=float(errors[count - cut]),
    )


def ring_at(rings: Sequence[Ring], distance: float) -> Ring | None:
    """The innermost ring that holds a μ so far outside."""
    return next((ring for ring in rings if ring.holds(distance)), None)


def sides(space: ParameterSpace, mu: Parameter) -> Float[Array, "sides"]:
    """e_s(μ), see `Sides`."""
    low, high = space.uniform_box()
    t = space.uniform_coordinate(mu)
    return jnp.concatenate([jnp.maximum(low - t, 0.0) / (high - low), jnp.maximum(t - high, 0.0) / (high - low)])


def sample_outside(space: ParameterSpace, inner: Scalar, outer: Scalar, key: Key) -> Parameter:
    """A μ whose largest distance from the box over its parameters is uniform between `inner` and `outer` widths.

    How many parameters are outside is uniform from one to all, so that one alone is as frequent as all of them; which
    ones and on which side, all are equally likely. One lies outside by the distance, the others by uniform fractions of
    it, and the rest are uniform in the box.
    """
    distance_key, count_key, order_key, fraction_key, side_key = items(key, 5)
    distance = outer - (outer - inner) * jax.random.uniform(distance_key)
    order = jax.random.permutation(order_key, space.size)
    fractions = jax.random.uniform(fraction_key, (space.size,))
    far = distance * jnp.where(order == 0, 1.0, fractions)
    outside = order <= jax.random.randint(count_key, (), 0, space.size)
    above = jax.random.bernoulli(side_key, shape=(space.size,))
    low, high = space.uniform_box()
    beyond = jnp.where(above, high + far * (high - low), low - far * (high - low))
    return jnp.where(outside, space.from_uniform_coordinate(beyond), space.sample(key))
