"""The lowest eigenvalue of −Δ + v in many coordinates that interact in pairs, by density-matrix renormalisation.

    v(y) = Σ_i v_i(y_i) + Σ_pairs Σ_i f_i(y_i) g_(i+o)(y_(i+o)),      |y_i| ≤ L_i,   Ψ = 0 at the ends

Each place i has the basis of the lowest eigenfunctions of −d²/dy² + v_i, found among sines (a discrete variable
representation: Colbert and Miller 1992), in which H is a sum of products of small matrices: a matrix product operator,
whose bond tells how far each product has come (Schollwöck 2011, section 6). Its lowest state is sought among matrix
product states, two neighbouring places at a time, there and back along the chain (White 1992). At each cut the
eigenvectors of the density matrix with the largest weights are kept. To the density matrix the first rounds add a
little of what open products make of the state (White 2005): without it, two places that interact over a third one
would never be seen by any pair of neighbours.

Every result is the mean energy of a state, and so not below the level but for quadrature and rounding. It is computed
twice: what a larger grid, basis and bond still change bounds what is left, where that falls by half or more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh, eigh_tridiagonal

from prism.errors import InputError
from prism.numerics.precision import in_double_precision
from prism.references.reference import Reference
from prism.shapes import Named

Function = Callable[[Any, Any, Named], Any]
"""Of y, i and μ."""
Tensor = Float[np.ndarray, "own _before _after"]
"""A matrix for each basis function of one place; Ψ of a choice of functions is the product of their matrices."""
Pair = Float[np.ndarray, "own own _before _after"]
Operator = Float[np.ndarray, "_after own _before own"]
Environment = Float[np.ndarray, "_operator _state _state"]
"""⟨Ψ| H |Ψ⟩ of the places on one side of a cut, with the bonds there left open."""

ROUNDS = 20
TOLERANCE = 1e-11
"""Rounds end when there and back the energy is the same up to this part of itself."""
NOISE = (1e-3, 1e-5, 1e-7)
"""Weight of what is added to the density matrix in the first rounds from a product state."""
SPARE, LEAST_WEIGHT = 8, 1e-14
"""Random vectors beyond the singular ones sought, and the part of the largest weight that is told from rounding."""
LANCZOS_STEPS = 8
RESIDUAL = 1e-7
"""Of the state of two places, relative to the spread of the energies seen there; the energy errs by its square."""


@runtime_checkable
class PairPotential(Protocol):
    """What is asked of `problem.potential.Potential`, which lies above this package; pairs have left, right, offset."""

    @property
    def dimension(self) -> int: ...
    @property
    def pairs(self) -> Sequence[Any]: ...
    def single(self, y: Any, i: Any, mu: Named) -> Any: ...
    def half_width(self, i: Any) -> Any: ...


@dataclass(frozen=True)
class Size:
    """Points of each interval, basis functions of each place, the largest bond, and the weight lost at each cut."""

    points: int
    functions: int
    bond: int
    lost: float


SMALL, LARGE = Size(96, 12, 24, 1e-12), Size(128, 16, 48, 1e-14)


@dataclass(frozen=True)
class _Place:
    """The lowest levels of one coordinate alone, their states as sums of sines, and f and g of each pair in them."""

    levels: Float[np.ndarray, "own"]
    states: Float[np.ndarray, "sines own"]
    left: Float[np.ndarray, "pairs own own"]
    right: Float[np.ndarray, "pairs own own"]
    rounding: float


def ground_level(potential: PairPotential, mu: Named, small: Size = SMALL, large: Size = LARGE) -> Reference:
    """The lowest eigenvalue on the box of all |y_i| ≤ L_i; where no two coordinates interact, a sum of levels.

    The uncertainty is the difference of a small and a large computation, what the last sweep changed, and rounding.

    >>> from types import SimpleNamespace
    >>> springs = SimpleNamespace(left=lambda y, i, mu: -mu.c * y, right=lambda y, i, mu: y, offset=1)
    >>> two = SimpleNamespace(dimension=2, pairs=[springs], single=lambda y, i, mu: y * y, half_width=lambda i: 7.0)
    >>> level = ground_level(two, Named({"c": 0.5}))
    >>> round(level.value - (0.75**0.5 + 1.25**0.5), 9) + 0.0, level.uncertainty < 1e-9
    (0.0, True)
    """
    coarse, fine = (_places(potential, mu, size) for size in (small, large))
    rounding = sum(place.rounding for place in fine)
    if potential.dimension == 1 or not potential.pairs:
        first, value = (float(sum(place.levels[0] for place in places)) for places in (coarse, fine))
        return Reference(value, abs(value - first) + rounding, f"levels of each coordinate from {large.points} sines")
    offsets = [pair.offset for pair in potential.pairs]
    product = [np.eye(small.functions, 1)[..., None]] * potential.dimension
    first, _, tensors = _descended(product, _operators(coarse, offsets), small, NOISE)
    # The state of the small computation, in the basis of the large one: nearly the one that is sought.
    overlaps = [one.states[: small.points].T @ other.states for one, other in zip(fine, coarse, strict=True)]
    tensors = [np.tensordot(*pair, 1) for pair in zip(overlaps, tensors, strict=True)]
    value, change, _ = _descended(tensors, _operators(fine, offsets), large, ())
    method = f"density-matrix renormalisation, {large.functions} functions of each place, bonds up to {large.bond}"
    return Reference(value, abs(value - first) + change + rounding, method)


def levels_of_one(potential: PairPotential, i: int, mu: Named, count: int) -> Float[np.ndarray, "levels"]:
    """The lowest eigenvalues of −d²/dy² + v_i on [−L_i, L_i], from below."""
    if not 0 <= i < potential.dimension or count < 1:
        raise InputError(f"{count} levels of coordinate {i}; give at least 1, of one below {potential.dimension}")
    return _places(potential, mu, Size(max(LARGE.points, 8 * count), count, 1, 0.0), [i])[0].levels


def _places(potential: PairPotential, mu: Named, size: Size, chosen: Sequence[int] | None = None) -> list[_Place]:
    """The basis of each place: the lowest eigenvectors of −d²/dy² + v_i on the grid, computed once for places alike."""
    among = np.arange(1, size.points + 1)
    sines = np.sqrt(2.0 / (size.points + 1)) * np.sin(np.pi / (size.points + 1) * np.outer(among, among))
    kinetic = (sines * (np.pi / 2.0 * among) ** 2) @ sines
    places = np.arange(potential.dimension) if chosen is None else np.asarray(chosen)
    known, found = {}, []
    for width, *values in zip(*_values(potential, mu, places, 2.0 * among / (size.points + 1) - 1.0), strict=True):
        key = (float(width), *(value.tobytes() for value in values))
        if key not in known:
            v, f, g = values
            levels, states = eigh(kinetic / width**2 + np.diag(v), subset_by_index=(0, size.functions - 1))
            left, right = (np.matmul(states.T, one[:, :, None] * states) for one in (f, g))
            largest = (np.pi / 2.0 * size.points / width) ** 2 + np.max(np.abs(v))
            known[key] = _Place(levels, sines @ states, left, right, float(np.finfo(float).eps * largest))
        found.append(known[key])
    return found


def _values(potential: PairPotential, mu: Named, places: np.ndarray, grid: np.ndarray) -> list[np.ndarray]:
    """L_i; v_i at the points L_i · grid; f_i and g_i of every pair there."""
    with jax.enable_x64(True):
        exact, mu = in_double_precision(potential), Named({name: float(value) for name, value in vars(mu).items()})
        indices = jnp.asarray(places)
        widths = jax.vmap(lambda i: jnp.asarray(exact.half_width(i), float))(indices)
        if not np.all(np.asarray(widths) > 0.0):
            raise InputError("a half_width is not positive; give a positive finite number for every coordinate")
        y = widths[:, None] * jnp.asarray(grid)[None, :]

        def everywhere(function: Function) -> jax.Array:
            at = lambda y, i: jnp.asarray(function(y, i, mu), float)
            return jax.vmap(jax.vmap(at, (0, None)))(y, indices)

        single, none = everywhere(exact.single), jnp.zeros((len(places), 0, len(grid)))
        sides = [[everywhere(getattr(pair, side)) for pair in exact.pairs] for side in ("left", "right")]
        values = [widths, single, *(jnp.stack(side, axis=1) if side else none for side in sides)]
        found = [np.asarray(value, float) for value in values]
    if not all(np.isfinite(value).all() for value in found):
        raise InputError("the potential is not finite everywhere on its intervals; give half_width where it is")
    return found


def _operators(places: Sequence[_Place], offsets: Sequence[int]) -> list[Operator]:
    """H as an automaton: nothing yet; the pair k opened s places ago, 1 ≤ s ≤ offset; all done."""
    first = np.cumsum([1, *offsets])
    done = int(first[-1])
    found = []
    for number, place in enumerate(places):
        identity = np.eye(len(place.levels))
        operator = np.zeros((done + 1, len(identity), done + 1, len(identity)))
        operator[0, :, 0] = operator[done, :, done] = identity
        operator[done, :, 0] = np.diag(place.levels)
        for k, offset in enumerate(offsets):
            for since in range(first[k], first[k + 1] - 1):
                operator[since + 1, :, since] = identity
            if number + offset < len(places):
                operator[first[k], :, 0] = place.left[k]
            if number >= offset:
                operator[done, :, first[k + 1] - 1] = place.right[k]
        found.append(operator)
    return [found[0][:, :, :1], *found[1:-1], found[-1][done:]]


def _descended(
    tensors: list[Tensor], operators: list[Operator], size: Size, noise: Sequence[float]
) -> tuple[float, float, list[Tensor]]:
    """The lowest energy, how much the way back changed it, and its state: rounds there and back along the chain."""
    mirrored_operators = [one.transpose(2, 1, 0, 3) for one in reversed(operators)]
    behind, energy, change = [np.ones((1, 1, 1))], np.inf, np.inf
    for tensor, operator in zip(_mirrored(tensors)[:-1], mirrored_operators, strict=False):
        behind.append(_extended(behind[-1], tensor, operator))
    for number in range(ROUNDS):
        added = noise[number] if number < len(noise) else 0.0
        there, tensors, behind = _sweep(tensors, operators, behind, added, size)
        energy, tensors, behind = _sweep(_mirrored(tensors), mirrored_operators, behind, added, size)
        tensors, change = _mirrored(tensors), abs(energy - there)
        if number >= len(noise) and change <= TOLERANCE * abs(energy):
            break
    return energy, change, tensors


def _mirrored(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The same state from the last place to the first."""
    return [tensor.transpose(0, 2, 1) for tensor in reversed(tensors)]


