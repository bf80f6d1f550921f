"""Frames: operators that share their directions, and so are read off one jet."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax.numpy as jnp

from prism.derivatives.directions import Decomposition, Draw, Sparse
from prism.derivatives.estimators import Estimator
from prism.derivatives.moments import Axes, Moments, fewest_directions
from prism.derivatives.operators import Operator, Place
from prism.derivatives.taylor import Jet, collapse, first_of
from prism.shapes import Key, Scalar, Vector


@dataclass(frozen=True)
class Frame:
    """Operators under names, and the directions of the first of them, which serve all."""

    operators: Mapping[str, Operator]

    @property
    def leader(self) -> Operator:
        """The first operator."""
        return next(iter(self.operators.values()))

    @property
    def order(self) -> int:
        """Up to which coefficient the jet goes."""
        return max(operator.order for operator in self.operators.values())

    @property
    def collapsed(self) -> bool:
        """Whether the highest coefficient is needed as a weighted sum over directions alone."""
        return all(operator.linear for operator in self.operators.values() if operator.order == self.order)

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

    def decompose(self, draw: Draw, place: Place) -> Decomposition:
        """Directions and weights at a place."""
        return self.leader.decompose(draw, place)

    def shortened(self, jet: Jet) -> Jet:
        """The jet without coefficients that no operator reads."""
        return jet

    def read(self, u: Jet) -> dict[str, Scalar]:
        """The value of every operator."""
        return {name: operator.read(u) for name, operator in self.operators.items()}

    def sizes(self, u: Jet) -> dict[str, Scalar]:
        """The sum of the absolute values that each operator adds up, for a jet with all of its coefficients."""
        summed = lambda k: math.factorial(k) * jnp.abs(u.weights) @ jnp.abs(u.lower[k - 1])
        each = self.operators.items()
        return {name: summed(one.order) if one.linear else jnp.abs(one.read(u)) for name, one in each}


@dataclass(frozen=True)
class PartialFrame(Frame):
    """All partial derivatives of an equation, from the fewest directions that give them together, each with weights of
    its own and directions only up to the order that they are needed for."""

    axes: tuple[Axes, ...]
    """Of each operator."""

    @property
    def moments(self) -> Moments:
        return fewest_directions(self.axes)

    @property
    def collapsed(self) -> bool:
        """One derivative of the highest order alone has a sum of its own."""
        return self.order > 1 and sum(len(axes) == self.order for axes in self.axes) == 1

    def decompose(self, draw: Draw, place: Place) -> Decomposition:
        moments = self.moments
        sparse = Sparse(jnp.asarray(moments.indices), jnp.asarray(moments.values))
        highest = jnp.asarray(moments.weights[max(range(len(self.axes)), key=lambda n: len(self.axes[n]))])
        return Decomposition(sparse, jnp.pad(highest, (0, len(moments.orders) - len(highest))))

    def shortened(self, jet: Jet) -> Jet:
        counts = [sum(own >= k for own in self.moments.orders) for k in range(1, self.order + 1)]
        lower = tuple(first_of(one, count) for one, count in zip(jet.lower, counts, strict=False))
        return Jet(jet.value, lower, jet.top, first_of(jet.weights, counts[-1]))

    def read(self, u: Jet) -> dict[str, Scalar]:
        """∂ᵝu = k! Σ_j w_j c_k(j)."""

        def summed(weights: Vector, k: int) -> Scalar:
            if k == self.order and u.top is not None:
                return u.top
            return collapse(weights, first_of(u.lower[k - 1], len(weights)))

        return self._by_name(lambda weights, k: math.factorial(k) * summed(weights, k), u)

    def sizes(self, u: Jet) -> dict[str, Scalar]:
        summed = lambda weights, k: collapse(jnp.abs(weights), jnp.abs(first_of(u.lower[k - 1], len(weights))))
        return self._by_name(lambda weights, k: math.factorial(k) * summed(weights, k), u)

    def _by_name(self, value, like: Jet) -> dict[str, Scalar]:
        each = zip(self.operators, self.axes, self.moments.weights, strict=True)
        return {name: value(jnp.asarray(weights, like.weights.dtype), len(axes)) for name, axes, weights in each}


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
    return PartialFrame(group, known) if known else Frame(group)
