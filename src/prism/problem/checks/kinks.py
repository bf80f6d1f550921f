"""Functions in a hard constraint whose derivatives JAX cannot see, found before training: jumps and kinks.

    g(b) − g(a) = ∫ g'(s) ds,        g'(b) − g'(a) = ∫ g''(s) ds

hold for a smooth function g along a line. JAX differentiates at points, where it never meets a jump or a kink, so
that their share is missing on the right. A smooth function misses nothing on intervals that are short enough; a kink
misses all of its jump however short they are. So lines are cut into parts, those that miss most are cut again, and what
is still missing far below the distance of any two training points is named. Time is held: data of evolution equations
are kinked in space. All in double precision.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from prism.errors import InputError
from prism.numerics.compilation import RUNS_ONCE, on_cpu
from prism.numerics.keys import Purpose, children, items
from prism.numerics.precision import in_double_precision
from prism.problem.constraints import Field
from prism.problem.family import Family
from prism.shapes import Key, Parameter, Point, Scalar

PARTS = 16
GAUSS = np.polynomial.legendre.leggauss(3)
"""Nodes and weights on [−1, 1], of every part."""
NARROWEST = 1e-8
"""Of a line: an interval on which nothing smooth is missing. |x|^1.5, which bends without bound, misses 1e-5 of it."""
MISSING = 1e-4
"""Of the range of g or g' along a line: what has to be missing to count."""
SLIGHT = 1e-2
"""Of the size of g or g': its range counts as no less, so that rounding is no jump of a function that hardly varies."""
ROUNDING = 1e-6
"""Of the size of g: no change of it is taken for less."""
MOST_LINES, FEWEST_LINES, COORDINATES = 32, 4, 20_000_000
"""As many lines as have so many coordinates at all places of one cut."""
INWARDS = 0.1
"""Half of the lines lead to a point from this far, of its own distance, from the centre."""
BATCH = 4_000_000
"""Coordinates that are differentiated at once."""

GUIDE = "docs/defining-a-pde.md#data-with-kinks"


def check_smooth(family: Family, key: Key) -> None:
    """Raise an InputError that names a function of the constraint with a jump, or, under terms of second order or more,
    with a kink."""
    order = min(max((operator.order for operator in family.terms.values()), default=0), 2)
    if order == 0 or not family.constraint().smooth_fields():
        return
    with jax.enable_x64(True):
        exact = in_double_precision(family)
        lines = _Lines.drawn(exact, key)
        for name, field in exact.constraint().smooth_fields().items():
            try:
                found = _first_break(lines.along(exact, field, order), lines.count)
            except (TypeError, ValueError):  # written for single precision: nothing can be told of it
                continue
            if found is not None:
                raise InputError(_message(f"the {name} of the constraint of {type(family).__name__}", found))


@dataclass(frozen=True)
class _Lines:
    """Lines between points of the domain, each under a parameter of its own."""

    starts: Float[np.ndarray, "lines coordinates"]
    ends: Float[np.ndarray, "lines coordinates"]
    parameters: Float[np.ndarray, "lines p"]

    @staticmethod
    def drawn(family: Family, key: Key) -> "_Lines":
        count = COORDINATES // (family.domain.coordinates * len(PLACES))
        count = int(np.clip(count, FEWEST_LINES, MOST_LINES))
        ends = jax.vmap(lambda *one: _ends(family, *one))
        draw = lambda own: ends(items(own, count), jnp.arange(count) % 2 == 0)
        return _Lines(*map(np.asarray, jax.jit(draw, compiler_options=on_cpu(RUNS_ONCE))(key)))

    @property
    def count(self) -> int:
        return len(self.starts)

    def along(self, family: Family, field: Field, order: int) -> "Along":
        """The field along these lines. Points are given to the program that differentiates: where it computes them
        itself, XLA may do so twice with different rounding, and max(x) then equals none of its arguments."""

        def at(x: Point, way: Point, mu: Parameter) -> Float[Array, "orders"]:
            named = family.parameters.named(mu)
            function: Callable[[Point], Scalar] = lambda y: jnp.asarray(field(y, named), float)
            values = [function(x)]
            for _ in range(order):
                function = _slope(function, way)
                values.append(function(x))
            return jnp.stack(values)

        compiled = jax.jit(jax.vmap(at, in_axes=(0, None, None)), compiler_options=on_cpu(RUNS_ONCE))
        at_once = len(PLACES) if len(PLACES) * self.starts.shape[1] <= BATCH else 1

        def cut(line: int, start: float, width: float) -> _Cut:
            first, whole, places = self.starts[line], self.ends[line] - self.starts[line], start + width * PLACES
            length = float(np.linalg.norm(whole))
            way, mu = jnp.asarray(whole / length), self.parameters[line]
            points = (first + places[i : i + at_once, None] * whole for i in range(0, len(places), at_once))
            return _Cut(line, start, width, np.concatenate([compiled(x, way, mu) for x in points]).T, length)

        return cut


