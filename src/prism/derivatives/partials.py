"""Partial derivatives as one truncated series in several variables:

    f(x + h) = Σ_α c_α hᵅ,     c_α = ∂ᵅf / α!,

for the α that an equation asks for and all that divide them: sums, products and compositions need nothing beyond these.
u_xxxy, u_ty and u_yy take eleven coefficients, where jets along their six directions have eighteen. ∂ᵝ divides ∂ᵅ where
β_i ≤ α_i for every i: u_xx divides u_xxxy.

Directions are needed where a function is differentiated along vectors, by a lift or a constraint: by their moments
(`moments.py`) those jets become these series.
"""

import functools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.derivatives.expansion import Expansion
from prism.derivatives.moments import Axes, fewest_directions
from prism.derivatives.taylor import sum_of

NEGLIGIBLE = 1e-12
"""A weight below this is the rounding of a zero."""


@functools.lru_cache(maxsize=256)
def divisors(derivatives: tuple[Axes, ...]) -> tuple[Axes, ...]:
    """These and all that divide them, but for the function itself, by their order."""
    found = {part for axes in derivatives for part, _ in _splits(axes)} | {tuple(sorted(axes)) for axes in derivatives}
    return tuple(sorted(found - {()}, key=lambda axes: (len(axes), axes)))


class PartialJet(Expansion):
    """c_0, and c_α for every α of `axes`."""

    value: Float[Array, "*shape"]
    coefficients: tuple[Float[Array, "*#shape"], ...]
    axes: tuple[Axes, ...] = eqx.field(static=True)

    @staticmethod
    def of(value: Array, along: Sequence[Array], axes: tuple[Axes, ...]) -> "PartialJet":
        """From the coefficients c_1(j), c_2(j), ... (zero beyond) along the fewest directions that give all of them:
        c_α = |α|!/α! Σ_j w_j c_|α|(j)."""
        each = zip(axes, fewest_directions(axes).weights, strict=True)
        return PartialJet(value, tuple(_weighted(one, weights, along, value) for one, weights in each), axes)

    @property
    def order(self) -> int:
        return max(map(len, self.axes), default=0)

    @property
    def carries_first(self) -> bool:
        return True

    @property
    def summed_by(self) -> None:
        return None

    def map_linear(self, linear):
        return PartialJet(linear(self.value), tuple(linear(c) for c in self.coefficients), self.axes)

    def shift(self, offset):
        return PartialJet(self.value + offset, self.coefficients, self.axes)

    def __add__(self, other):
        each = zip(self.coefficients, other.coefficients, strict=True)
        return PartialJet(self.value + other.value, tuple(a + b for a, b in each), self.axes)

    def __mul__(self, other):
        """c_α = Σ_{β + γ = α} a_β b_γ."""
        a, b = self._by_axes(), other._by_axes()
        found = tuple(sum_of(a[beta] * b[gamma] for beta, gamma in _splits(alpha)) for alpha in self.axes)
        return PartialJet(self.value * other.value, found, self.axes)

    def composed(self, outer):
        """Σ_m a_m (f − f_0)ᵐ by the powers Q_m = (f − f_0)ᵐ/m!, whose derivative by one variable is Q_{m−1} f':
        α_i Q_m,α = Σ_β β_i f_β Q_{m−1},α−β for any i in α."""
        inner = self._by_axes()
        scaled = [math.factorial(m) * a for m, a in enumerate(outer)]
        power, found = {alpha: inner[alpha] for alpha in self.axes}, {a: scaled[1] * inner[a] for a in self.axes}
        for m in range(2, self.order + 1):
            power = {
                alpha: sum_of(
                    _times(factor, inner[beta] * power[rest])
                    for beta, rest, factor in _splits_by_one(alpha)
                    if len(rest) >= m - 1  # Q_{m−1} begins there
                )
                for alpha in self.axes
                if len(alpha) >= m
            }
            found |= {alpha: found[alpha] + scaled[m] * own for alpha, own in power.items()}
        return PartialJet(outer[0], tuple(found[alpha] for alpha in self.axes), self.axes)

    def polynomial(self, value, coefficients, summed=None):
        assert summed is None
        return PartialJet.of(value, coefficients, self.axes)

    def widened(self, first):
        """Each of them as the derivative by a variable of its own."""
        added = tuple((-1 - number,) for number in range(len(first)))
        return PartialJet(self.value, (*self.coefficients, *first), (*self.axes, *added))

    def narrowed(self, count):
        kept = len(self.axes) - count
        first = jnp.stack(self.coefficients[kept:])
        return PartialJet(self.value, self.coefficients[:kept], self.axes[:kept]), first

    def derivative(self, axes: Axes) -> Float[Array, "*shape"]:
        """∂ᵅf = α! c_α."""
        return _factorial(axes) * self.coefficients[self.axes.index(tuple(sorted(axes)))]

    def _by_axes(self) -> dict[Axes, Array]:
        return {(): self.value, **dict(zip(self.axes, self.coefficients, strict=True))}


def _weighted(axes: Axes, weights: np.ndarray, along: Sequence[Array], value: Array) -> Array:
    """|α|!/α! Σ_j w_j c_|α|(j); zero where that coefficient is not given."""
    if len(axes) > len(along):
        return jnp.zeros_like(value)
    own, scale = along[len(axes) - 1], math.factorial(len(axes)) / _factorial(axes)
    needed = [(float(w), number) for number, w in enumerate(weights) if abs(w) > NEGLIGIBLE]
    return sum_of(_times(scale * w, own[number]) for w, number in needed)


def _times(factor: float, values: Array) -> Array:
    return values if factor == 1.0 else factor * values


def _factorial(axes: Axes) -> int:
    """α!."""
    return math.prod(math.factorial(count) for count in Counter(axes).values())


@functools.cache
def _splits(alpha: Axes) -> tuple[tuple[Axes, Axes], ...]:
    """All β and γ with β + γ = α."""
    return tuple(_parts_of(alpha))


def _parts_of(alpha: Axes) -> Iterator[tuple[Axes, Axes]]:
    counts = sorted(Counter(alpha).items())
    for chosen in product(*[range(count + 1) for _, count in counts]):
        taken = [(axis, number, count - number) for (axis, count), number in zip(counts, chosen, strict=True)]
        yield (
            tuple(axis for axis, number, _ in taken for _ in range(number)),
            tuple(axis for axis, _, left in taken for _ in range(left)),
        )


@functools.cache
def _splits_by_one(alpha: Axes) -> tuple[tuple[Axes, Axes, float], ...]:
    """Those with β_i > 0 for the i that α has least often, and β_i/α_i."""
    counts = Counter(alpha)
    axis = min(counts, key=lambda one: (counts[one], one))
    return tuple((b, rest, b.count(axis) / counts[axis]) for b, rest in _splits(alpha) if axis in b)
