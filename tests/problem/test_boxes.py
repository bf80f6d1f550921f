"""Boxes with sides of their own and their faces: where points lie, and that numbers of a domain are those of them."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, samples, uniform_distance

from prism import AtTime, Ball, Cube, Family, InputError, Region, TimeCylinder, TimeDerivative, Uniform
from prism.networks.lifts.lift import Lift
from prism.networks.lifts.parts import Dense, Norm, Quadratic, Sites, parts_of
from prism.networks.model import Architecture, Model
from prism.problem.boxes import Box, Faces
from prism.solution import export_numpy
from prism.solution.solution import Solution

COUNT = 4_000
BOX = Box((-1.0, 0.0, 2.0), (1.0, 3.0, 2.5))
LOWS, HIGHS = np.asarray(BOX.lows), np.asarray(BOX.highs)
IN_TIME = TimeCylinder(BOX, 2.0)
IN_BOX = {"box": BOX, "in time": IN_TIME, "at a time": AtTime(IN_TIME, 0.5)}


def standard(points) -> np.ndarray:
    """Where each space coordinate lies between its ends, from 0 to 1."""
    return (np.asarray(points)[:, :3] - LOWS) / (HIGHS - LOWS)


@pytest.mark.parametrize("domain", IN_BOX.values(), ids=IN_BOX)
def test_every_coordinate_is_uniform_and_apart_from_the_others(domain):
    found = standard(samples(domain, COUNT))
    for column in found.T:
        assert uniform_distance(column) < 1.95
    assert np.max(np.abs(np.corrcoef(found.T) - np.eye(3))) < 4 / np.sqrt(COUNT)


@pytest.mark.parametrize("draw", [Box.sample, Box.volume_point], ids=["sample", "volume"])
def test_the_box_is_drawn_by_one_law(draw):
    close(jax.vmap(lambda key: draw(BOX, key))(jax.random.split(KEY, 5)), samples(BOX, 5), 0.0)


FACES = {
    "both": (Faces(BOX, 1), None),
    "lower": (Faces(BOX, 0, upper=False), 0.0),
    "upper": (Faces(BOX, 2, upper=True), 1.0),
    "both, in time": (Faces(IN_TIME, 1), None),
    "lower, in time": (Faces(IN_TIME, 2, upper=False), 0.0),
    "of a cube": (Faces(Cube(3, -2.0, 1.0), 2, upper=True), 1.0),
}


def along_axes(domain: Faces, points) -> np.ndarray:
    """Where each space coordinate lies between its ends, by the domain's own intervals."""
    low, high = np.asarray([domain.interval(index) for index in range(domain.dimension)]).T
    return (np.asarray(points)[:, : domain.dimension] - low) / (high - low)


@pytest.mark.parametrize(("domain", "side"), FACES.values(), ids=FACES)
@pytest.mark.parametrize("training", [False, True], ids=["sample", "training"])
def test_faces_are_the_ends_of_one_coordinate(domain, side, training):
    """Each end with half of the points unless one was chosen; the other coordinates stay uniform."""
    draw = (lambda key: domain.training_point(key, jnp.ones(()))) if training else domain.sample
    with jax.ensure_compile_time_eval():
        points = jax.vmap(draw)(jax.random.split(KEY, COUNT))
    found = along_axes(domain, points)
    on_axis, others = found[:, domain.axis], np.delete(found, domain.axis, axis=1)
    assert set(on_axis) == ({0.0, 1.0} if side is None else {side})
    if side is None:
        assert abs(np.mean(on_axis) - 0.5) < 4 * 0.5 / np.sqrt(COUNT)
    for column in others.T:
        assert uniform_distance(column) < 1.95
    if domain.coordinates > domain.dimension:
        assert uniform_distance(points[:, -1] / 2.0) < 1.95


def test_the_side_says_nothing_about_the_rest():
    """Which face, and where on it, come from keys of their own."""
    points = np.asarray(samples(Faces(BOX, 1), COUNT))
    upper = points[:, 1] == 3.0
    assert np.max(np.abs(np.corrcoef(upper, points[:, [0, 2]].T)[0, 1:])) < 4 / np.sqrt(COUNT)


def test_numbers_of_a_box_are_those_of_its_points():
    """`spread` and `norm_spread`: a mean of 3·4,000 squares of relative deviation 0.9 is known to 1 %, its deviation
    to about 2 %; 4 of those."""
    for domain in (BOX, IN_TIME):
        offsets = (np.asarray(samples(domain, COUNT)) - np.asarray(domain.centre()))[:, :3]
        squares = np.sum(offsets**2, axis=1)
        assert abs(np.sqrt(squares.mean() / 3) / domain.spread - 1.0) < 0.04
        assert abs(squares.std() / squares.mean() / domain.norm_spread - 1.0) < 0.08


def test_a_box_of_equal_sides_is_a_cube():
    box, cube = Box((-2.0,) * 3, (1.0,) * 3), Cube(3, -2.0, 1.0)
    for name in ("dimension", "coordinates", "bounds", "spread"):
        assert getattr(box, name) == pytest.approx(getattr(cube, name))
    close(box.centre(), cube.centre())
    assert Box.in_dimensions(2) == Box((0.0, 0.0), (1.0, 1.0))