def _slope(function: Callable[[Point], Scalar], way: Point) -> Callable[[Point], Scalar]:
    """way·∇f."""
    return lambda x: jax.jvp(function, (x,), (way,))[1]


def _ends(family: Family, key: Key, from_centre: Bool[Array, ""]) -> tuple[Point, Point, Parameter]:
    """Two points at one time, and a parameter. In many dimensions no random point is near the centre, so some lines
    come from there."""
    first, second, parameter = children(key, Purpose.POINTS, Purpose.QUERIES, Purpose.PARAMETERS)
    start, end = (family.domain.training_point(own, jnp.zeros(())) for own in (first, second))
    centre = family.domain.centre()
    start = jnp.where(from_centre, centre + INWARDS * (end - centre), start)
    held = jnp.arange(len(end)) >= family.domain.dimension
    return jnp.where(held, end, start), end, family.parameters.sample(parameter)


def _places() -> Float[np.ndarray, "places"]:
    """Where an interval (0, 1) is looked at: the ends of its parts, and between any two of them the nodes."""
    nodes = (GAUSS[0] + 1.0) / 2.0
    inside = np.concatenate([[0.0], nodes])
    return np.append((np.arange(PARTS)[:, None] + inside).reshape(-1), PARTS) / PARTS


PLACES = _places()


@dataclass(frozen=True)
class _Cut:
    """g and its derivatives by length at the places of an interval of a line."""

    line: int
    start: float
    width: float
    values: Float[np.ndarray, "orders places"]
    length: float

    @property
    def ends(self) -> Float[np.ndarray, "orders ends"]:
        return self.values[:, :: len(GAUSS[0]) + 1]

    def sizes(self) -> Float[np.ndarray, "lower"]:
        """Of g and g': how far each ranges, but for rounding."""
        values = np.where(np.isfinite(self.values[:-1]), self.values[:-1], 0.0)
        largest = np.max(np.abs(values), axis=1)
        slightest = SLIGHT * largest + ROUNDING * largest[0] / self.length ** np.arange(len(values))
        return np.maximum(np.ptp(values, axis=1), slightest)

    def missing(self) -> Float[np.ndarray, "lower parts"]:
        """The change of g (and of g') over each part, without the integral of its derivative; zero where that is not a
        number, which is for others to name."""
        nodes = self.values[1:, :-1].reshape(len(self.values) - 1, PARTS, -1)[:, :, 1:]
        with np.errstate(invalid="ignore"):
            found = np.diff(self.ends[:-1]) - self.length * self.width / PARTS * (nodes @ (GAUSS[1] / 2.0))
        return np.where(np.isfinite(found), np.abs(found), 0.0)


Along = Callable[[int, float, float], _Cut]
"""Looks at an interval of a line, by its start and width in units of the line."""


@dataclass(frozen=True)
class _Break:
    """A jump of g (order 0) or of its slope (order 1), and the values on both sides."""

    order: int
    before: float
    after: float


def _first_break(along: Along, count: int) -> _Break | None:
    """Cut all lines, then the parts that miss most, until none is left or they are narrow enough."""
    cuts = [along(line, 0.0, 1.0) for line in range(count)]
    sizes = [cut.sizes() for cut in cuts]
    while True:
        found = sorted((one for cut in cuts for one in _worst(cut, sizes[cut.line])), key=lambda one: -one[0])[:count]
        if not found:
            return None
        _, cut, part, order = found[0]
        if cut.width / PARTS <= NARROWEST:
            return _Break(order, *cut.ends[order, part : part + 2].tolist())
        cuts = [along(one.line, one.start + p * one.width / PARTS, one.width / PARTS) for _, one, p, _ in found]


def _worst(cut: _Cut, sizes: Float[np.ndarray, "lower"]) -> list[tuple[float, _Cut, int, int]]:
    """The parts that miss something: how much of the size, the cut, the part, and of which derivative."""
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.nan_to_num(cut.missing() / sizes[:, None], nan=0.0)
    orders, largest = np.argmax(relative, axis=0), np.max(relative, axis=0)
    return [(float(largest[p]), cut, int(p), int(orders[p])) for p in np.flatnonzero(largest > MISSING)]


def _message(what: str, found: _Break) -> str:
    between = f"from {found.before:.3g} to {found.after:.3g} on the line between two random points"
    if found.order == 0:
        return (
            f"{what} jumps, {between}; derivatives at points miss the jump, and the solution would be wrong. Smooth "
            "it: for jnp.where(z > 0, 1, 0) write jax.scipy.stats.norm.cdf(z / width); allow_kinks=True lets it "
            f"pass; see {GUIDE}"
        )
    return (
        f"{what} has a kink, where its slope jumps {between}; second derivatives at points miss it, and the solution "
        "would be wrong. Smooth it: for jnp.maximum(z, 0) write prism.smoothed(z, width); allow_kinks=True lets it "
        f"pass; see {GUIDE}"
    )
