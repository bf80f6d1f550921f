"""Means over seeds, binomial intervals, tables, and trials that are interrupted."""

import signal
from functools import partial
from types import SimpleNamespace

import pytest

from prism.cli import main
from prism.solving.runs import Outcome
from prism.studies import trials
from prism.studies.trials import averaged, binomial_interval, markdown


def test_means_and_deviations_are_over_seeds():
    measured = [{"method": "a", "seed": seed, "error": error} for seed, error in enumerate((1.0, 2.0, 3.0))]
    assert averaged(measured, ["method"], ["error"]) == [{"method": "a", "error": 2.0, "± error": 1.0, "seeds": 3}]


def test_one_seed_has_no_deviation():
    assert averaged([{"method": "a", "error": 2.0}], ["method"], ["error"])[0]["± error"] == 0.0


def test_clopper_and_pearson():
    """For n of n the lower end is (α/2)^(1/n); the interval of n − k mirrors that of k."""
    assert binomial_interval(20, 20) == pytest.approx((0.025 ** (1 / 20), 1.0))
    low, high = binomial_interval(3, 20)
    assert binomial_interval(17, 20) == pytest.approx((1 - high, 1 - low))


def test_a_table_shows_three_digits_and_thousands():
    table = markdown([{"d": 1000, "error": 0.012345, "none": None, "yes": True, "name": "a"}])
    assert table.splitlines()[-1] == "| 1,000 | 0.0123 | – | True | a |"
    assert markdown([]) == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_trial_ends_the_study(monkeypatch, tmp_path, capsys, number):
    """With the exit code of the signal."""
    interrupted = SimpleNamespace(interrupted_by=number)
    interrupted.end_if_interrupted = partial(Outcome.end_if_interrupted, interrupted)
    monkeypatch.setattr(trials, "execute", lambda *_, **__: interrupted)
    assert main(["bench", "sampling", "--out", str(tmp_path / "out")]) == 128 + number
    assert capsys.readouterr().err.endswith("prism: interrupted\n")
