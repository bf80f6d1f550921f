"""Which coordinates interact, read off the equation itself before any training.

The residual of N = 0 holds the source, the coefficients and what the constraint prescribes. Where its mixed second
derivative ∂²r/∂x_i∂x_j is large, coordinates i and j interact; where r does not change when x is reflected or its
coordinates exchanged, no two of them differ. A factor such as 1 − |x|² adds x gᵀ + g xᵀ to the matrix of second
derivatives, which is taken off by projecting x out. All in double precision, at a few random points and parameters.
"""

import enum
from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from prism.derivatives.estimators import Gram
from prism.errors import InputError
from prism.numerics.keys import Purpose, child, items, stream
from prism.numerics.precision import in_double_precision
from prism.problem.family import Family
from prism.problem.terms import constant_place, constant_residual, draw_directions, sample_pair
from prism.shapes import Key, Parameter, Point, Scalar

POINTS, FEWEST_POINTS = 64, 2
ALL_ROWS_UP_TO, WHOLE_MATRIX_UP_TO = 10_000, 1_000
"""Dimensions up to which all coordinates are probed where a sample shows pairs, and the whole matrix is computed and
kept. Beyond the latter the number of points falls with the square of the dimension, as the cost of one grows."""
MOST_ROWS, FEWEST_ROWS, ROW_COORDINATES = 256, 16, 20_000_000
"""Coordinates that are probed where not all are: as many as have so many entries of the matrix in all."""
PARTNERS = 8
"""Of a coordinate: as many of its largest mixed derivatives are kept."""
STANDS_OUT, NAMED, GROWTH = 4.0, 3.0, 0.3
"""How many times the background a mixed derivative is that counts, and that is named where there are pairs, among 100
coordinates; with more there are larger ones by chance."""
SAME = 1e-8
"""Relative change of r that is rounding."""
WIDEST = 4
"""Coordinates of the widest window that counts as a chain."""


class UnknownStructure(InputError):
    """The residual has no second derivatives in x to look at."""


class Kind(enum.Enum):
    """What a structure is."""

    NORM = "norm"
    EXCHANGEABLE = "exchangeable"
    CHAIN = "chain"
    PAIRS = "pairs"
    SUM = "sum over coordinates"
    NONE = "none"


@dataclass(frozen=True)
class Structure:
    """What the equation tells of how its coordinates interact."""

    kind: Kind
    dimension: int
    probed: int
    """Coordinates whose mixed derivatives were looked at."""
    window: int = 1
    """Of a chain: how far interacting coordinates lie apart, plus one."""
    periodic: bool = False
    invariant: bool = False
    """Of a chain: whether it is the same everywhere."""
    pairs: tuple[tuple[int, int], ...] = ()
    """Those that interact, the smaller coordinate first."""
    contrast: float | None = None
    """The median mixed derivative of the pairs over that of all others."""
    matrix: Float[np.ndarray, "d d"] | None = field(default=None, repr=False, compare=False)
    """Root mean squares of the mixed derivatives, where they are few enough to keep."""

    def describe(self) -> list[str]:
        """For a reader."""
        probed = "all coordinates" if self.probed == self.dimension else f"{self.probed:,} of its coordinates"
        found = {
            Kind.NORM: "depends on |x| alone",
            Kind.EXCHANGEABLE: "does not change when coordinates are exchanged",
            Kind.CHAIN: f"couples neighbours, in windows of {self.window}",
            Kind.PAIRS: f"couples {len(self.pairs):,} pairs of coordinates that are no neighbours",
            Kind.SUM: "is a sum over coordinates: no two interact",
            Kind.NONE: "shows no structure: every coordinate interacts with every other, or nothing depends on x",
        }[self.kind]
        contrast = [] if self.contrast is None else [f"they stand out by a factor of {self.contrast:,.3g}"]
        extra = [
            text
            for text, there in (("around the end", self.periodic), ("everywhere the same", self.invariant))
            if there
        ]
        return [f"the equation {found}" + "".join(f", {text}" for text in extra), f"probed: {probed}", *contrast]


