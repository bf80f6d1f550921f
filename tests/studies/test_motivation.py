"""The study of motivation: methods that differ in nothing but how β enters, with as many steps; and one real run."""

from dataclasses import replace

import pytest
from studies.bench import bench, constant_errors, constant_trials, small_trials

from prism import FILM, Affine
from prism.networks.lifts.parts import parts_of
from prism.studies import motivation, over_beta


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(over_beta, "DIMENSION", 6)
    monkeypatch.setattr(motivation, "SEEDS", (0,))


@pytest.mark.usefixtures("small")
def test_methods_differ_in_how_beta_enters_alone(monkeypatch, tmp_path, capsys):
    """Nothing is trained: whether the networks learn from the steps they are given is not seen here."""
    noted = constant_trials(monkeypatch)
    constant_errors(monkeypatch)
    measured = bench("motivation", tmp_path, capsys)
    assert len(measured) == 3 * len(motivation.BETAS)
    architectures = [trial.choices["architecture"] for trial, _, _ in noted]
    assert len({replace(one, modulation=FILM) for one in architectures}) == 1
    assert {parts_of(one.lift).of_kind(Affine) for one in architectures} == {()}
    assert len({one.modulation for one in architectures}) == 3
    steps = {}
    for trial, _, budget in noted:
        steps[trial.name] = steps.get(trial.name, 0) + budget.steps
    assert len(set(steps.values())) == 1, "as many steps in total"


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_the_study_runs(monkeypatch, tmp_path, capsys):
    """One β, two steps, tiny networks."""
    monkeypatch.setattr(over_beta, "STEPS", 2)
    monkeypatch.setattr(motivation, "BETAS", (0.5,))
    small_trials(monkeypatch)
    assert {one["method"] for one in bench("motivation", tmp_path, capsys)} == {"PRISM", "concat", "retrain"}
