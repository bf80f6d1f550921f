"""Where points come from: a domain is the set they lie in, a law is how one of them is drawn.

Both are interfaces at one point. A domain has a law of its own, and is drawn by another: `domain.drawn_by(law)`.
"""

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prism.errors import InputError
from prism.numerics.chunks import map_chunks
from prism.numerics.compilation import PLAIN_LOOPS, on_cpu
from prism.numerics.keys import Purpose, child, items, root, stream
from prism.problem.regions import Region
from prism.shapes import Key, Point, Scalar

Draw = Callable[[Key], Array]
"""A function of the user's own that makes a point of a key."""
SPREAD_WORK, FEWEST_POINTS, MOST_POINTS = 2e7, 32, 1_000
"""The spread of a law is measured on so many coordinates, in so many points."""
CONSTANT = 1e-4
"""|x|² that varies by less than this part of it does not vary: float32 rounds the sum of it by as much."""


class Domain(eqx.Module):
    """A set of points in `dimension` space dimensions, with a law to draw from it."""

    if TYPE_CHECKING:  # as a field it would come first in a subclass's arguments, for a type checker alone
        dimension: ClassVar[int]
    else:
        dimension: eqx.AbstractVar[int]

    @property
    def description(self) -> str:
        """Where points lie and by which law they are drawn, in one line."""
        return (type(self).__doc__ or type(self).__name__).strip().splitlines()[0].rstrip(".")

    @property
    def coordinates(self) -> int:
        """How many numbers make a point: the space dimensions, and time, the last, where there is one."""
        return self.dimension

    @property
    def time_horizon(self) -> float | None:
        """The T of t in (0, T) where time is the last coordinate of a point; None without time."""
        return None

    @property
    def ball_radius(self) -> float | None:
        """R where the domain is |x| < R; None elsewhere."""
        return None

    @property
    @abc.abstractmethod
    def bounds(self) -> tuple[float, float]:
        """Between which values one coordinate lies, or mostly lies, when the others are at the centre."""

    def interval(self, index: int) -> tuple[float, float]:
        """Between which values the space coordinate of this index lies, or mostly lies."""
        return self.bounds

    @property
    def alike(self) -> bool:
        """Whether `bounds` and `spread` describe every space coordinate, not only some."""
        return True

    @property
    def spread(self) -> float:
        """How far one space coordinate mostly lies from the centre: its standard deviation."""
        low, high = self.bounds
        return (high - low) / 12.0**0.5

    @property
    def norm_spread(self) -> float:
        """The standard deviation of |x − centre|² of training points over d·spread²; one where it does not vary."""
        return (2.0 / self.dimension) ** 0.5

    @property
    def region(self) -> Region:
        """Where points lie, or mostly lie, in numbers alone."""
        return Region()

    def region_under(self, spread: float, norm_spread: float) -> Region:
        """The region where points are drawn by another law, of which these are known; the domain's own where that has
        a boundary."""
        return self.region

    @abc.abstractmethod
    def sample(self, key: Key) -> Point:
        """One point, by the law under which errors are measured."""

    def training_point(self, key: Key, diffusivity: Scalar) -> Point:
        """One point to train on: drawn by `sample`, unless u at such points also depends on u elsewhere.

        `diffusivity` is κ of u_t = κΔu + ..., negative for u_t + |κ|Δu + ... = 0, whose values are given at the end.
        """
        return self.sample(key)

    def training_point_at(self, t: Scalar, key: Key, diffusivity: Scalar) -> Point:
        """A training point of a domain with time, at this time."""
        return self.training_point(key, diffusivity).at[-1].set(t)

    def diffused_training_point(self, key: Key, variance: Scalar) -> Point:
        """A training point moved by a normal step of this variance per coordinate; unmoved where the domain has a
        boundary."""
        return self.training_point(key, jnp.zeros(()))

    def volume_point(self, key: Key) -> Point:
        """One point, uniform in the volume, where the domain has one; with time, t is uniform too."""
        raise InputError(
            f"{type(self).__name__} has no finite volume to draw from; UniformInVolume() serves a Ball, a Cube and a "
            "TimeCylinder of one of them. Here give OwnLaw(), Near(points, deviation) or a function key -> point"
        )

    def clipped(self, point: Point) -> Point:
        """The point, or one of the domain near it."""
        return point

    @classmethod
    def in_dimensions(cls, dimension: int) -> "Domain":
        """The domain of its usual size in so many space dimensions: `Ball.in_dimensions(100)` is `Ball(100)`."""
        return cls(dimension)  # pyright: ignore[reportCallIssue]

    def centre(self) -> Point:
        """The point in the middle."""
        low, high = self.bounds
        return jnp.full(self.coordinates, (low + high) / 2)

    def drawn_by(self, training: "Law | Draw", evaluation: "Law | Draw | None" = None) -> "Redrawn":
        """The same set with points to train on drawn by a law, or a function key -> point of your own:

            prism.Ball(100).drawn_by(prism.UniformInVolume())
            prism.Ball(100).drawn_by(lambda key: 0.1 * jax.random.uniform(key, (100,)))

        `evaluation` is the law under which errors are measured: that of training unless given.
        """
        train, measure = as_law(training), None if evaluation is None else as_law(evaluation)
        for law in (train, measure or train):
            law.check(self)
        return Redrawn(self, train, measure, train.spreads(self))  # pyright: ignore[reportCallIssue]


