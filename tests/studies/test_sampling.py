"""The study of sampling: each law on each seed, and one real run."""

import pytest
from studies.bench import bench, constant_errors, constant_trials, small_trials

from prism.studies import over_beta, sampling


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(over_beta, "DIMENSION", 6)
    monkeypatch.setattr(sampling, "SEEDS", (0,))


@pytest.mark.usefixtures("small")
def test_each_law_is_trained_on_its_own_space(monkeypatch, tmp_path, capsys):
    """Nothing is trained: that training draws β by the family's law is tested with the objective."""
    noted = constant_trials(monkeypatch)
    constant_errors(monkeypatch)
    assert len(bench("sampling", tmp_path, capsys)) == 2 * len(sampling.BETAS)
    assert {trial.name: family.parameters for trial, family, _ in noted} == sampling.LAWS


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_the_study_runs(monkeypatch, tmp_path, capsys):
    """Two β, two steps, tiny networks."""
    monkeypatch.setattr(over_beta, "STEPS", 2)
    monkeypatch.setattr(sampling, "BETAS", (0.5, 2.0))
    small_trials(monkeypatch)
    assert {one["law"] for one in bench("sampling", tmp_path, capsys)} == set(sampling.LAWS)
