"""Where points come from. A domain serves one point at a time and knows its bounds."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.errors import InputError
from prism.numerics.keys import Purpose, child, children
from prism.numerics.random import normals
from prism.shapes import Key, Point


class Domain(eqx.Module):
    """A set of points in `dimension` space dimensions, with a law to draw from it."""

    dimension: eqx.AbstractVar[int]

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
        """The standard deviation of |x − centre|² over its mean; one where it does not vary."""
        return (2.0 / self.dimension) ** 0.5

    @abc.abstractmethod
    def sample(self, key: Key) -> Point:
        """One point."""

    def centre(self) -> Point:
        """The point in the middle."""
        low, high = self.bounds
        return jnp.full(self.coordinates, (low + high) / 2)


class Ball(Domain):
    """|x| < R: direction uniform, radius uniform on (0, R), as in the literature on these problems."""

    dimension: int = eqx.field(static=True)
    radius: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        _check_dimension(self.dimension)
        _check_positive("radius of a ball", self.radius)

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


class Sphere(Domain):
    """|x| = R, uniform: the surface of a ball, for conditions on it."""

    dimension: int = eqx.field(static=True)
    radius: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        _check_dimension(self.dimension)
        _check_positive("radius of a sphere", self.radius)

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


class Cube(Domain):
    """[low, high]^d, uniform."""

    dimension: int = eqx.field(static=True)
    low: float = eqx.field(static=True, default=0.0)
    high: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        _check_dimension(self.dimension)
        _check_positive(f"width of the cube [{self.low:g}, {self.high:g}]", self.high - self.low)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low, self.high

    def sample(self, key: Key) -> Point:
        return jax.random.uniform(child(key, Purpose.SPACE), (self.dimension,), minval=self.low, maxval=self.high)


class WholeSpace(Domain):
    """All of R^d, with x ~ N(0, s²I)."""

    dimension: int = eqx.field(static=True)
    deviation: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        _check_dimension(self.dimension)
        _check_positive("deviation of a WholeSpace", self.deviation)

    @property
    def bounds(self) -> tuple[float, float]:
        return -3.0 * self.deviation, 3.0 * self.deviation

    @property
    def spread(self) -> float:
        return self.deviation

    def sample(self, key: Key) -> Point:
        return self.deviation * normals(child(key, Purpose.SPACE), self.dimension)


class TimeCylinder(Domain):
    """(x, t) with x in a space domain and t uniform on (0, T); time is the last coordinate."""

    space: Domain
    horizon: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        _check_positive("horizon of a time cylinder", self.horizon)

    @property
    def time_horizon(self) -> float:
        return self.horizon

    @property
    def dimension(self) -> int:
        return self.space.dimension

    @property
    def coordinates(self) -> int:
        return self.space.coordinates + 1

    @property
    def bounds(self) -> tuple[float, float]:
        return self.space.bounds

    @property
    def spread(self) -> float:
        return self.space.spread

    @property
    def norm_spread(self) -> float:
        return self.space.norm_spread

    def centre(self) -> Point:
        return jnp.append(self.space.centre(), self.horizon / 2)

    def sample(self, key: Key) -> Point:
        space, time = children(key, Purpose.SPACE, Purpose.TIME)
        return jnp.concatenate([self.space.sample(space), self.horizon * jax.random.uniform(time, (1,))])


class AtTime(Domain):
    """(x, t) of a time cylinder at one fixed t: where initial values are given."""

    cylinder: TimeCylinder
    time: float = eqx.field(static=True, default=0.0)

    @property
    def dimension(self) -> int:
        return self.cylinder.dimension

    @property
    def coordinates(self) -> int:
        return self.cylinder.coordinates

    @property
    def bounds(self) -> tuple[float, float]:
        return self.cylinder.bounds

    def centre(self) -> Point:
        return self.cylinder.centre().at[-1].set(self.time)

    def sample(self, key: Key) -> Point:
        return self.cylinder.sample(key).at[-1].set(self.time)


def unit_vector(key: Key, dimension: int) -> Point:
    """A direction, uniform on the unit sphere."""
    # Without the barrier XLA computes every normal twice: for the norm, and again for the vector.
    vector = jax.lax.optimization_barrier(normals(key, dimension))
    return vector * jax.lax.rsqrt(jnp.sum(vector * vector))


def _check_dimension(dimension: int) -> None:
    if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
        raise InputError(f"the dimension is {dimension!r}; give a whole number of 1 or more")


def _check_positive(name: str, value: float) -> None:
    if not 0.0 < value < float("inf"):
        raise InputError(f"the {name} is {value:g}; give a positive finite number")
