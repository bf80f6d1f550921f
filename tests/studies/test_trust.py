"""The study of trust: rank correlation, queries inside and outside the box; and one real run."""

import numpy as np
import pytest
from helpers import KEY
from studies.bench import bench, small_trials

from prism.studies import trust


def test_rank_correlation():
    assert trust.rank_correlation(np.asarray([1.0, 3.0, 2.0]), np.asarray([10.0, 1000.0, 20.0])) == pytest.approx(1.0)
    assert trust.rank_correlation(np.arange(5.0), -(np.arange(5.0) ** 3)) == pytest.approx(-1.0)


def test_half_of_the_queries_lie_outside():
    space, asked = trust.problem(2).parameters, np.asarray(trust.queries(KEY))
    inside = np.all((asked >= space.lows) & (asked <= space.highs), axis=1)
    assert inside.tolist() == [True] * (trust.QUERIES // 2) + [False] * (trust.QUERIES // 2)
    assert asked.min() >= trust.LOW
    assert asked.max() <= trust.HIGH


@pytest.mark.slow
def test_the_study_runs(monkeypatch, tmp_path, capsys):
    """A network that has learned nothing: how well its error is estimated means nothing."""
    for name, value in {"DIMENSION": 6, "SECONDS": 0.05, "QUERIES": 12}.items():
        monkeypatch.setattr(trust, name, value)
    small_trials(monkeypatch)
    measured = bench("trust", tmp_path, capsys)
    assert [one["inside"] for one in measured] == [True] * 6 + [False] * 6
    assert (tmp_path / "out" / "table.md").read_text().count("\n") == 7
