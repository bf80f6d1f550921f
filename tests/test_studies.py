"""The studies at a size that takes seconds: every column filled, table and figure made."""

import json

import pytest

from prism import Adam, Architecture, Coordinates, Sampling
from prism.cli import main
from prism.settings import Settings
from prism.studies import estimators, inversion, solvers
from prism.studies.trials import Trial

SMALL = Settings(optimiser=Adam(), architecture=Architecture(4, 4, 1, 4, 1), sampling=Sampling(4, 4))


def small_estimators(monkeypatch):
    monkeypatch.setattr(estimators, "DIMENSIONS", (6,))
    monkeypatch.setattr(estimators, "SECONDS", 0.05)
    monkeypatch.setattr(estimators, "ESTIMATORS", {"coordinates:2": Coordinates(2)})
    monkeypatch.setattr(estimators, "DRAWS", 4)


def small_solvers(monkeypatch):
    monkeypatch.setattr(solvers, "DIMENSIONS", (6,))
    monkeypatch.setattr(solvers, "SECONDS", 0.05)
    monkeypatch.setattr(solvers, "trials", lambda family: [Trial("adam", SMALL)])


def small_inversion(monkeypatch):
    for name, size in (("DIMENSION", 6), ("STEPS", 2), ("DATA_SETS", 3), ("BLIND_SETS", 2), ("OBSERVATIONS", 20)):
        monkeypatch.setattr(inversion, name, size)
    monkeypatch.setattr(inversion, "Settings", lambda: SMALL)


STUDIES = {"estimators": (small_estimators, 1), "solvers": (small_solvers, 1), "inversion": (small_inversion, 3)}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_leaves_table_figure_and_json(name, monkeypatch, tmp_path, capsys):
    small, rows = STUDIES[name]
    small(monkeypatch)
    assert main(["bench", name, "--out", str(tmp_path / "out"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["study"] == name
    assert len(record["rows"]) == rows
    assert all(value is not None for row in record["rows"] for value in row.values())
    assert (tmp_path / "out" / "table.md").read_text().count("\n") == rows + 2
    assert (tmp_path / "out" / "figure.png").stat().st_size > 1000
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == record


def test_an_unknown_study_is_named(capsys):
    assert main(["bench", "nonsense"]) == 2
    assert "unknown study 'nonsense'; choose estimators, solvers, inversion" in capsys.readouterr().err


def test_every_variant_of_the_solver_has_its_own_name():
    names = [trial.name for trial in solvers.trials(solvers.problem(6))]
    assert len(set(names)) == len(names)
