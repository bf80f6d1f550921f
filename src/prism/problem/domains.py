"""Where points come from. A domain serves one point at a time and knows its bounds; with time: `time_domains`."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.errors import InputError
from prism.numerics.keys import Purpose, child, children
from prism.numerics.random import normals
from prism.shapes import Key, Point, Scalar


class Domain(eqx.Module):
    """A set of points in `dimension` space dimensions, with a law to draw from it."""

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

    @property
    def spread(self) -> float:
        """How far one space coordinate mostly lies from the centre: its standard deviation."""
        low, high = self.bounds
        return (high - low) / 12.0**0.5

    @property
    def norm_spread(self) -> float:
        """The standard deviation of |x − centre|² of training points over d·spread²; one where it does not vary."""
        return (2.0 / self.dimension) ** 0.5

    @abc.abstractmethod
    def sample(self, key: Key) -> Point:
        """One point, by the law under which errors are measured."""

    def training_point(self, key: Key, diffusivity: Scalar) -> Point:
        """One point to train on: drawn by `sample`, unless u at such points also depends on u elsewhere.

        `diffusivity` is κ of u_t = κΔu + ..., negative for u_t + |κ|Δu + ... = 0, whose values are given at the end.
        """
        return self.sample(key)

    def clipped(self, point: Point) -> Point:
        """The point, or one of the domain near it."""
        return point

    def diffused_training_point(self, key: Key, variance: Scalar) -> Point:
        """A training point moved by a normal step of this variance per coordinate; unmoved where the domain has a
        boundary."""
        return self.training_point(key, jnp.zeros(()))

    def centre(self) -> Point:
        """The point in the middle."""
        low, high = self.bounds
        return jnp.full(self.coordinates, (low + high) / 2)


class Ball(Domain):
    """|x| < R: direction uniform, radius uniform on (0, R), as in the literature on these problems."""

    dimension: int = eqx.field(static=True)
    radius: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        check_dimension(self.dimension)
        check_positive("radius of a ball", self.radius)

    @property
    def description(self) -> str:
        return f"|x| < {self.radius:g} in R^d; direction uniform, radius uniform on (0, {self.radius:g})"

    @property
    def ball_radius(self) -> float:
        return self.radius

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.radius, self.radius

    @property
    def spread(self) -> float:
        return self.radius / (3.0 * self.dimension) ** 0.5

    @property
    def norm_spread(self) -> float:
        """That of the square of a uniform number."""
        return 0.8**0.5

    def sample(self, key: Key) -> Point:
        radius, orientation = children(key, Purpose.RADIUS, Purpose.ORIENTATION)
        return self.radius * jax.random.uniform(radius) * unit_vector(orientation, self.dimension)

    def clipped(self, point: Point) -> Point:
        return point * jnp.minimum(1.0, self.radius * jax.lax.rsqrt(jnp.maximum(jnp.sum(point * point), 1e-30)))


class Sphere(Domain):
    """|x| = R, uniform: the surface of a ball, for conditions on it."""

    dimension: int = eqx.field(static=True)
    radius: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        check_dimension(self.dimension)
        check_positive("radius of a sphere", self.radius)

    @property
    def description(self) -> str:
        return f"|x| = {self.radius:g} in R^d; x uniform"

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.radius, self.radius

    @property
    def spread(self) -> float:
        return self.radius / self.dimension**0.5

    @property
    def norm_spread(self) -> float:
        return 1.0

    def sample(self, key: Key) -> Point:
        return self.radius * unit_vector(child(key, Purpose.ORIENTATION), self.dimension)

    def clipped(self, point: Point) -> Point:
        return point * self.radius * jax.lax.rsqrt(jnp.maximum(jnp.sum(point * point), 1e-30))


class Cube(Domain):
    """[low, high]^d, uniform."""

    dimension: int = eqx.field(static=True)
    low: float = eqx.field(static=True, default=0.0)
    high: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        check_dimension(self.dimension)
        check_positive(f"width of the cube [{self.low:g}, {self.high:g}]", self.high - self.low)

    @property
    def description(self) -> str:
        return f"[{self.low:g}, {self.high:g}]^d; x uniform"

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low, self.high

    def sample(self, key: Key) -> Point:
        return jax.random.uniform(child(key, Purpose.SPACE), (self.dimension,), minval=self.low, maxval=self.high)

    def clipped(self, point: Point) -> Point:
        return jnp.clip(point, self.low, self.high)


class WholeSpace(Domain):
    """All of R^d, with x ~ N(0, s²I).

    In many dimensions such points lie on a thin shell around the origin, and none near it. So a share of the points to
    train on, `inwards`, is drawn towards the origin, by a factor that is uniform on (0, 1). With time they then wander
    as far as the equation's diffusion carries what is asked for from where it is decided.
    """

    dimension: int = eqx.field(static=True)
    deviation: float = eqx.field(static=True, default=1.0)
    inwards: float = eqx.field(static=True, default=0.5)

    def __check_init__(self):
        check_dimension(self.dimension)
        check_positive("deviation of a WholeSpace", self.deviation)
        if not 0.0 <= self.inwards <= 1.0:
            raise InputError(f"the share of points drawn inwards is {self.inwards:g}; give a number from 0 to 1")

    @property
    def description(self) -> str:
        deviation = "" if self.deviation == 1.0 else f"{self.deviation:g}² "
        return f"R^d; x ~ N(0, {deviation}I)"

    @property
    def bounds(self) -> tuple[float, float]:
        return -3.0 * self.deviation, 3.0 * self.deviation

    @property
    def spread(self) -> float:
        return self.deviation

    @property
    def norm_spread(self) -> float:
        """That of χ²/d times the square of a factor that is uniform on (0, 1) for the share that is drawn inwards."""
        second, fourth = (1.0 - self.inwards + self.inwards / power for power in (3.0, 5.0))
        return ((1.0 + 2.0 / self.dimension) * fourth - second**2) ** 0.5

    def sample(self, key: Key) -> Point:
        return self.deviation * normals(child(key, Purpose.SPACE), self.dimension)

    def training_point(self, key: Key, diffusivity: Scalar) -> Point:
        return inward_factor(key, self.inwards) * self.sample(key)

    def diffused_training_point(self, key: Key, variance: Scalar) -> Point:
        step, start = children(key, Purpose.VECTORS, Purpose.POINTS)
        return self.training_point(start, jnp.zeros(())) + jnp.sqrt(variance) * normals(step, self.dimension)


def inward_factor(key: Key, share: float) -> Scalar:
    """A factor uniform on (0, 1) for this share of the points, else 1."""
    factor, whether = jax.random.uniform(child(key, Purpose.RADIUS), (2,))
    return jnp.where(whether < share, factor, 1.0)


def unit_vector(key: Key, dimension: int) -> Point:
    """A direction, uniform on the unit sphere."""
    # Without the barrier XLA computes every normal twice: for the norm, and again for the vector.
    vector = jax.lax.optimization_barrier(normals(key, dimension))
    return vector * jax.lax.rsqrt(jnp.sum(vector * vector))


def check_dimension(dimension: int) -> None:
    if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
        raise InputError(f"the dimension is {dimension!r}; give a whole number of 1 or more")


def check_positive(name: str, value: float) -> None:
    if not 0.0 < value < float("inf"):
        raise InputError(f"the {name} is {value:g}; give a positive finite number")
