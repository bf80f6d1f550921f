"""Balls, spheres, cubes and the whole space, each with a law of its own; with time: `time_domains`."""

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.errors import InputError
from prism.numerics.arguments import check_positive, check_whole, real
from prism.numerics.keys import Purpose, child, children
from prism.numerics.random import normals
from prism.problem.points import Domain
from prism.problem.regions import Region
from prism.shapes import Key, Point, Scalar


class Ball(Domain):
    """|x| < R: direction uniform, radius uniform on (0, R), as in the literature on these problems."""

    dimension: int = eqx.field(static=True)
    radius: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        check_dimension(self.dimension)
        check_positive("the radius of a ball", self.radius)

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

    @property
    def region(self) -> Region:
        return Region(norm=(0.0, self.radius))

    def sample(self, key: Key) -> Point:
        radius, orientation = children(key, Purpose.RADIUS, Purpose.ORIENTATION)
        return self.radius * jax.random.uniform(radius) * unit_vector(orientation, self.dimension)

    def volume_point(self, key: Key) -> Point:
        radius, orientation = children(key, Purpose.RADIUS, Purpose.ORIENTATION)
        part = jax.random.uniform(radius) ** (1.0 / self.dimension)
        return self.radius * part * unit_vector(orientation, self.dimension)

    def clipped(self, point: Point) -> Point:
        return point * jnp.minimum(1.0, self.radius * jax.lax.rsqrt(jnp.maximum(jnp.sum(point * point), 1e-30)))


class Sphere(Domain):
    """|x| = R, uniform: the surface of a ball, for conditions on it."""

    dimension: int = eqx.field(static=True)
    radius: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        check_dimension(self.dimension)
        check_positive("the radius of a sphere", self.radius)

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

    @property
    def region(self) -> Region:
        return Region(norm=(self.radius, self.radius))

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
        low, high = (real("a bound of the cube", bound) for bound in (self.low, self.high))
        check_positive(f"the width of the cube [{low:g}, {high:g}]", high - low)

    @property
    def description(self) -> str:
        return f"[{self.low:g}, {self.high:g}]^d; x uniform"

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def region(self) -> Region:
        return Region(side=(self.low, self.high))

    def sample(self, key: Key) -> Point:
        return jax.random.uniform(child(key, Purpose.SPACE), (self.dimension,), minval=self.low, maxval=self.high)

    def volume_point(self, key: Key) -> Point:
        return self.sample(key)

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
        check_positive("the deviation of a WholeSpace", self.deviation)
        if not 0.0 <= real("the share of points drawn inwards", self.inwards) <= 1.0:
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

    @property
    def region(self) -> Region:
        """|x| within four standard deviations of its mean, and down to 0 where points are also drawn inwards."""
        low, high = normal_norms(self.dimension)
        return Region(norm=(0.0 if self.inwards else self.deviation * low, self.deviation * high))

    def region_under(self, spread: float, norm_spread: float) -> Region:
        return usual_norms(self.dimension, spread, norm_spread)

    def sample(self, key: Key) -> Point:
        return self.deviation * normals(child(key, Purpose.SPACE), self.dimension)

    def training_point(self, key: Key, diffusivity: Scalar) -> Point:
        return inward_factor(key, self.inwards) * self.sample(key)

    def diffused_training_point(self, key: Key, variance: Scalar) -> Point:
        step, start = children(key, Purpose.VECTORS, Purpose.POINTS)
        return self.training_point(start, jnp.zeros(())) + jnp.sqrt(variance) * normals(step, self.dimension)


def usual_norms(dimension: int, spread: float, norm_spread: float) -> Region:
    """|x|² within four of its deviations, where its mean is d·spread² and its deviation norm_spread times that."""
    return Region(norm=(0.0, spread * (dimension * (1.0 + 4.0 * norm_spread)) ** 0.5))


def normal_norms(dimension: int) -> tuple[float, float]:
    """Between which values |x| of x ~ N(0, I) lies, but for one in ten thousand: √d ± 4/√2."""
    middle, reach = dimension**0.5, 4.0 / 2.0**0.5
    return max(0.0, middle - reach), middle + reach


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
    check_whole("the dimension", dimension, 1)
