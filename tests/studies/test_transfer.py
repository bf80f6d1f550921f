"""The study of transfer: solvers trained where they say, asked everywhere; and one real run."""

import pytest
from studies.bench import bench, constant_errors, constant_trials, small_trials

from prism.studies import over_beta, transfer


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(over_beta, "DIMENSION", 6)
    monkeypatch.setattr(transfer, "SEEDS", (0,))


@pytest.mark.usefixtures("small")
def test_solvers_are_trained_where_they_say(monkeypatch, tmp_path, capsys):
    """Nothing is trained: how far the errors reach outside is for the real study."""
    noted = constant_trials(monkeypatch)
    constant_errors(monkeypatch)
    measured = bench("transfer", tmp_path, capsys)
    assert len(measured) == 3 * len(transfer.BETAS)
    spaces = {trial.name: (*family.parameters.lows, *family.parameters.highs) for trial, family, _ in noted}
    assert spaces["PRISM"] == (transfer.LOW, transfer.HIGH)
    assert spaces["fixed at 0.5"] == pytest.approx((0.5, 0.5), rel=1e-3)
    assert {one["β"]: one["region"] for one in measured}[2.0] == "inside"
    assert {one["β"]: one["region"] for one in measured}[10.0] == "outside"


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_the_study_runs(monkeypatch, tmp_path, capsys):
    """Two β, two steps, tiny networks."""
    monkeypatch.setattr(over_beta, "STEPS", 2)
    for name, value in {"BETAS": (0.5, 10.0), "FIXED": (0.5,)}.items():
        monkeypatch.setattr(transfer, name, value)
    small_trials(monkeypatch)
    assert {one["solver"] for one in bench("transfer", tmp_path, capsys)} == {"PRISM", "fixed at 0.5"}