def _sweep(
    tensors: Sequence[Tensor], operators: Sequence[Operator], behind: Sequence[Environment], noise: float, size: Size
) -> tuple[float, list[Tensor], list[Environment]]:
    """From the first place to the last: the energy there, the state, and the environments of the first k places.

    Those are what `behind`, the environments of the last k places, is on the way back.
    """
    energy, centre, found, ahead = np.inf, tensors[0], [], [np.ones((1, 1, 1))]
    for j in range(len(tensors) - 1):
        pair = np.matmul(centre[:, None], tensors[j + 1])
        sides = ahead[-1], operators[j], operators[j + 1], behind[len(tensors) - 2 - j]
        energy, pair = _lowest(lambda x, sides=sides: _applied(*sides, x), pair)
        kept, centre = _split(pair, ahead[-1], operators[j], noise, size)
        found.append(kept)
        ahead.append(_extended(ahead[-1], kept, operators[j]))
    return energy, [*found, centre], ahead


# The products below are stacks of small ones. One large product instead would wake the threads of the linear algebra
# library, which on a busy machine wait for each other: a chain of 50 places then took minutes instead of a second.


def _extended(ahead: Environment, tensor: Tensor, operator: Operator) -> Environment:
    """The environment with one more place in it."""
    part = _through(operator, np.matmul(ahead[:, None], tensor)[:, :, None])
    return np.sum(np.matmul(tensor.transpose(0, 2, 1), part[0].transpose(1, 2, 0, 3)), axis=1)