def find_structure(family: Family, seed: int = 0) -> Structure:
    """Look at the residual of N = 0 of a family, the user's own too: `prism.find_structure(MyFamily(...))`."""
    with jax.enable_x64(True):
        return _found(in_double_precision(family), stream(seed, Purpose.CHECK))


def _found(family: Family, key: Key) -> Structure:
    dimension = family.domain.dimension
    affordable = POINTS * WHOLE_MATRIX_UP_TO**2 // dimension**2
    count = int(np.clip(affordable, FEWEST_POINTS, POINTS))
    points, parameters = jax.vmap(lambda k: sample_pair(family, k))(items(key, count))
    residual = partial(_residual, family, child(key, Purpose.DIRECTIONS))
    nothing = Structure(Kind.NONE, dimension, 0)
    values = jax.lax.map(lambda pair: residual(*pair), (points, parameters))
    size = float(jnp.max(jnp.abs(values)))
    if not np.isfinite(size) or size == 0.0 or dimension < 2:
        return nothing
    change = lambda moved: float(jnp.max(jnp.abs(jax.lax.map(lambda p: residual(*p), (moved, parameters)) - values)))
    if change(reflected(points, dimension, child(key, Purpose.ORIENTATION))) < SAME * size:
        return Structure(Kind.NORM, dimension, dimension)
    order = jax.random.permutation(child(key, Purpose.VECTORS), dimension)
    if change(points.at[:, :dimension].set(points[:, order])) < SAME * size:
        return Structure(Kind.EXCHANGEABLE, dimension, dimension)
    invariant = change(points.at[:, :dimension].set(jnp.roll(points[:, :dimension], 1, axis=1))) < SAME * size
    looked = lambda rows: _classified(
        dimension, rows, _probe(family, residual, points, parameters, jnp.asarray(rows)), invariant
    )
    if dimension <= WHOLE_MATRIX_UP_TO:
        return looked(np.arange(dimension))
    found = looked(_sampled_rows(dimension, child(key, Purpose.QUERIES)))
    names_all = found.kind is Kind.PAIRS and dimension <= ALL_ROWS_UP_TO
    return looked(np.arange(dimension)) if names_all else found


