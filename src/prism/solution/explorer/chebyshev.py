"""A smooth function of a few variables as a small table:

    f(y) ≈ C₁(y₁) C₂(y₂) ... C_n(y_n),     C_v(y) = Σ_k T_k(y) C_vk,

a product of matrices, each a Chebyshev series in one variable (a tensor train of the coefficients); a variable that
counts, as the number of a plane, picks one of them. Between the leading variables and the others it is found by cross
approximation (Bebendorf 2000): a few rows and columns of the matrix of values, each through the largest error of those
before it. The rest is singular value decompositions. What the table misses is measured at random points.
"""

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

Function = Callable[[np.ndarray], np.ndarray]
"""Of many points (rows of variables) at once."""
FEWEST_NODES, MOST_NODES = 16, 512
LINES = 8
"""Lines along which it is measured how many Chebyshev polynomials a variable needs."""
ACCEPTED = 10.0
"""Times the tolerance that a table may miss."""
ATTEMPTS, MORE = 4, 1.3
"""A table that misses more is made again, so often at most, each time with so many times the nodes."""
LARGEST_SIDE = 200_000
"""Most rows, or columns, of the matrix of values."""
SAMPLES = 400
"""Entries of the matrix at which cross approximation looks for its error."""
MOST_RANK = 160
TEST_POINTS, PER_GROUP = 200, 8
"""Random points at which the finished table is compared with the function, so many with the same grouped variables."""
ROUNDING = 1e-13
"""No tolerance is finer, relative to the function's largest size."""
LEAST_SIZE = 1e-4
"""Where the function is smaller than this part of its largest size, it counts as zero."""


class Untabulated(Exception):
    """Why there is no table of a function, as the rest of a sentence about it."""