class Law(eqx.Module):
    """How a point of a domain is drawn. For a law of your own, define `draw`; `domain.drawn_by(law)` uses it."""

    @abc.abstractmethod
    def draw(self, domain: Domain, key: Key, diffusivity: Scalar) -> Point:
        """One point; `diffusivity` as for `Domain.training_point`, zero where errors are measured."""

    def check(self, domain: Domain) -> None:
        """Raise an InputError where it cannot draw from this domain. Nothing is drawn."""
        check_point(f"the law {type(self).__name__}", lambda key: self.draw(domain, key, jnp.zeros(())), domain)

    def spreads(self, domain: Domain) -> tuple[float, float]:
        """`spread` and `norm_spread` of the domain under this law, measured on some points."""
        return measured_spreads(self, domain)


class Sampler(Law):
    """A function key -> point of the user's own: `Sampler(lambda key: jax.random.uniform(key, (100,)))`.

    The key is the point's alone, to split as you like. Points are taken as they come, also from beyond the domain.
    """

    function: Draw

    def draw(self, domain: Domain, key: Key, diffusivity: Scalar) -> Point:
        return jnp.asarray(self.function(key), float)

    def check(self, domain: Domain) -> None:
        check_point("the function that draws points", self.function, domain)


class Redrawn(Domain):
    """The points of a domain, drawn by another law; `Domain.drawn_by` makes one. All else is the domain's, also what
    only its kind has, such as `radius` or `horizon`.

    Its points do not wander with the equation's diffusion, but for those that `OwnLaw` draws.
    """

    original: Domain
    training: Law
    evaluation: Law | None
    """That of training where there is none."""
    spreads: tuple[float, float] = eqx.field(static=True)
    """`spread` and `norm_spread`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "original":  # not there while the object is being built
            raise AttributeError(name)
        return getattr(self.original, name)

    @property
    def description(self) -> str:
        return f"{self.original.description}; drawn by {type(self.training).__name__}"

    @property
    def dimension(self) -> int:
        return self.original.dimension

    @property
    def coordinates(self) -> int:
        return self.original.coordinates

    @property
    def time_horizon(self) -> float | None:
        return self.original.time_horizon

    @property
    def ball_radius(self) -> float | None:
        return self.original.ball_radius

    @property
    def bounds(self) -> tuple[float, float]:
        return self.original.bounds

    def interval(self, index: int) -> tuple[float, float]:
        return self.original.interval(index)

    @property
    def alike(self) -> bool:
        return self.original.alike

    @property
    def spread(self) -> float:
        return self.spreads[0]

    @property
    def norm_spread(self) -> float:
        return self.spreads[1]

    @property
    def region(self) -> Region:
        return self.original.region_under(*self.spreads)

    def sample(self, key: Key) -> Point:
        law = self.training if self.evaluation is None else self.evaluation
        return law.draw(self.original, key, jnp.zeros(()))

    def training_point(self, key: Key, diffusivity: Scalar) -> Point:
        return self.training.draw(self.original, key, diffusivity)

    def training_point_at(self, t: Scalar, key: Key, diffusivity: Scalar) -> Point:
        own = lambda one: self.original.training_point_at(t, one, diffusivity)
        return self.training.draw(self._with_own(own), key, diffusivity).at[-1].set(t)

    def diffused_training_point(self, key: Key, variance: Scalar) -> Point:
        own = lambda one: self.original.diffused_training_point(one, variance)
        return self.training.draw(self._with_own(own), key, jnp.zeros(()))

    def _with_own(self, own: Draw) -> "Redrawn":
        """The original with `own` in place of its law of training, for the part of the points that keep that law."""
        measured = Sampler(self.original.sample)
        return Redrawn(self.original, Sampler(own), measured, self.spreads)  # pyright: ignore[reportCallIssue]

    def volume_point(self, key: Key) -> Point:
        return self.original.volume_point(key)

    def clipped(self, point: Point) -> Point:
        return self.original.clipped(point)

    def centre(self) -> Point:
        return self.original.centre()


def as_law(law: Law | Draw) -> Law:
    """The law, or that of a function key -> point."""
    return law if isinstance(law, Law) else Sampler(law)


def check_point(what: str, draw: Draw, domain: Domain) -> None:
    """Raise an InputError unless this makes a point of the domain of a key. It is traced, not run."""
    wanted = (domain.coordinates,)
    time = ", time last" if domain.coordinates > domain.dimension else ""
    expected = f"give a law such as prism.OwnLaw(), or a function key -> point of shape {wanted}{time}"
    try:
        shape = jax.eval_shape(lambda key: jnp.asarray(draw(key), float), root(0)).shape
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{what} raised {type(error).__name__}: {str(error).splitlines()[0]}; {expected}") from error
    if shape != wanted:
        raise InputError(f"{what} gives an array of shape {shape}; {expected}")


def measured_spreads(law: Law, domain: Domain) -> tuple[float, float]:
    """√ of the mean of |x − centre|²/d, and the standard deviation of |x − centre|² over its mean, by a fixed key.

    They are units of the network, and belong to the problem: in single precision and with four digits they are the same
    on every machine, so that a stored solution finds the units it was trained in.
    """
    count = int(np.clip(SPREAD_WORK / domain.coordinates, FEWEST_POINTS, MOST_POINTS))

    def squared_distance(key: Key) -> Scalar:
        offset = (single[0].draw(single[1], key, jnp.zeros(())) - single[1].centre())[: domain.dimension]
        return jnp.sum(offset * offset)

    with jax.ensure_compile_time_eval(), jax.enable_x64(False):
        in_single = lambda leaf: jnp.asarray(leaf, float) if eqx.is_inexact_array(leaf) else leaf
        single = jax.tree.map(in_single, (law, domain))
        keys = items(child(stream(0, Purpose.PROBLEM), Purpose.POINTS), count)
        over_points = lambda keys: map_chunks(squared_distance, keys, domain.coordinates, most=count)
        squares = np.asarray(jax.jit(over_points, compiler_options=on_cpu(PLAIN_LOOPS))(keys), np.float64)
    mean = float(np.mean(squares))
    if not 0.0 < mean < float("inf"):
        raise InputError(
            f"the law {type(law).__name__} draws points whose mean square distance to the centre of the domain is "
            f"{mean:g}; to train on, give one whose points are finite and differ from the centre"
        )
    varying = float(np.std(squares)) / mean
    return _four_digits((mean / domain.dimension) ** 0.5), _four_digits(varying if varying > CONSTANT else 1.0)


def _four_digits(value: float) -> float:
    return float(f"{value:.4g}")