def _applied(ahead: Environment, here: Operator, there: Operator, behind: Environment, pair: Pair) -> Pair:
    """H for two places between environments, of a state of them."""
    part = _through(here, np.matmul(ahead[:, None, None], pair))
    part = _through(there, part.transpose(2, 0, 3, 1, 4))
    part = part.transpose(0, 3, 1, 2, 4)
    rows = behind.transpose(0, 2, 1).reshape(-1, behind.shape[1])
    return np.matmul(part.reshape(*part.shape[:3], -1), rows)


def _through(operator: Operator, part: Float[np.ndarray, "_before own _other _state _after"]) -> np.ndarray:
    """The operator of one place applied: the axes are then (other, state, operator, own, after)."""
    bond, own, *_ = operator.shape
    _, _, other, state, after = part.shape
    columns = part.transpose(2, 3, 0, 1, 4).reshape(other, state, -1, after)
    return np.matmul(operator.reshape(bond * own, -1), columns).reshape(other, state, bond, own, after)


def _lowest(applied: Callable[[Pair], Pair], start: Pair) -> tuple[float, Pair]:
    """The lowest eigenpair of a symmetric operator near a first guess, by Lanczos' method, each step orthogonalised."""
    basis, diagonal, beside = [start / np.sqrt(np.sum(start**2))], [], []
    while True:
        following = applied(basis[-1])
        diagonal.append(float(np.sum(basis[-1] * following)))
        for one in reversed(basis):
            following = following - np.sum(one * following) * one
        beside.append(float(np.sqrt(np.sum(following**2))))
        energies, parts = eigh_tridiagonal(diagonal, beside[:-1])
        is_found = beside[-1] * abs(parts[-1, 0]) <= RESIDUAL * (energies[-1] - energies[0])
        if is_found or beside[-1] == 0.0 or len(basis) == LANCZOS_STEPS:
            return float(energies[0]), np.tensordot(parts[:, 0], np.stack(basis), 1)
        basis.append(following / beside[-1])


