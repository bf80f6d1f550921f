"""The studies of equations in time, run small."""

import jax
import pytest
from studies.bench import bench

from prism.studies import hjb, parabolic


@pytest.mark.slow
def test_the_parabolic_study_runs(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(parabolic, "DIMENSIONS", (4,))
    monkeypatch.setattr(parabolic, "EFFORTS", {4: parabolic.Effort(3, 2, (1.0, 1.0))})
    monkeypatch.setattr(parabolic, "SECONDS", 0.5)
    with jax.numpy_rank_promotion("allow"):  # references broadcast their parameters against all nodes
        measured = bench("parabolic", tmp_path, capsys)
    assert len(measured) == 3 * 3


@pytest.mark.slow
def test_the_hjb_study_runs(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(hjb, "DIMENSIONS", (6,))
    monkeypatch.setattr(hjb, "SECONDS", 0.5)
    measured = bench("hjb", tmp_path, capsys)
    assert [one["training"] for one in measured] == ["plain", "worst case"] * 2
