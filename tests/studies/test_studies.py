"""The studies at a size that takes seconds: every column filled, table and figure made."""

import json
import signal
from types import SimpleNamespace

import pytest
from helpers import KEY

from prism import FILM, NONE, Adam, Architecture, Coordinates, Sampling
from prism.cli import main
from prism.families import Poisson
from prism.networks.model import Model
from prism.solution.solution import Solution
from prism.solving.settings import Settings
from prism.studies import (
    decoupling,
    estimators,
    in_beta,
    inversion,
    modulation,
    motivation,
    sampling,
    solvers,
    transfer,
    trials,
    variance,
)
from prism.studies.trials import Trial, averaged

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


def short_trials(monkeypatch):
    """Trials that end with a tiny network as it was drawn, whatever they ask for."""

    def run(self, family, budget):
        model = Model.create(Architecture(4, 4, 1, 4, 1), family.domain, family.parameters, KEY)
        report = {"steps": budget.steps, "relative_l2": 0.1, "mu_blind_error": 0.2, "skill": 0.5}
        return SimpleNamespace(solution=Solution(model, family), report=lambda: report)

    monkeypatch.setattr(Trial, "run", run)
    for study in (modulation, motivation, sampling, transfer, variance):
        monkeypatch.setattr(study, "SEEDS", (0,))
    monkeypatch.setattr(in_beta, "DIMENSION", 6)


def short(study, **globals_):
    """A study of short trials, with some of its globals replaced."""

    def small(monkeypatch):
        short_trials(monkeypatch)
        for name, value in globals_.items():
            monkeypatch.setattr(study, name, value)

    return small


def small_variance(monkeypatch):
    short_trials(monkeypatch)
    monkeypatch.setattr(variance, "EQUATIONS", {"poisson": Poisson})
    monkeypatch.setattr(variance, "COMPARED", ["film"])
    monkeypatch.setattr(variance, "DIMENSION", 20)
    for name, size in (("DRAWS", 3), ("STEPS", 1), ("PLACES", (0.5, 1.0, 2.0))):
        monkeypatch.setattr(variance, name, size)
    monkeypatch.setattr(variance, "Architecture", lambda **changes: Architecture(4, 4, 2, 4, 1, **changes))


def small_decoupling(monkeypatch):
    monkeypatch.setattr(decoupling, "DIMENSIONS", (20,))
    monkeypatch.setattr(decoupling, "MODULATIONS", {"film": FILM, "none": NONE})
    monkeypatch.setattr(decoupling, "ROUND_SECONDS", 1e-3)
    monkeypatch.setattr(decoupling, "Architecture", lambda **changes: Architecture(4, 4, 2, 4, 1, **changes))


def small_inversion(monkeypatch):
    for name, size in (("DIMENSION", 6), ("STEPS", 2), ("DATA_SETS", 3), ("BLIND_SETS", 2), ("OBSERVATIONS", 20)):
        monkeypatch.setattr(inversion, name, size)
    monkeypatch.setattr(inversion, "Settings", lambda: SMALL)
    families = inversion.problems
    monkeypatch.setattr(inversion, "problems", lambda dimension: families(dimension)[:1])


STUDIES = {
    "estimators": (small_estimators, 1, 1),
    "solvers": (small_solvers, 1, 1),
    "motivation": (short(motivation, BETAS=(0.5,)), 3, 3),
    "sampling": (short_trials, 18, 18),
    "transfer": (short(transfer, FIXED=(0.5,)), 18, 18),
    "variance": (small_variance, 3, 1),
    "decoupling": (small_decoupling, 2, 2),
    "modulation": (short(modulation, MODULATIONS={"film": FILM}), 1, 1),
    "inversion": (small_inversion, 3, 3),
}
"""How each is made small, how many rows it then has, and how many lines its table."""


SLOW = {"estimators", "solvers", "decoupling", "variance", "inversion"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in STUDIES])
def test_a_study_leaves_table_figure_and_json(name, monkeypatch, tmp_path, capsys):
    small, rows, lines = STUDIES[name]
    small(monkeypatch)
    assert main(["bench", name, "--out", str(tmp_path / "out"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["study"] == name
    assert len(record["rows"]) == rows
    assert all(value is not None for row in record["rows"] for value in row.values())
    text = (tmp_path / "out" / "table.md").read_text()
    assert sum(line.startswith("|") for line in text.splitlines()) == lines + 2
    assert record["finding"] is None or record["finding"] in text
    assert (tmp_path / "out" / "figure.png").stat().st_size > 1000
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == record


def test_means_and_deviations_are_over_seeds():
    rows = [{"method": "a", "seed": seed, "error": error} for seed, error in enumerate((1.0, 2.0, 3.0))]
    assert averaged(rows, ["method"], ["error"]) == [{"method": "a", "error": 2.0, "± error": 1.0, "seeds": 3}]


def test_an_unknown_study_is_named(capsys):
    assert main(["bench", "nonsense"]) == 2
    assert "unknown study 'nonsense'; choose estimators, solvers, motivation" in capsys.readouterr().err


def test_every_variant_of_the_solver_has_its_own_name():
    names = [trial.name for trial in solvers.trials(solvers.problem(6))]
    assert len(set(names)) == len(names)


def test_an_interrupted_trial_ends_the_study(monkeypatch, capsys):
    monkeypatch.setattr(trials, "execute", lambda *_, **__: SimpleNamespace(interrupted_by=signal.SIGTERM))
    assert main(["bench", "sampling"]) == 130
    assert capsys.readouterr().err.endswith("prism: interrupted\n")