def _sampled_rows(dimension: int, key: Key) -> Int[np.ndarray, "rows"]:
    """Some coordinates, the first and the last among them: these tell whether a chain closes."""
    count = int(np.clip(ROW_COORDINATES // dimension, FEWEST_ROWS, MOST_ROWS))
    inner = 1 + np.asarray(jax.random.permutation(key, dimension - 2)[: count - 2])
    return np.sort(np.append(inner, [0, dimension - 1]))


def _residual(family: Family, key: Key, x: Point, mu: Parameter) -> Scalar:
    """r of N = 0."""
    place = constant_place(family, x, mu)
    return constant_residual(family, draw_directions(family, Gram(), place, key), x, mu, jnp.zeros(()))


def reflected(points: Float[Array, "n coordinates"], dimension: int, key: Key) -> Float[Array, "n coordinates"]:
    """The points reflected at a random plane through the origin of space."""
    normal = jax.random.normal(key, (dimension,))
    space = points[:, :dimension]
    moved = space - 2.0 * jnp.outer(space @ normal, normal) / jnp.sum(normal**2)
    return points.at[:, :dimension].set(moved)


@dataclass(frozen=True)
class _Probe:
    """Of each probed coordinate: its own second derivative, its largest mixed ones, and their median; in root mean
    squares over points."""

    own: Float[np.ndarray, "rows"]
    largest: Float[np.ndarray, "rows k"]
    partners: Int[np.ndarray, "rows k"]
    medians: Float[np.ndarray, "rows"]
    matrix: Float[np.ndarray, "rows d"] | None


def _probe(family: Family, residual, points: Array, parameters: Array, rows: Int[Array, "rows"]) -> _Probe:
    """Second derivatives of r with each of these coordinates, without what a factor that knows |x| adds to them."""
    dimension, coordinates = family.domain.dimension, family.domain.coordinates
    keep = dimension <= WHOLE_MATRIX_UP_TO
    count = min(PARTNERS, dimension - 1)

    def one(row: Int[Array, ""]) -> tuple[Array, ...]:
        def at(x: Point, mu: Parameter) -> Point:
            """P H P e_row, P the projection orthogonal to x in space."""
            radial = jnp.where(jnp.arange(coordinates) < dimension, x, 0.0)
            radial = radial / jnp.maximum(jnp.linalg.norm(radial), 1e-300)
            direction = jnp.zeros(coordinates).at[row].set(1.0) - radial[row] * radial
            second = jax.jvp(lambda y: jax.grad(residual)(y, mu), (x,), (direction,))[1]
            return (second - jnp.dot(radial, second) * radial)[:dimension]

        squares = jnp.mean(jax.vmap(at)(points, parameters) ** 2, axis=0)
        sizes = jnp.sqrt(squares)
        others = sizes.at[row].set(0.0)
        largest, partners = jax.lax.top_k(others, count)
        return sizes[row], largest, partners, jnp.median(others), sizes if keep else sizes[:1]

    batch = max(1, min(64, 2_000_000 // (coordinates * points.shape[0])))
    compute = jax.jit(lambda r: jax.lax.map(one, r, batch_size=batch))
    try:
        own, largest, partners, medians, matrix = (np.asarray(part) for part in compute(rows))
    except (TypeError, ValueError, NotImplementedError) as error:  # such as a callback, or a reverse rule alone
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UnknownStructure(f"the residual cannot be differentiated twice in x: {reason}") from error
    return _Probe(own, largest, partners, medians, matrix if keep else None)


def _classified(dimension: int, rows: np.ndarray, probe: _Probe, invariant: bool) -> Structure:
    """A chain where all that stands out are neighbours, pairs where they are others, a sum where there are none."""
    scale = max(float(probe.own.max()), float(probe.largest.max()))
    middle = max(float(np.median(probe.medians)), SAME * scale)
    medians = np.full(dimension, middle)
    medians[rows] = probe.medians
    background = np.maximum(probe.medians[:, None] * medians[probe.partners] / middle, SAME * scale)
    ratios = probe.largest / background / max(1.0, dimension / 100) ** GROWTH
    outstanding = ratios > STANDS_OUT
    found = partial(Structure, dimension=dimension, probed=len(rows), matrix=probe.matrix)
    if scale == 0.0 or (outstanding.all(axis=1).mean() > 0.5 and dimension > 2 * PARTNERS):
        return found(Kind.NONE)  # more partners than were kept: everything interacts
    if not outstanding.any():
        alone = np.median(probe.own) > STANDS_OUT * max(1.0, dimension / 100) ** GROWTH * middle
        return found(Kind.SUM if alone else Kind.NONE)
    contrast = float(np.median((probe.largest / background)[outstanding]))
    apart = np.abs(np.repeat(rows, outstanding.sum(axis=1)) - probe.partners[outstanding])
    around = np.minimum(apart, dimension - apart)
    if np.mean(around < WIDEST) > 0.95 and dimension > 2 * WIDEST:
        often = [offset for offset in range(1, WIDEST) if np.sum(around == offset) > 0.1 * len(rows)]
        periodic = bool(np.any((apart > around) & (around < WIDEST)))
        pairs, window = _pairs(rows, probe, outstanding), max(often, default=1) + 1
        return found(Kind.CHAIN, window=window, periodic=periodic, invariant=invariant, pairs=pairs, contrast=contrast)
    return found(Kind.PAIRS, window=2, pairs=_pairs(rows, probe, ratios > NAMED), contrast=contrast)


def _pairs(rows: np.ndarray, probe: _Probe, chosen: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Each coordinate that was probed with its chosen partners, once."""
    first, second = np.repeat(rows, chosen.sum(axis=1)), probe.partners[chosen]
    return tuple(sorted({(int(min(a, b)), int(max(a, b))) for a, b in zip(first, second, strict=True)}))
