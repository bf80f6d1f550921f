"""`prism explore`, `prism predict --grid`: what they write, and what they refuse."""

import json
import re
import shutil

import pytest
import xarray
from cli.runs import check_refusal, finished_run, prism


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run with a calibration of its own making."""
    return finished_run(tmp_path_factory.mktemp("runs") / "first")


@pytest.fixture(scope="module")
def explored(run):
    return prism("explore", run, "--json")


def test_a_run_becomes_a_page_beside_it(run, explored):
    report = json.loads(explored.out)
    page = run.with_name("first.html")
    assert (report["out"], report["bytes"]) == (str(page), page.stat().st_size)
    assert report["coordinates"] == ["x1", "x2", "x3"]
    assert "AllenCahn in 3 dimensions" in page.read_text(encoding="utf-8")


def test_a_page_is_not_replaced_unasked(run, explored):
    check_refusal(prism("explore", run), "first.html exists", "--force")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--coordinates", "x9"], ["there is no coordinate 'x9'"]),
        (["--coordinates", "t"], ["there is no coordinate 't'"]),
        (["--port", "70000", "--serve"], ["cannot serve on port 70000", "--port"]),
        (["--port", "-1", "--serve"], ["cannot serve on port -1"]),
        (["--port", "8000"], ["--serve"]),
    ],
)
def test_wrong_wishes_are_refused(arguments, words, run, explored, tmp_path):
    check_refusal(prism("explore", run, "--out", tmp_path / "page.html", *arguments), *words)


def test_a_directory_without_a_run_is_refused(tmp_path):
    check_refusal(prism("explore", tmp_path, "--out", tmp_path / "page.html"), "holds no run")
    assert not (tmp_path / "page.html").exists()


def test_a_part_of_the_run_is_not_overwritten(run):
    check_refusal(prism("explore", run, "--out", run / "config.json", "--force"), "it is the input")


def test_the_weights_are_not_overwritten(run):
    weights = next((run / "model").glob("*.safetensors"))
    check_refusal(prism("explore", run, "--out", weights, "--force"), "it is the input")
    check_refusal(prism("explore", run / "model", "--out", weights, "--force"), "it is the input")


def test_errors_of_the_run_are_told(run, explored, tmp_path):
    shutil.copytree(run, tmp_path / "told")
    measured = {"relative_l2": 0.25, "trivial_error": 1.0, "mu_blind_error": 0.5, "skill": 0.5, "seconds": 3.0}
    (tmp_path / "told" / "report.json").write_text(json.dumps(measured))
    assert prism("explore", tmp_path / "told").code == 0
    page = (tmp_path / "told.html").read_text(encoding="utf-8")
    content = json.loads(re.search(r'id="content">(.*?)</script>', page, re.DOTALL)[1])
    assert any("relative L2 error 0.25, trivial 1, μ-blind 0.5, skill 0.5" in line for line in content["remarks"])


def test_a_grid_is_written_as_netcdf(run, tmp_path):
    asked = ("predict", run, "--grid", "x1=-0.5:0.5:5", "mu1=0.7,1.2", "--mu", "mu2=1")
    ran = prism(*asked, "--out", tmp_path / "u.nc", "--json")
    assert json.loads(ran.out)["dimensions"] == {"x1": 5, "mu1": 2}
    with xarray.open_dataset(tmp_path / "u.nc") as found:
        assert found["u"].dims == ("x1", "mu1")
        assert set(found.data_vars) == {"u", "exact", "error", "outside"}
    assert "Dimensions:  (x1: 5, mu1: 2)" in prism(*asked).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--grid", "x1=0:1"], ["malformed --grid 'x1=0:1'", "three parts"]),
        (["--grid", "x1=0:1:1"], ["a range has 2 to"]),
        (["--grid", "x1"], ["malformed --grid 'x1'"]),
        (["--grid", "x1=0", "x1=1"], ["twice"]),
        (["--grid", "mu1=0.7", "--mu", "mu1=0.7", "mu2=1"], ["by --grid and by --mu"]),
        (["--grid", "x1=0", "--mu", "mu1=0.7"], ["no values for mu2"]),
        (["--grid", "x1=0", "--points", "p.csv"], ["exclude each other"]),
        (["--grid", "x1=0", "mu1=3", "mu2=1", "--refuse-outside"], ["1 of 1 points"]),
        (["--points", "p.csv"], ["no μ given"]),
        (["--mu", "mu1=1", "mu2=1"], ["no points given"]),
        (["--grid", "x1=0", "mu1=1", "mu2=1", "--mu", "x2=0.3"], ["unknown x2"]),
        (["--grid", f"x{'9' * 5000}=0", "mu1=1", "mu2=1"], ["no coordinate"]),
    ],
)
def test_wrong_grids_are_refused(arguments, words, run):
    check_refusal(prism("predict", run, *arguments), *words)


def test_a_grid_goes_to_netcdf_alone(run, tmp_path):
    refused = prism("predict", run, "--grid", "x1=0", "mu1=1", "mu2=1", "--out", tmp_path / "u.csv")
    check_refusal(refused, "--out FILE.nc")
