"""Few directions that serve all partial derivatives of one equation.

    Dᵏu[v, ..., v] = Σ_{|α| = k} (k!/α!) vᵅ ∂ᵅu,

so ∂ᵝu = Σ_j w_j Dᵏu[v_j, ..., v_j] wherever the weights solve  Σ_j w_j (k!/α!) v_jᵅ = δ_αβ  for every |α| = k = |β|.
Directions serve all derivatives together: the four of u_xxxy give u_xx, u_xy and u_yy too.

x^k needs one direction, x^a y^b needs a + b real ones (Boij, Carlini and Geramita, J. Pure Appl. Algebra 215, 2011), a
monomial in more variables, with exponents a_1 ≤ a_2 ≤ ..., at least Π_{i≥2} (a_i + 1); entries in other variables do
not lower that number (Carlini, Catalisano and Geramita, J. Algebra 370, 2012). Different derivatives of one order need
as many as they are. Sets of small whole numbers are searched from these bounds on; where none is found in so many
tries, there is one made of the short directions of each derivative, or of those of its polarisation.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from prism.derivatives.polarisation import polarise

Axes = tuple[int, ...]
"""A partial derivative as the coordinates that it differentiates by, in order: (0, 0, 1) for u_xxy."""
Direction = tuple[tuple[int, int], ...]
"""The coordinates of a vector that are not zero, each with its entry."""

LARGEST_ENTRY = 2
"""Of the whole numbers that directions are searched among; larger ones cancel more digits."""
MOST_VARIABLES = 3
"""Of a derivative for which others than the directions of its polarisation are searched."""
MOST_TRIED = 4_000
"""Sets that are tried before the best one found is taken."""
ROUNDING = 1e-9
"""Of a linear system whose entries are small whole numbers."""


@dataclass(frozen=True)
class Moments:
    """Directions v_1 ... v_n, and of every derivative its weights over the first of them."""

    indices: np.ndarray
    """The coordinates of each direction's entries, n × s."""
    values: np.ndarray
    orders: tuple[int, ...]
    """Up to which Taylor coefficient each direction is needed: the highest ones first."""
    weights: tuple[np.ndarray, ...]
    """Of each derivative, in the order in which they were asked for."""


@functools.lru_cache(maxsize=256)
def fewest_directions(derivatives: tuple[Axes, ...]) -> Moments:
    """Directions and weights for these derivatives together, as few as are found. They are the directions of those that
    divide no other: Σ_j w_j v_j ⊗ ... ⊗ v_j contracted with basis vectors gives every divisor from the same v_j."""
    groups = [
        _Linked(group) for group in _groups(axes for axes in derivatives if not _divides_other(axes, derivatives))
    ]
    orders = {v: order for group in groups for v, order in group.orders().items()}
    directions = sorted(orders, key=lambda v: -orders[v])
    size = max(map(len, directions))
    padded = [[*v, *[(v[0][0], 0)] * (size - len(v))] for v in directions]
    indices, values = (np.asarray([[entry[part] for entry in v] for v in padded]) for part in (0, 1))
    weights = []
    for axes in derivatives:
        there = [v for v in directions if orders[v] >= len(axes)]
        own = next(group for group in groups if group.has_multiple(axes)).weights(there, axes)
        assert own is not None
        weights.append(np.asarray([own.get(v, 0.0) for v in there]))
    return Moments(indices, values.astype(float), tuple(orders[v] for v in directions), tuple(weights))


def _divides(axes: Axes, other: Axes) -> bool:
    return not Counter(axes) - Counter(other)


def _divides_other(axes: Axes, derivatives: Iterable[Axes]) -> bool:
    return any(len(other) > len(axes) and _divides(axes, other) for other in derivatives)


def least_count(axes: Axes) -> int:
    """A number of directions below which no set gives the derivative."""
    exponents = sorted(axes.count(axis) for axis in set(axes))
    return sum(exponents) if len(exponents) == 2 else math.prod(exponent + 1 for exponent in exponents[1:])