class Variable(abc.ABC):
    """One argument of a function."""

    @abc.abstractmethod
    def random(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """So many values, all equally likely."""

    @abc.abstractmethod
    def nodes(self, count: int) -> np.ndarray:
        """The values at which the function is looked at, for a series of so many terms."""

    @abc.abstractmethod
    def series(self, values: np.ndarray, count: int) -> Float[np.ndarray, "n k"]:
        """Every term of the series at some values."""

    @abc.abstractmethod
    def coefficients(self, count: int) -> Float[np.ndarray, "k nodes"]:
        """The matrix from values at the nodes to the coefficients of the series."""


@dataclass(frozen=True)
class Interval(Variable):
    """A number between two ends; its series is Chebyshev's."""

    low: float
    high: float

    def random(self, count: int, generator: np.random.Generator) -> np.ndarray:
        return generator.uniform(self.low, self.high, count)

    def nodes(self, count: int) -> np.ndarray:
        """The zeros of T_count."""
        return (self.low + self.high) / 2 + (self.high - self.low) / 2 * np.polynomial.chebyshev.chebpts1(count)

    def series(self, values: np.ndarray, count: int) -> Float[np.ndarray, "n k"]:
        standard = (2.0 * values - self.low - self.high) / (self.high - self.low)
        return np.polynomial.chebyshev.chebvander(standard, count - 1)

    def coefficients(self, count: int) -> Float[np.ndarray, "k nodes"]:
        nodes = np.polynomial.chebyshev.chebpts1(count)
        matrix = np.polynomial.chebyshev.chebvander(nodes, count - 1).T * (2.0 / count)
        matrix[0] /= 2.0
        return matrix


@dataclass(frozen=True)
class Index(Variable):
    """A number that counts, 0 ... size − 1; the terms of its series pick one value each."""

    size: int

    def random(self, count: int, generator: np.random.Generator) -> np.ndarray:
        return generator.integers(self.size, size=count).astype(float)

    def nodes(self, count: int) -> np.ndarray:
        return np.arange(self.size, dtype=float)

    def series(self, values: np.ndarray, count: int) -> Float[np.ndarray, "n k"]:
        return (values[:, None] == np.arange(self.size)[None]).astype(float)

    def coefficients(self, count: int) -> Float[np.ndarray, "k nodes"]:
        return np.eye(self.size)


@dataclass(frozen=True)
class Table:
    """The matrices C_vk as one array (left, k, right) for each variable."""

    variables: tuple[Variable, ...]
    cores: tuple[Float[np.ndarray, "_left _terms _right"], ...]
    error: float
    """The largest error at random points, over the root mean square of the function at the same grouped variables."""
    smallest: float = 1.0
    """The function's size where it is smallest over the grouped variables, relative to where it is largest."""

    def __call__(self, points: Float[np.ndarray, "n variables"]) -> Float[np.ndarray, "n"]:
        rows = np.ones((len(points), 1))
        for core, variable, column in zip(self.cores, self.variables, points.T, strict=True):
            rows = np.einsum("nl,nk,lkr->nr", rows, variable.series(column, core.shape[1]), core, optimize=True)
        return rows[:, 0]


def tabulated(
    function: Function,
    variables: Sequence[Variable],
    leading: int,
    tolerance: float,
    seed: int = 0,
    grouped: int = 0,
) -> Table:
    """The table of a function, made to miss it by `tolerance` of its size; how much it does miss is its `error`.

    `leading` of the variables stand on one side of the cross approximation. The function's size is its root mean square
    for each value of the last `grouped` variables by itself. A function that is not finite everywhere, or needs more
    nodes than there is room for, is `Untabulated`.
    """
    generator = np.random.default_rng(seed)

    def finite(points: np.ndarray) -> np.ndarray:
        values = function(points)
        if not np.all(np.isfinite(values)):
            raise Untabulated("is not finite everywhere")
        return values

    tested = _random(variables, TEST_POINTS, generator)
    if grouped:
        tested[:, -grouped:] = np.repeat(tested[::PER_GROUP, -grouped:], PER_GROUP, axis=0)
    truth = finite(tested)
    sizes = np.sqrt(np.mean(truth.reshape(-1, PER_GROUP if grouped else TEST_POINTS) ** 2, axis=1))
    smallest = float(np.clip(np.min(sizes) / (np.max(sizes) or 1.0), LEAST_SIZE, 1.0))
    size = np.repeat(np.maximum(sizes, smallest * np.max(sizes)), TEST_POINTS // len(sizes))
    finer = max(tolerance * smallest, ROUNDING)
    counts = _counts(finite, variables, finer, generator)
    best = Table(tuple(variables), (), math.inf, smallest)
    for _ in range(ATTEMPTS):
        if max(math.prod(counts[:leading]), math.prod(counts[leading:])) > LARGEST_SIDE:
            break
        crossed = _cross(finite, counts, variables, leading, finer, generator)
        table = replace(best, cores=_tensor_train(*crossed, counts, variables, leading, finer))
        error = float(np.max(np.abs(table(tested) - truth) / np.where(size > 0.0, size, 1.0)))
        best = replace(table, error=error) if error < best.error else best
        if error <= ACCEPTED * tolerance:
            break
        counts = [_more(count, variable) for count, variable in zip(counts, variables, strict=True)]
    if not best.cores:
        raise Untabulated("changes too fast for a table of few numbers")
    return best


def grid(counts: Sequence[int], variables: Sequence[Variable]) -> Float[np.ndarray, "n variables"]:
    """All points whose coordinates are nodes, the last variable running fast."""
    nodes = [variable.nodes(count) for count, variable in zip(counts, variables, strict=True)]
    return np.stack(np.meshgrid(*nodes, indexing="ij"), axis=-1).reshape(-1, len(nodes))


def interpolating(values: np.ndarray, variables: Sequence[Variable], tolerance: float) -> Table:
    """The table of a function of which the values on a `grid` are known, one axis for each variable."""
    for axis, (count, variable) in enumerate(zip(values.shape, variables, strict=True)):
        values = np.moveaxis(np.tensordot(variable.coefficients(count), values, axes=(1, axis)), 0, axis)
    return Table(tuple(variables), tuple(_split(values[None, ..., None], tolerance)), math.nan)


def _random(variables: Sequence[Variable], count: int, generator: np.random.Generator) -> np.ndarray:
    """So many points of the box."""
    return np.stack([variable.random(count, generator) for variable in variables], axis=1)


def _counts(
    function: Function, variables: Sequence[Variable], tolerance: float, generator: np.random.Generator
) -> list[int]:
    """How many terms the series of each variable needs, on lines through some points."""
    bases = _bases(variables, generator)
    return [
        variable.size if isinstance(variable, Index) else _count(function, bases, place, variable, tolerance)
        for place, variable in enumerate(variables)
    ]


def _bases(variables: Sequence[Variable], generator: np.random.Generator) -> np.ndarray:
    """Points for lines to pass through: the middle of the box, and random ones, many of them on middles and ends, where
    functions are often at their steepest."""
    random = _random(variables, LINES, generator)
    for column, variable in zip(random.T, variables, strict=True):
        if isinstance(variable, Interval):
            middle = (variable.low + variable.high) / 2
            special = generator.choice([variable.low, middle, variable.high], size=LINES)
            column[:] = np.where(generator.uniform(size=LINES) < 0.75, special, column)
            column[0] = middle
    return random


def _count(function: Function, bases: np.ndarray, place: int, variable: Variable, tolerance: float) -> int:
    """For the variable at this place."""
    count, needed = FEWEST_NODES, 0
    while count <= MOST_NODES:
        points = np.repeat(bases, count, axis=0)
        points[:, place] = np.tile(variable.nodes(count), len(bases))
        values = function(points).reshape(len(bases), count)
        sizes = np.max(np.abs(values @ variable.coefficients(count).T), axis=0)
        needed = int(np.max(np.flatnonzero(sizes > tolerance * np.max(np.abs(values))), initial=0)) + 1
        if needed < count - 2:  # the last terms vanish: the series has converged
            return needed
        count *= 2
    return needed


def _more(count: int, variable: Variable) -> int:
    return count if isinstance(variable, Index) else math.ceil(MORE * count)


def _cross(
    function: Function,
    counts: Sequence[int],
    variables: Sequence[Variable],
    leading: int,
    tolerance: float,
    generator: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """U and V with U V close to the matrix of values, whose rows are nodes of the leading variables."""
    left, right = grid(counts[:leading], variables[:leading]), grid(counts[leading:], variables[leading:])
    rows, columns = generator.integers(len(left), size=SAMPLES), generator.integers(len(right), size=SAMPLES)
    missing = function(_beside(left[rows], right[columns]))
    size, u, v = np.max(np.abs(missing)), np.zeros((len(left), 0)), np.zeros((0, len(right)))
    for _ in range(min(MOST_RANK, len(left), len(right))):
        worst = int(np.argmax(np.abs(missing)))
        if np.abs(missing[worst]) <= tolerance * size:
            break
        column = function(_beside(left, right[columns[worst]][None])) - u @ v[:, columns[worst]]
        i = int(np.argmax(np.abs(column)))
        row = function(_beside(left[i][None], right)) - u[i] @ v
        u, v = np.column_stack([u, column / column[i]]), np.vstack([v, row])
        missing = missing - u[rows, -1] * v[-1, columns]
    return (u, v) if u.shape[1] else (np.zeros((len(left), 1)), np.zeros((1, len(right))))


def _beside(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The variables of the rows and those of the others; one row of either stands beside all of the other."""
    count = max(len(rows), len(others))
    widened = [np.broadcast_to(some, (count, some.shape[1])) for some in (rows, others)]
    return np.concatenate(widened, axis=1)


def _tensor_train(
    u: np.ndarray, v: np.ndarray, counts: Sequence[int], variables: Sequence[Variable], leading: int, tolerance: float
) -> tuple[np.ndarray, ...]:
    """The coefficients of U V, variable by variable."""
    orthonormal, triangle = np.linalg.qr(u)
    left, values, right = np.linalg.svd(triangle @ v, full_matrices=False)
    kept = max(1, int(np.sum(values > tolerance * np.linalg.norm(values))))
    sides = [
        (orthonormal @ left[:, :kept]).reshape(*counts[:leading], kept),
        (values[:kept, None] * right[:kept]).reshape(kept, *counts[leading:]),
    ]
    for axis, (count, variable) in enumerate(zip(counts, variables, strict=True)):
        side, place = (0, axis) if axis < leading else (1, axis - leading + 1)
        moved = np.tensordot(variable.coefficients(count), sides[side], axes=(1, place))
        sides[side] = np.moveaxis(moved, 0, place)
    return (*_split(sides[0][None], tolerance), *_split(sides[1][..., None], tolerance))


def _split(tensor: np.ndarray, tolerance: float) -> list[np.ndarray]:
    """A tensor (left, k₁, k₂, ..., right) as a product of tensors (left, k, right), by one SVD after the other."""
    cores, size = [], np.linalg.norm(tensor)
    while tensor.ndim > 3:
        matrix = tensor.reshape(tensor.shape[0] * tensor.shape[1], -1)
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        kept = max(1, int(np.sum(values > tolerance * size)))
        cores.append(left[:, :kept].reshape(*tensor.shape[:2], kept))
        tensor = (values[:kept, None] * right[:kept]).reshape(kept, *tensor.shape[2:])
    return [*cores, tensor]
