"""The commands for potentials: solved, asked, tuned, inverted, exported; what does not go together is refused."""

import json
import subprocess
import sys

import jax
import numpy as np
import pytest
from cli.runs import check_refusal, prism

TINY = ("--width", 8, "--generator-width", 6, "--points", 16, "--nodes", 40)
MU = ("--mu", "mu1=1", "mu2=0.5")


@pytest.fixture(autouse=True)
def functions_times_their_scales():
    """Arrays of functions are multiplied by a number for each, which broadcasts over the nodes."""
    with jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short run of two levels in four dimensions, and its report."""
    out = tmp_path_factory.mktemp("levels") / "run"
    with jax.numpy_rank_promotion("allow"):
        ran = prism("solve", "cqho", "--dim", 4, "--levels", 2, *TINY, "--steps", 40, "--out", out, "--json")
    assert ran.code == 0, ran.err
    return out, json.loads(ran.out)


def test_a_run_reports_what_scripts_read(run):
    out, report = run
    promised = "family dim seed optimiser estimator modulation steps seconds seconds_per_step pairs_per_second"
    promised += " peak_rss_mb relative_l2 relative_l1 trivial_error mu_blind_error skill out compile_seconds"
    assert set(promised.split()) <= set(report)
    assert report["relative_l1"] < report["trivial_error"]
    assert len(report["excited_errors"]) == 1
    assert {path.stem for path in (out / "plots").iterdir()} == {
        *("convergence", "densities", "error_over_parameters", "levels")
    }
    assert json.loads((out / "config.json").read_text())["coordinates"] == "modes"


def test_levels_are_predicted_with_their_derivatives_and_the_wave_function(run, tmp_path):
    points = tmp_path / "points.csv"
    points.write_text("0.1,0.2,0,0\n0,0,0,0\n")
    told = prism("predict", run[0], *MU, "--points", points, "--json")
    assert told.code == 0, told.err
    found = json.loads(told.out.splitlines()[-1])
    assert len(found["levels"]) == 2
    assert found["levels"][0] < found["levels"][1]
    assert found["log_psi"][1] > found["log_psi"][0], "the ground state is largest in the middle"
    assert prism("predict", run[0], *MU, "--points", points, "--out", tmp_path / "psi.csv").code == 0
    assert (tmp_path / "psi.csv").read_text().splitlines()[0] == "x1,x2,x3,x4,sign,log_psi"


def test_it_is_trusted_tuned_and_asked_again(run, tmp_path):
    trusted = json.loads(prism("trust", run[0], *MU, "--json").out)
    assert trusted["lower_bound"] < trusted["level"]
    tuned = prism("tune", run[0], "--mu", "mu1=1.3", "mu2=0.5", "--seconds", 3, "--out", tmp_path / "there", "--json")
    assert tuned.code == 0, tuned.err
    report = json.loads(tuned.out)
    assert sum(report["levels_after"]) <= sum(report["levels_before"])
    assert report["outside"] == ["mu1"]
    again = json.loads(prism("predict", tmp_path / "there", "--mu", "mu1=1.3", "mu2=0.5", "--json").out)
    assert again["levels"][0] == pytest.approx(report["levels_after"][0], rel=1e-12)
    assert again["outside"] == [], "it was tuned there"


def test_parameters_are_inferred_from_levels(run, tmp_path):
    levels = json.loads(prism("predict", run[0], "--mu", "mu1=1.05", "mu2=0.4", "--json").out)["levels"]
    data = tmp_path / "levels.csv"
    data.write_text("level,value\n" + "".join(f"{number},{value!r}\n" for number, value in enumerate(levels)))
    told = prism("invert", run[0], data, "--noise", 1e-4, "--out", tmp_path / "result", "--json")
    assert told.code == 0, told.err
    found = json.loads(told.out)["estimates"][0]["parameters"]
    assert found["mu1"]["value"] == pytest.approx(1.05, abs=1e-3)
    assert (tmp_path / "result" / "plots" / "likelihood-1.png").is_file()
    data.write_text(f"level,value\n0,{levels[0]!r}\n")
    alone = json.loads(prism("invert", run[0], data, "--noise", 1e-4, "--json").out)["estimates"][0]
    assert not any(one["identifiable"] for one in alone["parameters"].values())


def test_an_export_needs_numpy_alone(run, tmp_path):
    assert prism("export", run[0], "--out", tmp_path / "out").code == 0
    script = "from levels import levels; import sys; print(levels(mu1=1.0, mu2=0.5)[0], 'jax' in sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path / "out", capture_output=True, text=True, check=True
    ).stdout.split()
    live = json.loads(prism("predict", run[0], *MU, "--json").out)["levels"][0]
    assert float(told[0]) == pytest.approx(live, rel=1e-6)
    assert told[1] == "False"


@pytest.mark.slow
def test_a_run_goes_on(run, tmp_path):
    first, _ = run
    whole = tmp_path / "whole"
    ran = prism("solve", "cqho", "--dim", 4, "--levels", 2, *TINY, "--steps", 20, "--out", whole, "--json")
    assert ran.code == 0, ran.err
    check_refusal(prism("solve", "--resume", whole, "--levels", 1, "--steps", 40), "--levels 1 differs")
    again = prism("solve", "--resume", whole, "--steps", 40, "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["steps"] == 40
    spent = prism("solve", "--resume", first, "--json")
    assert spent.code == 0
    assert "the budget is spent" in spent.err


def test_a_potential_of_ones_own(tmp_path):
    file = tmp_path / "my.py"
    file.write_text(
        "import prism\n\n\nclass Wells(prism.Potential):\n"
        '    """−Δ + Σ (y⁴ − a y²)."""\n\n'
        "    dimension: int\n    parameters = prism.Uniform(a=(0.2, 1.0))\n\n"
        "    def single(self, y, i, mu):\n        return y**4 - mu.a * y**2\n\n"
        "    def half_width(self, i):\n        return 4.0\n"
    )
    out = tmp_path / "run"
    ran = prism("solve", f"{file}:Wells", "--dim", 3, *TINY, "--steps", 5, "--out", out, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["relative_l1"] is None
    check_refusal(prism("predict", out, "--mu", "a=0.5"), "name it")
    told = prism("predict", out, "--family", f"{file}:Wells", "--mu", "a=0.5", "--json")
    assert np.isfinite(json.loads(told.out)["levels"][0])
    assert "a in [0.2, 1]" in prism("list", f"{file}:Wells").out


def test_references_are_told_without_a_network():
    told = json.loads(prism("reference", "cqho", "--dim", 3, *MU, "--json").out)
    assert told["value"] == pytest.approx(sum(np.sqrt(1 - 0.5 * np.cos(np.arange(1, 4) * np.pi / 4))), rel=1e-12)
    chain = json.loads(prism("reference", "anharmonic-chain", "--dim", 2, "--mu", "mu1=0.3", "mu2=0.4", "--json").out)
    assert chain["uncertainty"] < 1e-6


def test_a_reference_that_is_no_number_is_refused():
    """Where the softest mode has no ground state."""
    ran = prism("reference", "cqho", "--dim", 3, "--mu", "mu1=1", "mu2=1.5")
    check_refusal(ran, "the exact level of CoupledOscillator is not finite at mu1 = 1, mu2 = 1.5")


WRONG = {
    "a box beyond": (("--bounds", "mu2=0.8:1.2"), ("unbounded below", "keep mu2 <= 0.9 mu1")),
    "a lift": (("--lift", "dense:4"), ("--lift is of families of PDEs",)),
    "levels of a chain": (("--coordinates", "plain", "--levels", 2), ("those above the lowest are of a product",)),
    "a product of a chain": (("--coordinates", "plain", "--form", "product"), ("coordinates", "interact")),
    "an unknown form": (("--form", "tree"), ("unknown form 'tree'; choose product, sum, train",)),
    "a rank of a product": (("--form", "product", "--rank", 2), ("a product has rank 1",)),
    "too many levels": (("--levels", 101), ("levels is 101; give a whole number from 1 to 100",)),
    "natural steps of a chain": (("--coordinates", "plain", "--optimiser", "spring"), ("trained by Adam",)),
    "damping of Adam": (("--optimiser", "adam", "--damping", 1), ("--damping belongs to",)),
    "too many nodes": (("--nodes", 5000), ("nodes is 5000; give a whole number from 1 to 1000",)),
    "nothing": (("--points", 0), ("--points 0 is out of range",)),
}


@pytest.mark.parametrize(("arguments", "words"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_refused(tmp_path, arguments, words):
    refused = prism("solve", "cqho", "--dim", 4, "--steps", 1, *arguments, "--out", tmp_path / "out")
    check_refusal(refused, *words)
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_options_of_potentials_are_refused_for_families(tmp_path):
    refused = prism("solve", "poisson", "--dim", 4, "--levels", 2, "--out", tmp_path / "out")
    check_refusal(refused, "--levels is of potentials (cqho, anharmonic-chain)")


BROKEN = {
    "no header": ("0,19.6\n", "header level,value"),
    "a level that is none": ("level,value\n0.5,19.6\n", "0.5,19.6 is none"),
    "a level that is no number": ("level,value\nnan,19.6\n", "nan,19.6 is none"),
    "an infinite level": ("level,value\ninf,19.6\n", "inf,19.6 is none"),
    "a level beyond": ("level,value\n7,19.6\n", "level 7 was measured and the solution has 2"),
    "words": ("level,value\na,b\n", "header level,value"),
}


@pytest.mark.parametrize(("content", "words"), BROKEN.values(), ids=BROKEN)
def test_broken_data_are_refused(run, tmp_path, content, words):
    data = tmp_path / "levels.csv"
    data.write_text(content)
    check_refusal(prism("invert", run[0], data, "--noise", 0.1), words)
