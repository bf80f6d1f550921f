"""The study of inversion: independent data, blind data that know no μ, bars around the coverage; and one real run."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY
from studies.bench import bench, small_trials
from studies.measurements import MEASUREMENTS

from prism.studies import inversion


@pytest.fixture
def few(monkeypatch):
    for name, size in (("DIMENSION", 6), ("STEPS", 2), ("DATA_SETS", 3), ("BLIND_SETS", 2), ("OBSERVATIONS", 20)):
        monkeypatch.setattr(inversion, name, size)


@pytest.mark.usefixtures("few")
def test_parameters_points_and_noise_of_every_data_set_are_drawn_apart(monkeypatch):
    """By their keys: that different keys draw independently is tested with `prism.numerics.keys`."""
    used = []
    noted = lambda key: used.extend(np.atleast_2d(jax.random.key_data(key)).tolist())
    child, draw = inversion.child, inversion._draw

    def drawing(family, domain, mu, keys):
        noted(keys)
        return draw(family, domain, mu, keys)

    def deriving(key, purpose):
        derived = child(key, purpose)
        noted(derived)
        return derived

    monkeypatch.setattr(inversion, "_draw", drawing)
    monkeypatch.setattr(inversion, "child", deriving)
    problem = inversion.problems(6)[0]
    inversion.data_sets(problem.family, KEY)
    inversion.blind_sets(problem, 0.1, jax.random.key(1))
    assert len(used) == 5 * (3 + 20)
    assert len({tuple(key) for key in used}) == len(used)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("place", [0, 1])
def test_blind_data_do_not_depend_on_the_parameter(place):
    problem = inversion.problems(6)[place]
    space, point = problem.family.parameters, problem.blind.sample(KEY)
    values = [float(problem.family.exact(point, space.named(jnp.asarray(mu)))) for mu in (space.lows, space.highs)]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_the_axes_hold_the_bars_and_little_else():
    measured = MEASUREMENTS["inversion"]()
    covered, flagged = inversion.figure(measured).axes
    assert 60.0 < covered.get_xlim()[0] < 65.3, "the lowest end of an interval: 25 of 30"
    assert covered.get_xlim()[1] < 103.0
    assert [text.get_text() for text in flagged.texts] == ["8 of 9", "8 of 9", "9 of 9"]
    assert any(line.get_xdata()[0] == 95.0 for line in covered.lines)
    middles = sorted(y for line in covered.lines if line.get_marker() in "osD" for y in line.get_ydata())
    assert all(above - below > 0.1 for below, above in itertools.pairwise(middles)), "none hides another"


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_the_study_runs(monkeypatch, tmp_path, capsys):
    """One family and a network that has learned nothing: how often it covers the truth means nothing."""
    small_trials(monkeypatch)
    families = inversion.problems
    monkeypatch.setattr(inversion, "problems", lambda dimension: families(dimension)[:1])
    measured = bench("inversion", tmp_path, capsys)
    assert [one["assumed"] for one in measured] == ["noise estimated", "noise given", "noise given, model error"]
    assert {one["data sets"] for one in measured} == {3}
