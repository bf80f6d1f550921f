"""Domains with time, the last coordinate of a point (x, t)."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.errors import InputError
from prism.numerics.arguments import check_kind, check_positive, real
from prism.numerics.keys import Purpose, child, children
from prism.numerics.random import normals
from prism.problem.domains import WholeSpace, check_dimension, normal_norms, usual_norms
from prism.problem.points import Domain
from prism.problem.regions import Region
from prism.shapes import Key, Point, Scalar


class TimeCylinder(Domain):
    """(x, t) with x in a space domain and t uniform on (0, T); time is the last coordinate.

    Where space has no boundary, points to train on wander from there as far as the equation's own diffusion carries
    them, unless `wandering` is False.
    """

    space: Domain
    horizon: float = eqx.field(static=True, default=1.0)
    wandering: bool = eqx.field(static=True, default=True)

    def __check_init__(self):
        check_kind("the space of a TimeCylinder", self.space, Domain, "a domain, TimeCylinder(prism.Ball(10), 1.0)")
        check_positive("the horizon of a time cylinder", self.horizon)

    @classmethod
    def in_dimensions(cls, dimension: int) -> "TimeCylinder":
        """All of space and t up to 1."""
        return cls(WholeSpace(dimension))  # pyright: ignore[reportCallIssue]

    @property
    def description(self) -> str:
        return f"{self.space.description}; t uniform on (0, {self.horizon:g})"

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

    def interval(self, index: int) -> tuple[float, float]:
        return self.space.interval(index)

    @property
    def alike(self) -> bool:
        return self.space.alike

    @property
    def spread(self) -> float:
        return self.space.spread

    @property
    def norm_spread(self) -> float:
        return self.space.norm_spread

    @property
    def region(self) -> Region:
        return dataclasses.replace(self.space.region, horizon=self.horizon)

    def region_under(self, spread: float, norm_spread: float) -> Region:
        return dataclasses.replace(self.space.region_under(spread, norm_spread), horizon=self.horizon)

    def centre(self) -> Point:
        return jnp.append(self.space.centre(), self.horizon / 2)

    def sample(self, key: Key) -> Point:
        space, time = children(key, Purpose.SPACE, Purpose.TIME)
        return jnp.concatenate([self.space.sample(space), self.horizon * jax.random.uniform(time, (1,))])

    def volume_point(self, key: Key) -> Point:
        space, time = children(key, Purpose.SPACE, Purpose.TIME)
        return jnp.append(self.space.volume_point(space), self.horizon * jax.random.uniform(time))

    def clipped(self, point: Point) -> Point:
        return jnp.append(self.space.clipped(point[:-1]), jnp.clip(point[-1], 0.0, self.horizon))

    def training_point(self, key: Key, diffusivity: Scalar) -> Point:
        """t is uniform, x a training point of the space, moved by the diffusion for a random part of the time that lies
        between t and the end at which no values are given: part³, so that short moves are more frequent."""
        t = self.horizon * jax.random.uniform(child(key, Purpose.TIME))
        return self.training_point_at(t, key, diffusivity)

    def training_point_at(self, t: Scalar, key: Key, diffusivity: Scalar) -> Point:
        space, time = children(key, Purpose.SPACE, Purpose.TIME)
        part = jax.random.uniform(child(time, Purpose.ROW))
        left = part**3 * jnp.where(diffusivity > 0, self.horizon - t, t) if self.wandering else jnp.zeros(())
        return jnp.append(self.space.diffused_training_point(space, 2.0 * jnp.abs(diffusivity) * left), t)


class DiffusionPaths(Domain):
    """(x, t) along the diffusion that passes through the origin at t₀, the `query_time` (T unless given): t uniform on
    (0, T), x ~ N(0, 2κ|t − t₀| I).

    These are the points on which u(0, t₀) depends: `DiffusionPaths(1000, 0.3)` for u_t = Δu + f(u), wanted at t = 0.3;
    `DiffusionPaths(1000, 1.0, query_time=0.0)` for a problem whose values are given at t = 1.
    """

    dimension: int = eqx.field(static=True)
    horizon: float = eqx.field(static=True, default=1.0)
    query_time: float | None = eqx.field(static=True, default=None)
    diffusivity: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        check_dimension(self.dimension)
        check_positive("the horizon of DiffusionPaths", self.horizon)
        check_positive("the diffusivity of DiffusionPaths", self.diffusivity)
        if not 0.0 <= real("the query_time", self.passing_time) <= self.horizon:
            raise InputError(f"the query_time is {self.query_time:g}; give a time from 0 to {self.horizon:g}")

    @property
    def description(self) -> str:
        variance = f"{2.0 * self.diffusivity:g}|t − {self.passing_time:g}|"
        return f"R^d; x ~ N(0, {variance} I); t uniform on (0, {self.horizon:g})"

    @property
    def passing_time(self) -> float:
        """t₀."""
        return self.horizon if self.query_time is None else self.query_time

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
        early, late = self.passing_time, self.horizon - self.passing_time
        return (self.diffusivity * (early**2 + late**2) / self.horizon) ** 0.5

    @property
    def norm_spread(self) -> float:
        """|x|² = σ²(t) χ² with d degrees of freedom, σ² uniform."""
        early, late = self.passing_time, self.horizon - self.passing_time
        square = 4.0 * self.horizon * (early**3 + late**3) / (3.0 * (early**2 + late**2) ** 2)
        return ((1.0 + 2.0 / self.dimension) * square - 1.0) ** 0.5

    @property
    def region(self) -> Region:
        """|x| within what is usual at the time of the widest law."""
        farthest = max(self.passing_time, self.horizon - self.passing_time)
        widest = (2.0 * self.diffusivity * farthest) ** 0.5
        return Region(norm=(0.0, widest * normal_norms(self.dimension)[1]), horizon=self.horizon)

    def region_under(self, spread: float, norm_spread: float) -> Region:
        return dataclasses.replace(usual_norms(self.dimension, spread, norm_spread), horizon=self.horizon)

    def centre(self) -> Point:
        return jnp.zeros(self.coordinates).at[-1].set(self.horizon / 2)

    def sample(self, key: Key) -> Point:
        space, time = children(key, Purpose.SPACE, Purpose.TIME)
        t = self.horizon * jax.random.uniform(time)
        deviation = jnp.sqrt(2.0 * self.diffusivity * jnp.abs(t - self.passing_time))
        return jnp.append(deviation * normals(space, self.dimension), t)

    def clipped(self, point: Point) -> Point:
        return point.at[-1].set(jnp.clip(point[-1], 0.0, self.horizon))


class AtTime(Domain):
    """(x, t) of a time cylinder at one fixed t: where initial values are given."""

    cylinder: Domain
    """A `TimeCylinder`, or one drawn by another law."""
    time: float = eqx.field(static=True, default=0.0)

    def __check_init__(self):
        check_kind("the cylinder of AtTime", self.cylinder, Domain, "a domain with time, TimeCylinder(space, T)")
        real("the time of AtTime", self.time)
        if self.cylinder.time_horizon is None:
            raise InputError(
                "AtTime needs a domain with time; give AtTime(TimeCylinder(space, T), t), space your domain"
            )

    @property
    def description(self) -> str:
        return f"{self.cylinder.description}, at t = {self.time:g}"

    @property
    def dimension(self) -> int:
        return self.cylinder.dimension

    @property
    def coordinates(self) -> int:
        return self.cylinder.coordinates

    @property
    def bounds(self) -> tuple[float, float]:
        return self.cylinder.bounds

    def interval(self, index: int) -> tuple[float, float]:
        return self.cylinder.interval(index)

    @property
    def region(self) -> Region:
        return self.cylinder.region

    def centre(self) -> Point:
        return self.cylinder.centre().at[-1].set(self.time)

    def sample(self, key: Key) -> Point:
        return self.cylinder.sample(key).at[-1].set(self.time)

    def volume_point(self, key: Key) -> Point:
        return self.cylinder.volume_point(key).at[-1].set(self.time)

    def clipped(self, point: Point) -> Point:
        return self.cylinder.clipped(point).at[-1].set(self.time)

    def training_point(self, key: Key, diffusivity: Scalar) -> Point:
        return self.cylinder.training_point_at(jnp.asarray(self.time), key, diffusivity)
