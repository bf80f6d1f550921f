"""The study of modulations: each on each seed, none with an affine part; and one real run."""

import pytest
from studies.bench import bench, constant_trials, small_trials

from prism import FILM, NONE, Affine
from prism.networks.lifts.parts import parts_of
from prism.studies import modulation, over_beta


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(over_beta, "DIMENSION", 6)
    monkeypatch.setattr(modulation, "SEEDS", (0, 1))


@pytest.mark.usefixtures("small")
def test_each_modulation_is_tried_without_the_affine_part(monkeypatch, tmp_path, capsys):
    """Nothing is trained: that a modulation does what its name says is tested with the networks."""
    noted = constant_trials(monkeypatch)
    assert len(bench("modulation", tmp_path, capsys)) == 2 * len(modulation.MODULATIONS)
    assert {trial.name: trial.choices["architecture"].modulation for trial, _, _ in noted} == modulation.MODULATIONS
    assert {parts_of(trial.choices["architecture"].lift).of_kind(Affine) for trial, _, _ in noted} == {()}


def test_small_skills_keep_their_digits():
    one = {"seed": 0, "d": 6, "steps": 5, "relative L2": 1e-6}
    told = modulation.finding([{**one, "modulation": "film", "skill": 1.234e-4}])
    assert "film 0.000123." in told


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_the_study_runs(monkeypatch, tmp_path, capsys):
    """Two modulations, two steps, tiny networks."""
    monkeypatch.setattr(over_beta, "STEPS", 2)
    monkeypatch.setattr(modulation, "SEEDS", (0,))
    monkeypatch.setattr(modulation, "MODULATIONS", {"film": FILM, "none": NONE})
    small_trials(monkeypatch)
    measured = bench("modulation", tmp_path, capsys)
    assert [one["steps"] for one in measured] == [2] * 2
