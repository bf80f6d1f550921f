"""The study of trust: rank correlation, queries by region, its table; and one real run."""

import numpy as np
import pytest
from helpers import KEY
from studies.bench import bench, small_trials
from studies.measurements import MEASUREMENTS

from prism.problem.parameters import LogUniform, Uniform
from prism.studies import trust


def test_rank_correlation():
    assert trust.rank_correlation(np.asarray([1.0, 3.0, 2.0]), np.asarray([10.0, 1000.0, 20.0])) == pytest.approx(1.0)
    assert trust.rank_correlation(np.arange(5.0), -(np.arange(5.0) ** 3)) == pytest.approx(-1.0)


@pytest.mark.parametrize("region", trust.REGIONS)
@pytest.mark.parametrize("space", [Uniform(a=(0.5, 1.5), b=(2.0, 4.0)), LogUniform(a=(0.1, 10.0))], ids=str)
def test_queries_lie_in_their_region(space, region):
    inner, outer = trust.REGIONS[region]
    low, high = (np.asarray(end) for end in space.uniform_box())
    places = (np.asarray(space.uniform_coordinate(trust.queries(space, inner, outer, KEY))) - low) / (high - low)
    distances = np.maximum(np.maximum(-places, places - 1.0), 0.0).max(axis=1)
    assert len(places) == trust.QUERIES
    assert np.all(distances == 0.0) if not outer else np.all((distances > inner) & (distances <= outer))


def test_queries_are_uniform_in_the_volume():
    """Two parameters are both outside at the share of the corners in the volume: 4·(1/2)² of 2² − 1, within four
    standard errors."""
    places = np.asarray(trust.queries(Uniform(a=(0.0, 1.0), b=(0.0, 1.0)), 0.0, 0.5, KEY))
    both = np.mean(np.all((places < 0.0) | (places > 1.0), axis=1))
    assert both == pytest.approx(1 / 3, abs=4.0 * np.sqrt(2 / 9 / trust.QUERIES))


def test_the_table_counts_what_the_intervals_hold():
    rows = trust.summary(MEASUREMENTS["trust"]())
    assert [row["queried μ"] for row in rows] == 2 * ["inside", "near", "far"]
    for row in rows:
        assert row["number"] == 12
        assert row["true within the interval"] == pytest.approx(2 / 3)
        assert row["worst seed"] == pytest.approx(2 / 3)
        assert row["calibrated in the box alone"] == 0.0
        assert row["median high / low"] == pytest.approx(4.0)


@pytest.mark.slow
def test_the_study_runs(monkeypatch, tmp_path, capsys):
    """A network that has learned nothing: how well its error is estimated means nothing."""
    changes = {"DIMENSION": 6, "IN_BETA_OR_TIME": 4, "STEPS": 2, "QUERIES": 12, "SEEDS": (0,)}
    for name, value in changes.items():
        monkeypatch.setattr(trust, name, value)
    small_trials(monkeypatch)
    measured = bench("trust", tmp_path, capsys)
    inside = [one for one in measured if one["region"] == "inside"]
    assert len(inside) == 3 * 12
    assert (tmp_path / "out" / "table.md").read_text().count("\n") >= 9