def test_the_bounds_are_the_longest_side_and_every_side_is_told():
    assert BOX.bounds == (0.0, 3.0)
    for domain in (*IN_BOX.values(), Faces(IN_TIME, 1)):
        assert [domain.interval(index) for index in range(3)] == [(-1.0, 1.0), (0.0, 3.0), (2.0, 2.5)]
    close(BOX.centre(), [0.0, 1.5, 2.25])
    close(Faces(IN_TIME, 1).centre(), [0.0, 0.0, 2.25, 1.0])
    close(Faces(IN_TIME, 1, upper=True).centre(), [0.0, 3.0, 2.25, 1.0])


def test_a_point_beyond_is_moved_to_the_nearest_of_the_box():
    point = jnp.asarray([-7.0, 1.0, 9.0])
    close(BOX.clipped(point), [-1.0, 1.0, 2.5])
    close(IN_TIME.clipped(jnp.append(point, 3.0)), [-1.0, 1.0, 2.5, 2.0])


INSIDE = [[-1.0, 3.0, 2.0], [0.0, 0.0, 2.5], [0.3, 1.0, 2.2]]
OUTSIDE = [[-1.001, 1.0, 2.2], [0.0, 3.001, 2.2], [0.0, 1.0, 1.9], [0.0, 1.0, 2.6], [2.5, 1.0, 2.2]]


@pytest.mark.parametrize("array", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_every_side_counts_in_the_region(array):
    """The last point beyond lies within the sides of the other coordinates."""
    assert not BOX.region.outside(array(INSIDE)).any()
    assert BOX.region.outside(array(OUTSIDE)).all()
    late = lambda points, t: array(np.pad(points, ((0, 0), (0, 1)), constant_values=t))
    assert not Faces(IN_TIME, 1).region.outside(late(INSIDE, 2.0)).any()
    assert IN_TIME.region.outside(late(INSIDE, 2.1)).all()


def test_the_region_is_told_and_stored_as_numbers():
    region = IN_TIME.region
    assert region.describe() == "-1 <= x_1 <= 1 and 0 <= x_2 <= 3 and 2 <= x_3 <= 2.5 and 0 <= t <= 2"
    stored = json.loads(json.dumps(region.as_json()))
    assert stored == {"norm": None, "side": [list(BOX.lows), list(BOX.highs)], "horizon": 2.0}
    assert Region(side=tuple(map(tuple, stored["side"])), horizon=2.0) == region


class Anywhere(Family):
    """u_t = k u, under no constraint."""

    domain: TimeCylinder
    parameters = Uniform(k=(0.5, 1.5))
    terms = {"t": TimeDerivative()}

    def residual(self, u, x, mu):
        return u.t - mu.k * u.value


def test_an_exported_solution_knows_the_sides(tmp_path):
    """That in NumPy alone, which warns beyond them, says the same as the region."""
    family = Anywhere(IN_TIME)
    model = Model.create(Architecture(Dense(2), 2, 1, 2, 1), IN_TIME, family.parameters, KEY)
    Solution(model, family).export(tmp_path / "out")
    exported = export_numpy.read(tmp_path / "out")
    points = np.pad(INSIDE + OUTSIDE, ((0, 0), (0, 1)))
    np.testing.assert_array_equal(exported.outside(points, k=1.0), [False] * len(INSIDE) + [True] * len(OUTSIDE))


MISTAKES = {
    "a side without an end": (lambda: Box((0.0, 0.0), (1.0,)), "a Box of 2 lower and 1 upper ends; give one of each"),
    "no sides": (lambda: Box((), ()), "a Box of 0 lower and 0 upper ends"),
    "a side the wrong way round": (lambda: Box((1.0,), (-1.0,)), r"width of a Box along \[1, -1\].*give a positive"),
    "a side of no length": (lambda: Box((0.0, 1.0), (1.0, 1.0)), r"width of a Box along \[1, 1\]"),
    "a side without end": (lambda: Box((0.0,), (float("inf"),)), "Box"),
    "a side that is no number": (lambda: Box((float("nan"),), (1.0,)), "Box"),
    "faces of a ball": (lambda: Faces(Ball(3), 0), "Ball has no faces; give Faces\\(box, axis\\) of a Box or a Cube"),
    "faces of a ball in time": (lambda: Faces(TimeCylinder(Ball(3)), 0), "TimeCylinder has no faces"),
    "faces along time": (lambda: Faces(IN_TIME, 3), "the axis of Faces is 3; give a whole number"),
    "faces along no axis": (lambda: Faces(BOX, -1), "the axis of Faces is -1"),
}


@pytest.mark.parametrize(("build", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_fix(build, message):
    with pytest.raises(InputError, match=message):
        build()


@pytest.mark.parametrize("part", [Sites(2), Norm(), Quadratic()], ids=lambda part: type(part).__name__)
def test_channels_that_measure_coordinates_alike_refuse_boxes_far_from_each_other(part):
    """They would begin where every activation is flat."""
    uneven, even = Box((-1.0, 10.0), (1.0, 12.0)), Box((-6.0, -4.0), (12.0, 4.0))
    assert not TimeCylinder(uneven).alike
    assert TimeCylinder(even).alike
    Lift.create(parts_of(part), even, KEY)
    with pytest.raises(InputError, match="measures all coordinates alike, and those of this Box lie far from each"):
        Lift.create(parts_of(part), uneven, KEY)
