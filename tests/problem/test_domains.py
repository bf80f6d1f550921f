"""Points lie where they should, by the law that is said. Statistics run under a fixed key."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import DOMAINS, KEY, close, mostly_slow, samples, uniform_distance
from jax.scipy.special import ndtr

from prism import AtTime, Ball, Cube, DiffusionPaths, InputError, Sphere, TimeCylinder, WholeSpace
from prism.problem.boxes import Faces

COUNT = 4000
every_domain = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)


@every_domain
@pytest.mark.parametrize("wide", mostly_slow({"float32": False, "float64": True}, "float32"))
def test_points_have_the_coordinates_that_are_said(domain, wide):
    with jax.enable_x64(wide):
        points = samples(domain, COUNT)
        assert points.dtype == (jnp.float64 if wide else jnp.float32)
    assert points.shape == (COUNT, domain.coordinates)
    assert jnp.all(jnp.isfinite(points))
    assert len(np.unique(points, axis=0)) == COUNT
    where = domain.whole if isinstance(domain, Faces) else domain
    assert domain.coordinates == domain.dimension + isinstance(where, TimeCylinder | AtTime | DiffusionPaths)


@pytest.mark.parametrize("domain", [Ball(4, 1.5), Ball(1), Ball(50, 0.3)], ids=str)
def test_a_ball_has_a_uniform_radius_and_no_preferred_direction(domain):
    points = np.asarray(samples(domain, COUNT))
    radius = np.linalg.norm(points, axis=1)
    assert np.all(radius < domain.radius)
    assert uniform_distance(radius / domain.radius) < 1.95
    units = points / radius[:, None]
    spread = units.T @ units / COUNT
    # Entries of unit vectors are at most 1, so an entry of the mean deviates by at most 1/√count; 4 of those.
    assert np.max(np.abs(units.mean(axis=0))) < 4 / np.sqrt(COUNT)
    assert np.max(np.abs(spread - np.eye(domain.dimension) / domain.dimension)) < 4 / np.sqrt(COUNT)


def test_a_sphere_is_a_radius_and_no_preferred_direction():
    points = np.asarray(samples(Sphere(4, 1.5), COUNT)) / 1.5
    close(np.sum(points**2, axis=1), np.ones(COUNT))
    assert np.max(np.abs(points.mean(axis=0))) < 4 / np.sqrt(COUNT)
    assert np.max(np.abs(points.T @ points / COUNT - np.eye(4) / 4)) < 4 / np.sqrt(COUNT)


def test_a_cube_is_uniform():
    points = np.asarray(samples(Cube(3, -2.0, 1.0), COUNT))
    for column in points.T:
        assert uniform_distance((column + 2.0) / 3.0) < 1.95
    assert np.max(np.abs(np.corrcoef(points.T) - np.eye(3))) < 4 / np.sqrt(COUNT)


def test_the_whole_space_is_normal():
    points = np.asarray(samples(WholeSpace(3, 0.5), COUNT))
    for column in points.T:
        assert uniform_distance(ndtr(column / 0.5)) < 1.95


def test_time_is_last_and_uniform_and_apart_from_space():
    points = np.asarray(samples(TimeCylinder(Ball(4, 1.5), 2.0), COUNT))
    time, radius = points[:, -1], np.linalg.norm(points[:, :-1], axis=1)
    assert uniform_distance(time / 2.0) < 1.95
    assert uniform_distance(radius / 1.5) < 1.95
    assert abs(np.corrcoef(time, radius)[0, 1]) < 4 / np.sqrt(COUNT)


def test_one_time_has_the_space_of_its_cylinder():
    points = np.asarray(samples(AtTime(TimeCylinder(Cube(3, -2.0, 1.0), 2.0), 0.25), COUNT))
    assert np.all(points[:, -1] == 0.25)
    for column in points.T[:-1]:
        assert uniform_distance((column + 2.0) / 3.0) < 1.95


@every_domain
def test_the_centre_lies_between_the_bounds(domain):
    intervals = np.asarray([domain.interval(index) for index in range(domain.dimension)])
    middle, centre = intervals.mean(axis=1), domain.centre()
    if isinstance(domain, Faces):
        middle[domain.axis] = intervals[domain.axis, 0]
    assert centre.shape == (domain.coordinates,)
    np.testing.assert_allclose(centre[: domain.dimension], middle)
    assert domain.bounds in {tuple(interval) for interval in intervals}
    if isinstance(domain, TimeCylinder):
        assert centre[-1] == domain.horizon / 2
    if isinstance(domain, AtTime):
        assert centre[-1] == domain.time


def test_only_a_ball_and_a_cylinder_say_so():
    radii = {name: domain.ball_radius for name, domain in DOMAINS.items() if domain.ball_radius is not None}
    assert radii == {"ball": 1.5, "line": 1.0}
    horizons = {name: domain.time_horizon for name, domain in DOMAINS.items() if domain.time_horizon is not None}
    assert horizons == {"cylinder": 2.0, "paths": 0.5}


@pytest.mark.parametrize("kind", [Ball, Sphere, Cube, WholeSpace])
@pytest.mark.parametrize("dimension", [0, -3, True])
def test_dimensions_are_whole_and_positive(kind, dimension):
    with pytest.raises(InputError, match=f"the dimension is {dimension}; give a whole number of 1 or more"):
        kind(dimension)


@pytest.mark.parametrize("size", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda size: Ball(3, size), "radius of a ball"),
        (lambda size: Sphere(3, size), "radius of a sphere"),
        (lambda size: WholeSpace(3, size), "deviation of a WholeSpace"),
        (lambda size: Cube(3, 0.0, size), "width of the cube"),
        (lambda size: TimeCylinder(Ball(3), size), "horizon of a time cylinder"),
    ],
    ids=["ball", "sphere", "space", "cube", "cylinder"],
)
def test_sizes_are_positive_and_finite(build, name, size):
    with pytest.raises(InputError, match=f"the {name}.* is .*; give a positive finite number"):
        build(size)


def test_different_keys_give_different_points():
    first, second = jax.random.split(KEY)
    assert not np.any(np.asarray(Ball(3).sample(first)) == np.asarray(Ball(3).sample(second)))


@pytest.mark.parametrize(("asked", "expected"), [(None, 0.5), (0.0, 0.0), (0.2, 0.2)])
def test_paths_lead_to_what_is_asked(asked, expected):
    """x/√(2|t − t₀|) is standard normal, whatever t."""
    domain = DiffusionPaths(4, 0.5, asked)
    points = np.asarray(samples(domain, COUNT), float)
    assert uniform_distance(points[:, -1] / 0.5) < 1.95
    standard = points[:, :-1] / np.sqrt(2.0 * np.abs(points[:, -1:] - expected))
    for column in standard.T:
        assert uniform_distance(ndtr(column)) < 1.95
    norms = np.sum(points[:, :-1] ** 2, axis=1)
    # Means of 4,000 numbers of relative deviation 1 are known to 1.6 %, their deviations to about 5 %; 4 of those.
    assert abs(norms.mean() / (4 * domain.spread**2) - 1.0) < 0.07
    assert abs(norms.std() / norms.mean() / domain.norm_spread - 1.0) < 0.2


def covered(domain, kappa: float):
    draw = jax.vmap(lambda key: domain.training_point(key, jnp.asarray(kappa)))
    return np.asarray(draw(jax.random.split(KEY, COUNT)))


def test_points_to_train_on_reach_the_origin():
    """Every second one is drawn inwards: |x|/√d of 400 coordinates is a factor uniform on (0, 1), or 1 ± 0.035."""
    radius = np.linalg.norm(covered(WholeSpace(400), 0.0), axis=1) / 20.0
    inwards = radius[radius < 0.85]
    assert abs(len(inwards) / COUNT - 0.5 * 0.85) < 4 * 0.5 / np.sqrt(COUNT)
    assert uniform_distance(inwards / 0.85) < 1.95
    assert np.all(np.linalg.norm(covered(WholeSpace(400, inwards=0.0), 0.0), axis=1) > 0.8 * 20.0)


@pytest.mark.parametrize(("kappa", "left"), [(0.7, lambda t: 2.0 - t), (-0.7, lambda t: t), (0.0, lambda t: 0.0 * t)])
def test_points_to_train_on_wander_as_the_equation_diffuses(kappa, left):
    """E |x|²/d = 1 + 2|κ| left E[part³], part uniform, without any drawn inwards."""
    points = covered(TimeCylinder(WholeSpace(400, inwards=0.0), 2.0), kappa)
    t, norms = points[:, -1], np.sum(points[:, :-1] ** 2, axis=1) / 400.0
    expected = 1.0 + 2.0 * abs(kappa) * left(t) / 4.0
    assert uniform_distance(t / 2.0) < 1.95
    error = norms - expected
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(COUNT) + 1e-12
    assert np.all(norms < 1.3 * (1.0 + 2.0 * abs(kappa) * left(t)))
