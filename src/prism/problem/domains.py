"""Where points come from. A domain serves one point at a time and knows its bounds."""

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
        """One point, by the law under which errors are measured."""

    def cover(self, key: Key, diffusivity: Scalar) -> Point:
        """One point to train on: by `sample`, where that reaches all that decides what a solution may be asked for.

        `diffusivity` is κ of u_t = κΔu + ..., negative for u_t + |κ|Δu + ... = 0, whose values are given at the end.
        """
        return self.sample(key)

    def clipped(self, point: Point) -> Point:
        """The point, or one of the domain near it."""
        return point

    def wandered(self, key: Key, variance: Scalar) -> Point:
        """A point of `cover` after a diffusion of this variance; the same where a boundary ends it."""
        return self.cover(key, jnp.zeros(()))

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

    def clipped(self, point: Point) -> Point:
        return point * jnp.minimum(1.0, self.radius * jax.lax.rsqrt(jnp.maximum(jnp.sum(point * point), 1e-30)))


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

    def clipped(self, point: Point) -> Point:
        return point * self.radius * jax.lax.rsqrt(jnp.maximum(jnp.sum(point * point), 1e-30))


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

    def cover(self, key: Key, diffusivity: Scalar) -> Point:
        return drawn_inwards(key, self.inwards) * self.sample(key)

    def wandered(self, key: Key, variance: Scalar) -> Point:
        step, start = children(key, Purpose.VECTORS, Purpose.POINTS)
        return self.cover(start, jnp.zeros(())) + jnp.sqrt(variance) * normals(step, self.dimension)


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

    def clipped(self, point: Point) -> Point:
        return jnp.append(self.space.clipped(point[:-1]), jnp.clip(point[-1], 0.0, self.horizon))

    def cover(self, key: Key, diffusivity: Scalar) -> Point:
        """(x, t) where the diffusion may have carried a point of the space that is asked for at another time: for any
        part of the time that is left until then, short ones more often."""
        space, time = children(key, Purpose.SPACE, Purpose.TIME)
        t, part = self.horizon * jax.random.uniform(time), jax.random.uniform(child(time, Purpose.ROW))
        left = part**3 * jnp.where(diffusivity > 0, self.horizon - t, t)
        return jnp.append(self.space.wandered(space, 2.0 * jnp.abs(diffusivity) * left), t)


class DiffusionPaths(Domain):
    """(x, t) along the diffusion through (0, t₀): t uniform on (0, T), x ~ N(0, 2κ|t − t₀| I).

    What a parabolic equation says at the origin at the time `asked` (T unless given), it says through these points:
    `DiffusionPaths(1000, 0.3)` for u_t = Δu + f(u) from t = 0, asked at t = 0.3; `DiffusionPaths(1000, 1.0, asked=0.0)`
    for an equation whose values at t = 1 are given. The law is closed: the diffusion carries its points on to others
    of it.
    """

    dimension: int = eqx.field(static=True)
    horizon: float = eqx.field(static=True, default=1.0)
    asked: float | None = eqx.field(static=True, default=None)
    diffusivity: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        _check_dimension(self.dimension)
        _check_positive("horizon of DiffusionPaths", self.horizon)
        _check_positive("diffusivity of DiffusionPaths", self.diffusivity)
        if not 0.0 <= self.asked_time <= self.horizon:
            raise InputError(f"DiffusionPaths are asked at t = {self.asked:g}; give a time from 0 to {self.horizon:g}")

    @property
    def asked_time(self) -> float:
        """t₀."""
        return self.horizon if self.asked is None else self.asked

    @property
    def time_horizon(self) -> float:
        return self.horizon

    @property
    def coordinates(self) -> int:
        return self.dimension + 1

    @property
    def bounds(self) -> tuple[float, float]:
        return -3.0 * self.spread, 3.0 * self.spread

    @property
    def spread(self) -> float:
        """√ of the mean of 2κ|t − t₀|."""
        early, late = self.asked_time, self.horizon - self.asked_time
        return (self.diffusivity * (early**2 + late**2) / self.horizon) ** 0.5

    @property
    def norm_spread(self) -> float:
        """|x|² = σ²(t) χ² with d degrees of freedom, σ² uniform."""
        early, late = self.asked_time, self.horizon - self.asked_time
        square = 4.0 * self.horizon * (early**3 + late**3) / (3.0 * (early**2 + late**2) ** 2)
        return ((1.0 + 2.0 / self.dimension) * square - 1.0) ** 0.5

    def centre(self) -> Point:
        return jnp.zeros(self.coordinates).at[-1].set(self.horizon / 2)

    def sample(self, key: Key) -> Point:
        space, time = children(key, Purpose.SPACE, Purpose.TIME)
        t = self.horizon * jax.random.uniform(time)
        deviation = jnp.sqrt(2.0 * self.diffusivity * jnp.abs(t - self.asked_time))
        return jnp.append(deviation * normals(space, self.dimension), t)

    def clipped(self, point: Point) -> Point:
        return point.at[-1].set(jnp.clip(point[-1], 0.0, self.horizon))


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

    def clipped(self, point: Point) -> Point:
        return self.cylinder.clipped(point).at[-1].set(self.time)

    def cover(self, key: Key, diffusivity: Scalar) -> Point:
        return self.cylinder.cover(key, diffusivity).at[-1].set(self.time)


def drawn_inwards(key: Key, share: float) -> Scalar:
    """A factor uniform on (0, 1) for this share of the points, else 1."""
    factor, whether = jax.random.uniform(child(key, Purpose.RADIUS), (2,))
    return jnp.where(whether < share, factor, 1.0)


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
