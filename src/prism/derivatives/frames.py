"""Frames: operators that share their directions, and so are read off one expansion."""

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prism.derivatives.directions import Decomposition, Draw
from prism.derivatives.estimators import Estimator
from prism.derivatives.expansion import Expansion
from prism.derivatives.moments import Axes, Moments, fewest_directions
from prism.derivatives.operators import Operator, Place, sparse_directions
from prism.derivatives.partials import PartialJet, divisors
from prism.derivatives.taylor import Jet, collapse, first_of, linear_jet
from prism.shapes import Key, Scalar, Vector


@dataclass(frozen=True)
class Frame(abc.ABC):
    """Operators under names, and the directions of the first of them, which serve all."""

    operators: Mapping[str, Operator]

    @property
    def leader(self) -> Operator:
        """The first operator."""
        return next(iter(self.operators.values()))

    @property
    def order(self) -> int:
        """The highest order of derivative that is needed."""
        return max(operator.order for operator in self.operators.values())

    @property
    def is_fixed(self) -> bool:
        """Whether its directions are the same at every x and μ (for one draw)."""
        return self.leader.fixed

    def is_shared(self, estimator: Estimator) -> bool:
        """Whether one draw of directions serves every point of a batch."""
        return estimator.shared or self.leader.isotropic_order is None

    def draw(self, estimator: Estimator, place: Place, key: Key) -> Draw:
        """The random part of its directions."""
        return self.leader.draw(estimator, place, key)

    @property
    @abc.abstractmethod
    def collapsed(self) -> bool:
        """Whether the highest coefficient is needed as a weighted sum over directions alone."""

    @abc.abstractmethod
    def decompose(self, draw: Draw, place: Place) -> Decomposition:
        """Directions and weights at a place."""

    @abc.abstractmethod
    def expansion(self, value: Array, lower: Sequence[Array], top: Array | None, weights: Vector) -> Expansion:
        """That of a function with these coefficients along the directions; of a linear one the first alone are
        given."""

    @abc.abstractmethod
    def read(self, u: Any) -> dict[str, Scalar]:
        """The value of every operator, off an expansion that this frame made."""

    @abc.abstractmethod
    def sizes(self, u: Jet) -> dict[str, Scalar]:
        """The sum of the absolute values that each operator adds up, for a jet with all of its coefficients."""

    def constant(self, value: Scalar, decomposition: Decomposition) -> Expansion:
        """The expansion of a constant."""
        weights = decomposition.weights
        return self.expansion(value, (jnp.zeros_like(weights),), None, weights)


class DirectionFrame(Frame):
    """Operators that read the jet along one set of directions, each in its own way: Δu and |∇u|²."""

    @property
    def collapsed(self) -> bool:
        return all(operator.linear for operator in self.operators.values() if operator.order == self.order)

    def decompose(self, draw: Draw, place: Place) -> Decomposition:
        return self.leader.decompose(draw, place)

    def expansion(self, value: Array, lower: Sequence[Array], top: Array | None, weights: Vector) -> Jet:
        if top is None and len(lower) == 1:  # linear channels: nothing beyond the first
            return linear_jet(value, lower[0], self.order, self.collapsed, weights)
        return Jet(value, tuple(lower), top, weights)

    def read(self, u: Jet) -> dict[str, Scalar]:
        return {name: operator.read(u) for name, operator in self.operators.items()}

    def sizes(self, u: Jet) -> dict[str, Scalar]:
        summed = lambda k: math.factorial(k) * jnp.abs(u.weights) @ jnp.abs(u.lower[k - 1])
        each = self.operators.items()
        return {name: summed(one.order) if one.linear else jnp.abs(one.read(u)) for name, one in each}


@dataclass(frozen=True)
class PartialFrame(Frame):
    """All partial derivatives of an equation, and all that divide them, as one series in several variables; a function
    is differentiated along few directions that give them together."""

    axes: tuple[Axes, ...]
    """Of each operator."""

    @property
    def every(self) -> tuple[Axes, ...]:
        """The derivatives that its expansions hold."""
        return divisors(self.axes)

    @property
    def moments(self) -> Moments:
        return fewest_directions(self.every)

    @property
    def collapsed(self) -> bool:
        """Each derivative has a sum of its own over directions."""
        return False

    def decompose(self, draw: Draw, place: Place) -> Decomposition:
        # Nobody reads these weights: every derivative has its own.
        return Decomposition(sparse_directions(self.moments), jnp.ones(len(self.moments.orders)))

    def expansion(self, value: Array, lower: Sequence[Array], top: Array | None, weights: Vector) -> PartialJet:
        assert top is None
        return PartialJet.of(value, lower, self.every)

    def read(self, u: PartialJet) -> dict[str, Scalar]:
        return {name: u.derivative(axes) for name, axes in zip(self.operators, self.axes, strict=True)}

    def sizes(self, u: Jet) -> dict[str, Scalar]:
        weights = dict(zip(self.every, self.moments.weights, strict=True))

        def size(axes: Axes) -> Scalar:
            own = jnp.asarray(np.abs(weights[tuple(sorted(axes))]), u.weights.dtype)
            return math.factorial(len(axes)) * collapse(own, jnp.abs(first_of(u.lower[len(axes) - 1], len(own))))

        return {name: size(axes) for name, axes in zip(self.operators, self.axes, strict=True)}


def framed(operators: Mapping[str, Operator], dimension: int, coordinates: int) -> list[Frame]:
    """The operators in as few frames as they need, at points of so many coordinates."""
    groups: list[dict[str, Operator]] = []
    for name, operator in operators.items():
        sharing = (group for group in groups if next(iter(group.values())).shares_directions(operator))
        group = next(sharing, None)
        if group is None:
            groups.append({name: operator})
        else:
            group[name] = operator
    return [_frame_of(group, dimension, coordinates) for group in groups]


def _frame_of(group: Mapping[str, Operator], dimension: int, coordinates: int) -> Frame:
    axes: Sequence[Axes | None] = [operator.axes_in(dimension, coordinates) for operator in group.values()]
    known = tuple(one for one in axes if one is not None)
    return PartialFrame(group, known) if known else DirectionFrame(group)
