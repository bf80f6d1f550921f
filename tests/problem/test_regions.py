"""Points of a domain lie in its region, others do not; in NumPy and in JAX."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import DOMAINS, KEY, mostly_slow, samples

from prism import (
    AtTime,
    Ball,
    Cube,
    DiffusionPaths,
    Near,
    Region,
    Sphere,
    TimeCylinder,
    UniformInVolume,
    WholeSpace,
)
from prism.numerics.keys import items
from prism.problem.points import Domain

COUNT = 10_000
WIDE = {
    "high ball": Ball(100, 0.2),
    "high shell": WholeSpace(100, 2.0, inwards=0.0),
    "high space": WholeSpace(100, 2.0),
    "line of normals": WholeSpace(1, inwards=0.0),
    "space in time": TimeCylinder(WholeSpace(20, 0.5), 2.0, wandering=False),
    "start": AtTime(TimeCylinder(WholeSpace(20, 0.5), 2.0)),
    "paths from the start": DiffusionPaths(50, 0.5, query_time=0.0, diffusivity=2.0),
    "redrawn": TimeCylinder(Ball(4, 1.5), 2.0).drawn_by(UniformInVolume()),
}


@pytest.mark.parametrize("domain", mostly_slow(DOMAINS | WIDE, *DOMAINS.keys() - {"line"}, "high shell", "redrawn"))
def test_points_of_a_domain_are_inside(domain):
    """Fewer than one in a thousand is not: normals lie within four standard deviations but for one in 10,000. In single
    precision, whose rounding the boundary has to bear."""
    with jax.enable_x64(False), jax.ensure_compile_time_eval():
        training = jax.vmap(lambda key: domain.training_point(key, jnp.zeros(())))(jax.random.split(KEY, COUNT))
        for points in (samples(domain, COUNT), training):
            found = domain.region.outside(points)
            assert found.shape == (COUNT,)
            assert jnp.sum(found) < COUNT / 1000
            assert np.all(domain.region.outside(np.asarray(points)) == np.asarray(found))


@pytest.mark.parametrize(
    ("domain", "inside", "outside"),
    [
        (Ball(2, 2.0), [[0.0, 0.0], [2.0, 0.0]], [[2.001, 0.0], [-1.5, 1.5]]),
        (Sphere(2, 2.0), [[2.0, 0.0], [0.0, -2.0]], [[0.0, 0.0], [1.99, 0.0], [2.01, 0.0]]),
        (Cube(2, -1.0, 3.0), [[-1.0, 3.0], [0.0, 0.0]], [[-1.001, 0.0], [0.0, 3.001]]),
        (WholeSpace(2), [[0.0, 0.0], [3.0, 3.0]], [[3.1, 3.1]]),
        (WholeSpace(100, inwards=0.0), [[1.0] * 100], [[0.0] * 100, [0.5] * 100, [1.5] * 100]),
        (TimeCylinder(Ball(1), 2.0), [[1.0, 0.0], [0.0, 2.0]], [[1.1, 1.0], [0.0, -0.001], [0.0, 2.001]]),
        (AtTime(TimeCylinder(Cube(1), 2.0), 0.5), [[1.0, 0.5]], [[1.1, 0.5]]),
        (DiffusionPaths(2, 0.5), [[0.0, 0.0, 0.5], [3.0, 3.0, 0.0]], [[3.1, 3.1, 0.0], [0.0, 0.0, 0.6]]),
        (Ball(2).drawn_by(UniformInVolume()), [[1.0, 0.0]], [[1.001, 0.0]]),
    ],
)
@pytest.mark.parametrize("array", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_points_beyond_it_are_told(domain, inside, outside, array):
    assert not domain.region.outside(array(inside)).any()
    assert domain.region.outside(array(outside)).all()


def test_points_that_are_not_finite_are_outside_of_everything():
    points = np.asarray([[0.0, np.nan], [np.inf, 0.0], [0.0, 0.0]])
    for region in (Region(), Region(side=(-1.0, 1.0)), Region(norm=(0.0, 1.0))):
        assert list(region.outside(points)) == [True, True, False]


@pytest.mark.parametrize(
    ("region", "text"),
    [
        (Ball(3).region, "|x| <= 1"),
        (Sphere(3, 2.0).region, "|x| = 2"),
        (TimeCylinder(Ball(3), 1.0).region, "|x| <= 1 and 0 <= t <= 1"),
        (TimeCylinder(Cube(3), 2.0).region, "0 <= x_i <= 1 and 0 <= t <= 2"),
        (WholeSpace(64, inwards=0.0).region, "5.17157 <= |x| <= 10.8284"),
        (Region(), "anywhere"),
    ],
)
def test_it_is_told_and_stored_as_numbers(region, text):
    assert region.describe() == text
    stored = json.loads(json.dumps(region.as_json()))
    assert (
        Region(**{name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}) == region
    )


def test_a_domain_that_says_nothing_asks_for_nothing():
    assert Domain.region.fget(Ball(3)) == Region()  # pyright: ignore[reportOptionalCall]


def test_another_law_has_another_region():
    """Where there is no boundary, points lie where the law draws them."""
    wide = WholeSpace(20).drawn_by(lambda key: 3.0 * jax.random.normal(key, (20,)))
    points = jax.vmap(wide.sample)(items(KEY, 500))
    assert np.mean(wide.region.outside(points)) < 0.01
    assert np.mean(WholeSpace(20).region.outside(points)) > 0.9
    assert Ball(20).drawn_by(Near(jnp.zeros(20), 0.01)).region == Ball(20).region