def _split(pair: Pair, ahead: Environment, operator: Operator, noise: float, size: Size) -> tuple[Tensor, Tensor]:
    """A state of two places as a product, orthonormal at the first: the singular vectors of largest weight.

    Where they are few among many, they are sought in the image of random vectors (Halko, Martinsson and Tropp 2011).
    """
    own, _, bond, _ = pair.shape
    matrix = sought = pair.transpose(0, 2, 1, 3).reshape(own, bond, -1)
    if noise:
        added = _through(operator, np.matmul(ahead[:, None, None], pair))[:, :, 1:-1]
        added = added.transpose(3, 1, 2, 0, 4).reshape(own, bond, -1)
        norm = max(np.sqrt(np.sum(added**2)), np.finfo(float).tiny)
        sought = np.concatenate([matrix, np.sqrt(noise) / norm * added], axis=2)
    count, columns = size.bond + SPARE, sought.shape[2]
    random = np.random.default_rng(0).standard_normal((columns, count)) if count < columns else np.eye(columns)
    image = np.matmul(sought, random)
    for _ in range(2):  # the first leaves it well-conditioned, the second orthonormal to the last digits
        weights, vectors = eigh(_overlap(image, image))
        is_felt = weights > LEAST_WEIGHT * weights[-1]
        image = np.matmul(image, vectors[:, is_felt] / np.sqrt(weights[is_felt]))
    part = _overlap(image, sought).T.reshape(own, -1, image.shape[2])
    weights, vectors = eigh(_overlap(part, part))
    is_kept = np.cumsum(weights) > size.lost
    kept = np.matmul(image, vectors[:, is_kept][:, -size.bond :])
    rest = _overlap(kept, matrix).reshape(-1, pair.shape[1], pair.shape[3])
    return kept, rest.transpose(1, 0, 2)


def _overlap(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Transposed times the other, summed over the basis."""
    return np.sum(np.matmul(first.transpose(0, 2, 1), second), axis=0)
