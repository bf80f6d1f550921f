"""A smooth function of a few variables as a small table:

    f(y) ≈ C₁(y₁) C₂(y₂) ... C_n(y_n),     C_v(y) = Σ_k T_k(y) C_vk,

a product of matrices, each a Chebyshev series in one variable (a tensor train of the coefficients); a variable that
counts, as the number of a plane, picks one of them. Between the leading variables and the others it is found by cross
approximation (Bebendorf 2000): a few rows and columns of the matrix of values, each through the largest error of those
before it. The rest is singular value decompositions. What the table misses is measured at random points.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

Function = Callable[[np.ndarray], np.ndarray]
"""Of many points (rows of variables) at once."""
Variable = tuple[float, float] | int
"""An interval, or how many values there are to count."""
FEWEST_NODES, MOST_NODES = 16, 512
LINES = 8
"""Lines along which it is measured how many Chebyshev polynomials a variable needs."""
ATTEMPTS, MORE = 4, 1.3
"""So often, with so many times as many nodes, where a table misses more than it should."""
LARGEST_SIDE = 200_000
"""Rows, or columns, of the matrix."""
SAMPLES = 400
"""Entries of the matrix at which cross approximation looks for its error."""
MOST_RANK = 160
PROBES = 200
"""Random points at which the finished table is compared with the function."""


class Untabulated(Exception):
    """Why there is no table of a function, as the rest of a sentence about it."""


@dataclass(frozen=True)
class Table:
    """The matrices C_vk as one array (left, k, right) for each variable."""

    variables: tuple[Variable, ...]
    cores: tuple[Float[np.ndarray, "_left _degrees _right"], ...]
    error: float
    """The largest error at random points, over the root mean square of the function there."""

    def __call__(self, points: Float[np.ndarray, "n variables"]) -> Float[np.ndarray, "n"]:
        rows = np.ones((len(points), 1))
        for core, variable, column in zip(self.cores, self.variables, points.T, strict=True):
            rows = np.einsum("nl,nk,lkr->nr", rows, _series(column, variable, core.shape[1]), core, optimize=True)
        return rows[:, 0]


def tabulated(
    function: Function, variables: Sequence[Variable], leading: int, tolerance: float, seed: int = 0
) -> Table:
    """The table of a function; `leading` of its variables stand on one side of the cross approximation."""
    generator = np.random.default_rng(seed)

    def finite(points: np.ndarray) -> np.ndarray:
        values = function(points)
        if not np.all(np.isfinite(values)):
            raise Untabulated("is not finite everywhere")
        return values

    lines = _bases(variables, generator)
    degrees = [_degree(finite, lines, place, variable, tolerance) for place, variable in enumerate(variables)]
    probes = _random(variables, PROBES, generator)
    truth = finite(probes)
    size = np.sqrt(np.mean(truth**2)) or 1.0
    best = Table(tuple(variables), (), math.inf)
    for _ in range(ATTEMPTS):
        if max(math.prod(degrees[:leading]), math.prod(degrees[leading:])) > LARGEST_SIDE:
            break
        nodes = [_nodes(count, variable) for count, variable in zip(degrees, variables, strict=True)]
        crossed = _cross(finite, nodes, leading, tolerance, generator)
        table = replace(best, cores=_train(*crossed, degrees, variables, leading, tolerance))
        error = float(np.max(np.abs(table(probes) - truth)) / size)
        best = replace(table, error=error) if error < best.error else best
        if error <= 10.0 * tolerance:
            break
        degrees = [
            count if isinstance(variable, int) else math.ceil(MORE * count)
            for count, variable in zip(degrees, variables, strict=True)
        ]
    if not best.cores:
        raise Untabulated("changes too fast for a table of few numbers")
    return best


def grid(counts: Sequence[int], variables: Sequence[Variable]) -> Float[np.ndarray, "n variables"]:
    """All points whose coordinates are nodes, the last variable running fast."""
    nodes = [_nodes(count, variable) for count, variable in zip(counts, variables, strict=True)]
    return np.stack(np.meshgrid(*nodes, indexing="ij"), axis=-1).reshape(-1, len(nodes))


def interpolating(values: np.ndarray, variables: Sequence[Variable], tolerance: float) -> Table:
    """The table of a function of which the values on a `grid` are known, one axis for each variable."""
    for axis, count in enumerate(values.shape):
        values = np.moveaxis(np.tensordot(_coefficients(count), values, axes=(1, axis)), 0, axis)
    return Table(tuple(variables), tuple(_split(values[None, ..., None], tolerance)), math.nan)


def _random(variables: Sequence[Variable], count: int, generator: np.random.Generator) -> np.ndarray:
    """So many points of the box."""
    column = lambda v: generator.integers(v, size=count) if isinstance(v, int) else generator.uniform(*v, size=count)
    return np.stack([np.asarray(column(variable), float) for variable in variables], axis=1)


def _bases(variables: Sequence[Variable], generator: np.random.Generator) -> np.ndarray:
    """Points for lines to pass through: the middle of the box, and random ones, many of them on middles and ends, where
    functions are often at their steepest."""
    random = _random(variables, LINES, generator)
    for column, variable in zip(random.T, variables, strict=True):
        if not isinstance(variable, int):
            low, high = variable
            special = generator.choice([low, (low + high) / 2, high], size=LINES)
            column[:] = np.where(generator.uniform(size=LINES) < 0.75, special, column)
            column[0] = (low + high) / 2
    return random


def _nodes(count: int, variable: Variable) -> np.ndarray:
    """The zeros of T_count on an interval; of a variable that counts, its values."""
    if isinstance(variable, int):
        return np.arange(variable, dtype=float)
    low, high = variable
    return (low + high) / 2 + (high - low) / 2 * np.polynomial.chebyshev.chebpts1(count)


def _series(values: np.ndarray, variable: Variable, count: int) -> Float[np.ndarray, "n k"]:
    """T_k of the values; of a variable that counts, whether the value is k."""
    if isinstance(variable, int):
        return (values[:, None] == np.arange(count)).astype(float)
    low, high = variable
    return np.polynomial.chebyshev.chebvander((2.0 * values - low - high) / (high - low), count - 1)


def _coefficients(count: int) -> np.ndarray:
    """The matrix from values at the nodes to coefficients of the Chebyshev series."""
    matrix = np.polynomial.chebyshev.chebvander(np.polynomial.chebyshev.chebpts1(count), count - 1).T * (2.0 / count)
    matrix[0] /= 2.0
    return matrix


def _degree(function: Function, bases: np.ndarray, place: int, variable: Variable, tolerance: float) -> int:
    """How many Chebyshev polynomials a variable needs, on lines through some points."""
    if isinstance(variable, int):
        return variable
    count, needed = FEWEST_NODES, 0
    while count <= MOST_NODES:
        points = np.repeat(bases, count, axis=0)
        points[:, place] = np.tile(_nodes(count, variable), len(bases))
        values = function(points).reshape(len(bases), count)
        sizes = np.max(np.abs(values @ _coefficients(count).T), axis=0)
        needed = int(np.max(np.flatnonzero(sizes > tolerance * np.max(np.abs(values))), initial=0)) + 1
        if needed < count - 2:
            return needed
        count *= 2
    return needed


def _cross(
    function: Function, nodes: Sequence[np.ndarray], leading: int, tolerance: float, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """U and V with U V close to the matrix of values, whose rows are nodes of the leading variables."""
    left, right = (
        np.stack(np.meshgrid(*some, indexing="ij"), axis=-1).reshape(-1, len(some))
        for some in (nodes[:leading], nodes[leading:])
    )
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


def _train(
    u: np.ndarray, v: np.ndarray, degrees: Sequence[int], variables: Sequence[Variable], leading: int, tolerance: float
) -> tuple[np.ndarray, ...]:
    """The coefficients of U V, variable by variable."""
    orthonormal, triangle = np.linalg.qr(u)
    left, values, right = np.linalg.svd(triangle @ v, full_matrices=False)
    kept = max(1, int(np.sum(values > tolerance * np.linalg.norm(values))))
    sides = [
        (orthonormal @ left[:, :kept]).reshape(*degrees[:leading], kept),
        (values[:kept, None] * right[:kept]).reshape(kept, *degrees[leading:]),
    ]
    for axis, (count, variable) in enumerate(zip(degrees, variables, strict=True)):
        if isinstance(variable, int):
            continue
        side, place = (0, axis) if axis < leading else (1, axis - leading + 1)
        moved = np.tensordot(_coefficients(count), sides[side], axes=(1, place))
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
