"""One study run through `prism bench`, with what must hold of every record that it leaves."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import linear
from studies.measurements import MEASUREMENTS

from prism import Adam, Affine, Architecture, Dense, Sampling
from prism.cli import main
from prism.networks.lifts.parts import Parts, parts_of
from prism.studies import over_beta
from prism.studies.trials import Trial

SMALL = Architecture(linear(4), width=4, depth=1, generator_width=4, generator_depth=1)
REPORT = {"steps": 5, "seconds_per_step": 0.1, "relative_l2": 0.1, "mu_blind_error": 0.2, "skill": 0.5}


def bench(name: str, directory: Path, capsys: pytest.CaptureFixture[str]) -> list[dict]:
    """The measurements of a study: in the columns of the synthetic ones, complete, with table, figure and JSON."""
    out = directory / "out"
    assert main(["bench", name, "--out", str(out), "--json"]) == 0
    told = capsys.readouterr()
    record = json.loads(told.out.splitlines()[-1])
    check_countdown(name, told.err)
    assert record["study"] == name
    assert json.loads((out / "results.json").read_text()) == record
    assert (out / "table.md").read_text().startswith("| ")
    assert record["finding"] is None or record["finding"] in (out / "table.md").read_text()
    assert (out / "figure.png").stat().st_size > 1000
    for one in record["rows"]:
        assert list(one) in [list(synthetic) for synthetic in MEASUREMENTS[name]()]
        assert all(value is not None for value in one.values())
    return record["rows"]


def check_countdown(name: str, told: str) -> None:
    """It was said at first how long it would take, then of every planned piece that it began, and no others."""
    opening = re.search(rf"^{name}: (\d+) pieces of work, about .* on two cores$", told, re.MULTILINE)
    assert opening is not None, told
    begun = re.findall(r"^(\d+) of (\d+), [\d:]+ gone, about [\d:]+ left: \S", told, re.MULTILINE)
    planned = int(opening[1])
    assert begun == [(str(number), str(planned)) for number in range(1, planned + 1)], told


def constant_trials(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Trial, object, object]]:
    """Trials that train nothing and end with the same report; they are noted with their families and budgets."""
    noted = []

    def run(self, family, budget):
        noted.append((self, family, budget))
        return SimpleNamespace(solution=SimpleNamespace(model=None), report=lambda: REPORT)

    monkeypatch.setattr(Trial, "run", run)
    return noted


def constant_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of 0.1 at every β, of whatever network."""
    monkeypatch.setattr(over_beta, "errors_at", lambda model, family, parameters, key: np.full(len(parameters), 0.1))


def small_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials that do train, but tiny networks with Adam on tiny batches; all else is as they choose it."""
    run = Trial.run

    def small(self, family, budget):
        chosen = self.choices.get("architecture", Architecture())
        architecture = replace(
            SMALL, modulation=chosen.modulation, lift=Parts((Dense(4), *parts_of(chosen.lift).of_kind(Affine)))
        )
        choices = {**self.choices, "optimiser": Adam(), "architecture": architecture, "sampling": Sampling(4, 4)}
        return run(Trial(self.name, choices), family, budget)

    monkeypatch.setattr(Trial, "run", small)
