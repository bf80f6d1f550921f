"""What is not a number never passes as a result: exit code 1, one line with the reason, nothing written."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from cli.runs import Ran, finished_run, prism

from prism.cli.loading import load_run
from prism.cli.predict import refuse_non_finite
from prism.cli.tune import describe
from prism.errors import FailedRun
from prism.solution.artifacts import read


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A finished run whose network has weights so large that u is not a number."""
    run = finished_run(tmp_path_factory.mktemp("runs") / "run")
    solution, problem = load_run(run), read(run / "model").problem
    large = lambda s: (s.model.amplitude, s.model.manifold.readout)
    whole = eqx.tree_at(large, solution, (jnp.asarray(1e300), 1e300 * solution.model.manifold.readout))
    whole.save(run / "broken", problem)
    return run / "broken"


def check_failure(ran: Ran, words: str) -> None:
    assert ran.code == 1, ran
    assert ran.out == ""
    assert ran.err.splitlines()[-1].startswith("prism: failed: "), ran.err
    assert words in ran.err.splitlines()[-1]
    assert "Traceback" not in ran.err


def test_predictions_that_are_no_numbers_are_not_written(tmp_path, broken):
    points, out = tmp_path / "points.csv", tmp_path / "u.csv"
    points.write_text("0.1,0.2,0.3\n0.2,0.1,0.3\n")
    ran = prism("predict", broken, "--mu", "mu1=1", "mu2=1", "--points", points, "--out", out, "--json")
    check_failure(ran, "u is not finite at 2 of 2 points, the first in row 0")
    assert not out.exists()


def test_a_rate_that_throws_the_network_away_leaves_no_result(tmp_path):
    out = tmp_path / "run"
    size = ("--width", 4, "--lift", "dense:4", "--depth", 2, "--generator-width", 4, "--points", 8)
    call = ("solve", "allen-cahn", "--dim", 3, *size, "--steps", 20, "--optimiser", "adam", "--rate", 1e30)
    check_failure(prism(*call, "--out", out, "--json"), "training diverged")
    assert not (out / "report.json").exists()
    assert [*(out / "checkpoints").iterdir()]


def test_a_row_that_is_no_number_is_named():
    with pytest.raises(FailedRun, match=r"u is not finite at 1 of 2 points, the first in row 1 \(from 0\)"):
        refuse_non_finite(np.asarray([0.0, float("inf")]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("trust",), "the residual is not finite at mu1 = 1, mu2 = 1"),
        (("tune", "--seconds", 5, "--out", "tuned"), "the residual is nan at this μ before tuning"),
    ],
    ids=["trust", "tune"],
)
def test_a_network_that_is_no_number_is_neither_trusted_nor_tuned(tmp_path, monkeypatch, broken, arguments, words):
    monkeypatch.chdir(tmp_path)
    command, *options = arguments
    check_failure(prism(command, broken, "--mu", "mu1=1", "mu2=1", *options), words)
    assert not (tmp_path / "tuned" / "model").exists()


def test_tuning_that_leaves_no_error_is_described():
    report = {
        **{name: 1.0 for name in ("seconds", "seconds_per_step", "residual_before", "residual_after", "error_before")},
        **{"unknowns": 1, "steps": 1, "error_after": 0.0, "out": "there"},
    }
    assert any("1.000e+00 -> 0.000e+00" in line for line in describe(report))
