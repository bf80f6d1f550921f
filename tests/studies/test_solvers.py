"""The study of solvers: every variant on every seed, and one real run."""

import pytest
from studies.bench import bench, constant_trials, small_trials

from prism.studies import solvers
from prism.studies.trials import SEEDS, Trial


def test_every_variant_of_the_solver_has_its_own_name():
    names = [trial.name for trial in solvers.trials(solvers.problem(6))]
    assert len(set(names)) == len(names)


def test_every_variant_is_tried_on_every_seed(monkeypatch, tmp_path, capsys):
    """Nothing is trained: a variant whose settings no solver accepts, or that changes nothing, is not seen here."""
    noted = constant_trials(monkeypatch)
    monkeypatch.setattr(solvers, "DIMENSIONS", (6,))
    measured = bench("solvers", tmp_path, capsys)
    variants = solvers.trials(solvers.problem(6))
    assert [(one["solver"], one["seed"]) for one in measured] == [(v.name, seed) for v in variants for seed in SEEDS]
    assert [trial.choices["seed"] for trial, _, _ in noted] == list(SEEDS) * len(variants)
    assert len({id(family) for _, family, _ in noted}) == len(SEEDS)


@pytest.mark.slow
def test_the_study_runs(monkeypatch, tmp_path, capsys):
    """One variant, for a moment."""
    monkeypatch.setattr(solvers, "DIMENSIONS", (6,))
    monkeypatch.setattr(solvers, "SECONDS", 0.05)
    monkeypatch.setattr(solvers, "SEEDS", (0, 1))
    monkeypatch.setattr(solvers, "trials", lambda family: [Trial("default")])
    small_trials(monkeypatch)
    measured = bench("solvers", tmp_path, capsys)
    assert measured[0]["relative L2"] != measured[1]["relative L2"], "seeds differ"