def _groups(derivatives: Iterable[Axes]) -> list[list[Axes]]:
    """The derivatives in groups that share no coordinate; in each, those of highest order first."""
    groups: list[list[Axes]] = []
    for axes in dict.fromkeys(derivatives):
        touching = [group for group in groups if any(set(axes) & set(other) for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([axes, *itertools.chain(*touching)])
    return [sorted(group, key=lambda axes: (-len(axes), -least_count(axes), axes)) for group in groups]


class _Linked:
    """Derivatives linked by their coordinates, and the directions that give them all."""

    def __init__(self, derivatives: Sequence[Axes]):
        self.derivatives = derivatives

    def has_multiple(self, axes: Axes) -> bool:
        """Whether one of its derivatives is this one, or has it as a divisor."""
        return any(_divides(axes, other) for other in self.derivatives)

    def orders(self) -> dict[Direction, int]:
        """The directions, each with the order up to which it is needed: derivatives of lower order take what is there
        already."""
        chosen, orders = self._fewest(), dict[Direction, int]()
        for axes in self.derivatives:
            others = [v for v in chosen if v not in orders]
            fewest = 0 if orders else least_count(axes)
            added = _without_unneeded(others, partial(self._suffice, list(orders), axes), fewest)
            orders |= dict.fromkeys(added, len(axes))
        return orders

    def _suffice(self, there: Sequence[Direction], axes: Axes, added: Sequence[Direction]) -> bool:
        """Whether directions that are there and others give the derivative."""
        return self.weights([*there, *added], axes) is not None

    def weights(self, directions: Sequence[Direction], axes: Axes) -> dict[Direction, float] | None:
        """Of directions that lie within the variables of one derivative that has all of these; None where they do not
        give it."""
        for variables in dict.fromkeys(tuple(sorted(set(other))) for other in self.derivatives):
            if set(axes) <= set(variables):
                found = _solved([v for v in directions if {axis for axis, _ in v} <= set(variables)], variables, axes)
                if found is not None:
                    return found
        return None

    def _fewest(self) -> tuple[Direction, ...]:
        """Of small entries where a set is found in so many tries, else short or polarised ones without those that are
        not needed."""
        fewest, tries = self._least_count(), itertools.count(1)
        best = self._thinned(_polarised, fewest)
        if len(best) > fewest:
            best = min(best, self._thinned(_short, fewest), key=len)
        for budget in range(fewest, len(best)):
            found = self._completed((), budget, tries)
            if found is not None:
                return found
        return best

    def _least_count(self) -> int:
        """A number of directions below which no set gives all: that of the hardest, or of the different derivatives of
        one order, those that divide others among them."""
        parts = {part for axes in self.derivatives for k in range(1, len(axes) + 1) for part in combinations(axes, k)}
        of_order = Counter(map(len, parts))
        return max(*map(least_count, self.derivatives), *of_order.values())

    def _thinned(self, directions_of: Callable[[Axes], list[Direction]], fewest: int) -> tuple[Direction, ...]:
        """These directions of every derivative, the short ones first, without those that are not needed."""
        every = dict.fromkeys(v for axes in self.derivatives for v in directions_of(axes))
        given = lambda some: all(self.weights(some, axes) is not None for axes in self.derivatives)
        return tuple(_without_unneeded(sorted(every, key=len), given, fewest))

    def _completed(
        self, chosen: tuple[Direction, ...], budget: int, tries: Iterator[int]
    ) -> tuple[Direction, ...] | None:
        """At most `budget` directions, these among them, that give every derivative; None where there are none, or no
        tries are left."""
        missing = next((axes for axes in self.derivatives if self.weights(chosen, axes) is None), None)
        if missing is None:
            return chosen
        others = [v for v in _candidates(missing) if v not in chosen]
        # Depth first: what gives the first derivative that is missing, then the next.
        for size in range(1 if chosen else least_count(missing), budget - len(chosen) + 1):
            for added in combinations(others, size):
                if next(tries) > MOST_TRIED:
                    return None
                if self.weights((*chosen, *added), missing) is not None:
                    found = self._completed((*chosen, *added), budget, tries)
                    if found is not None:
                        return found
        return None


def _without_unneeded(
    directions: Sequence[Direction], suffice: Callable[[Sequence[Direction]], bool], fewest: int
) -> list[Direction]:
    """The directions without those that are not needed, the last ones tried first; `fewest` are always needed."""
    if len(directions) <= fewest:
        return list(directions)
    kept = [] if suffice([]) else list(directions)
    for one in reversed(kept.copy()):
        rest = [v for v in kept if v != one]
        kept = rest if suffice(rest) else kept
    return kept


def _solved(directions: Sequence[Direction], variables: Axes, axes: Axes) -> dict[Direction, float] | None:
    """The weights with which directions of these variables give the derivative, the smallest where there is a choice;
    None where they do not."""
    if not directions:
        return None
    vectors = np.asarray([[dict(v).get(axis, 0) for axis in variables] for v in directions], dtype=float)
    powers, factors = _exponents(len(variables), len(axes))
    matrix = factors[:, None] * np.prod(vectors[None] ** powers[:, None], axis=2)
    target = np.all(powers == [axes.count(axis) for axis in variables], axis=1).astype(float)
    weights = np.linalg.lstsq(matrix, target, rcond=None)[0]
    missed = np.max(np.abs(matrix @ weights - target))
    return dict(zip(directions, weights, strict=True)) if missed < ROUNDING else None


def _candidates(axes: Axes) -> list[Direction]:
    """Directions within the variables of a derivative, the shortest first."""
    variables = sorted(set(axes))
    if len(variables) > MOST_VARIABLES:
        return _polarised(axes)
    entries = range(-LARGEST_ENTRY, LARGEST_ENTRY + 1)
    vectors = sorted(itertools.product(entries, repeat=len(variables)), key=lambda v: (sum(map(abs, v)), v[::-1]))
    return list(dict.fromkeys(_direction(variables, v) for v in vectors if any(v)))


def _short(axes: Axes) -> list[Direction]:
    """Those of one variable and of two, with entries 1 and −1, and where these are too few those of polarisation."""
    variables = sorted(set(axes))
    alone = [((axis, 1),) for axis in variables]
    paired = [((one, 1), (other, sign)) for one, other in combinations(variables, 2) for sign in (1, -1)]
    return [*alone, *paired, *(_polarised(axes) if len(axes) > 2 else [])]


def _polarised(axes: Axes) -> list[Direction]:
    """Those of the derivative's polarisation."""
    variables = sorted(set(axes))
    vectors = polarise(tuple(axes.count(axis) for axis in variables))[0]
    return [_direction(variables, v) for v in vectors.astype(int).tolist()]


def _direction(variables: Sequence[int], vector: Sequence[int]) -> Direction:
    """The shortest whole-number vector along this one, its first entry positive."""
    entries = [(axis, entry) for axis, entry in zip(variables, vector, strict=True) if entry]
    length = math.gcd(*[entry for _, entry in entries]) * (1 if entries[0][1] > 0 else -1)
    return tuple((axis, entry // length) for axis, entry in entries)


@functools.cache
def _exponents(variables: int, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Every α with |α| = order, one per row, and k!/α!."""
    chosen = itertools.combinations_with_replacement(range(variables), order)
    powers = np.asarray([[one.count(place) for place in range(variables)] for one in chosen])
    factors = [math.factorial(order) // math.prod(map(math.factorial, alpha)) for alpha in powers.tolist()]
    return powers, np.asarray(factors, dtype=float)
