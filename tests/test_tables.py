"""Tables of the documents: made from the results that are there, and from nothing else."""

import importlib.util
import json
from pathlib import Path

import pytest
from studies.measurements import MEASUREMENTS

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def tables(monkeypatch, tmp_path):
    """The script with an empty directory of results, and documents of its own."""
    spec = importlib.util.spec_from_file_location("tables", BENCHMARKS / "tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "results" / "studies").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def marked(name: str, content: str = "as it was") -> str:
    return f"before\n\n<!-- table: {name} -->\n\n{content}\n\n<!-- end -->\n\nafter\n"


def keep(tables, name: str, content: object) -> None:
    (tables.RESULTS / name).write_text(json.dumps(content))


def run(dim: int, seed: int, skill: float, **job) -> dict:
    errors = {"relative_l2": 1e-3 * skill, "trivial_error": 0.1, "mu_blind_error": 0.01, "affine_error": 0.02}
    job = {"family": "poisson", "dim": dim, "scaled": False, "optimiser": "spring", "seed": seed, "minutes": 5.0} | job
    known = {"estimator": job.get("estimator", "gram"), "steps": 7, "skill": skill, "peak_rss_mb": 9.4}
    return {"job": job, **known, **errors}


@pytest.mark.parametrize("name", ["accuracy", "start-time", "time-networks", "trust"])
def test_without_results_a_table_stays(tables, name):
    assert tables.renewed(marked(name)) == marked(name)


def test_unknown_table_is_refused(tables):
    with pytest.raises(SystemExit, match="accurracy"):
        tables.renewed(marked("accurracy"))


def test_writing_twice_changes_nothing(tables):
    keep(tables, "start_time.json", [{"command": "prism demo", "version": "now", "first": 8.25, "second": 3.0}])
    once = tables.renewed(marked("start-time"))
    assert "| `prism demo` | now | 8.2 | 3.0 |" in once
    assert once.startswith("before\n\n<!-- table: start-time -->\n\n|")
    assert once.endswith("|\n\n<!-- end -->\n\nafter\n")
    assert tables.renewed(once) == once


def test_two_tables_of_one_document_are_kept_apart(tables):
    keep(tables, "start_time.json", [{"command": "prism demo", "version": "now", "first": 8.25, "second": 3.0}])
    text = tables.renewed(marked("trust", "first") + marked("start-time", "second"))
    assert "first" in text
    assert "second\n" not in text
    assert text.count("<!-- end -->") == 2


def test_seeds_are_one_line_with_their_range(tables):
    keep(tables, "accuracy.json", [run(100, 1, 0.3), run(100, 0, 0.2), run(100, 2, 0.1)])
    line = tables.table("accuracy").splitlines()[-1]
    assert "0.2 (0.1 to 0.3)" in line
    assert "| 0 1 2 |" in line


def test_reliability_has_a_line_for_each_fault_that_was_tried(tables):
    kills = {"tried": 200, "held": 199, "while a checkpoint was written": 70}
    malformed = {"tried": 500, "held": 497, "faults": {"hangs": 3}}
    flips = {"tried": 500, "held": 500, "hashed, found": 400}
    found = {"kills": kills, "malformed inputs": malformed, "flipped bits": flips}
    keep(tables, "reliability.json", found)
    _, _, line, *_ = tables.table("reliability").splitlines()
    assert line.endswith("| 200 | 199 |")
    details = tables.table("reliability-details")
    assert "| kills while a checkpoint was written | 70 |" in details
    assert "| malformed inputs: hangs | 3 |" in details


def test_what_the_guards_cost_stands_beside_its_limit(tables):
    step = {"seconds per step": 0.005, "share of a step": 0.004, "standard error": 0.001}
    start = {"seconds of first checks": 2.0, "seconds of later checks": 0.5}
    keep(tables, "reliability.json", {"guards": {"steps": {"adam": step}, "starts": {"heat, 10 D": start}}})
    _, _, *lines = tables.table("reliability-guards").splitlines()
    assert lines == [
        "| guard, a step of 5.0 ms, adam | 0.4 % ± 0.1 % | 2 % |",
        "| checks, heat, 10 D, the first time | 2.00 s | 1 s |",
        "| checks, heat, 10 D, passed before | 0.50 s | 1 s |",
    ]


def test_summary_takes_the_longest_time_of_the_default(tables):
    runs = [run(100, 0, 0.4, minutes=2.0), run(100, 0, 0.2, minutes=20.0), run(100, 0, 0.9, optimiser="adam")]
    runs += [run(100, 0, 0.8, minutes=30.0, scaled=True), run(100, 0, 0.7, minutes=30.0, estimator="exact")]
    keep(tables, "accuracy.json", runs)
    _, _, *lines = tables.table("accuracy-summary").splitlines()
    assert lines == ["| 100 | 20 | 2.0e-04 | 0.2 |"]


def test_named_estimators_stand_beside_the_default(tables):
    runs = [run(100, 0, 0.2), run(100, 0, 0.4, estimator="exact"), run(1000, 0, 0.5)]
    keep(tables, "accuracy.json", runs)
    keep(tables, "accuracy_estimators.json", runs)
    _, _, *lines = tables.table("accuracy-estimators").splitlines()
    assert [line.split(" | ")[0] for line in lines] == ["| gram", "| exact"]
    assert len(tables.table("accuracy").splitlines()) == 4  # the default at two dimensions


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_study_brings_its_command_and_finding(tables, name):
    keep(tables, f"studies/{name}.json", {"rows": MEASUREMENTS[name](), "full": True, "seconds": 1234.5})
    text = tables.renewed(marked(name))
    assert f"\n`prism bench {name} --full`." in text
    assert all(len(line) <= tables.WIDTH for line in text.splitlines() if not line.startswith("|"))
    assert tables.renewed(text) == text


def test_check_names_the_documents_and_changes_nothing(tables, monkeypatch, capsys):
    keep(tables, "start_time.json", [{"command": "prism demo", "version": "now", "first": 8.25, "second": 3.0}])
    (tables.ROOT / "README.md").write_text("nothing here\n")
    (tables.ROOT / "docs" / "results.md").write_text(marked("start-time"))
    monkeypatch.setattr("sys.argv", ["tables.py", "--check"])
    assert tables.main() == 1
    assert "docs/results.md" in capsys.readouterr().err
    assert (tables.ROOT / "docs" / "results.md").read_text() == marked("start-time")
    monkeypatch.setattr("sys.argv", ["tables.py"])
    assert tables.main() == 0
    monkeypatch.setattr("sys.argv", ["tables.py", "--check"])
    assert tables.main() == 0


def test_check_names_a_table_without_results(tables, monkeypatch, capsys):
    (tables.ROOT / "README.md").write_text(marked("trust"))
    monkeypatch.setattr("sys.argv", ["tables.py", "--check"])
    assert tables.main() == 1
    assert "there are no results for trust" in capsys.readouterr().err


def test_figures_follow_the_results(tables, monkeypatch, capsys):
    keep(tables, "studies/trust.json", {"rows": MEASUREMENTS["trust"](), "full": True, "seconds": 1.0})
    monkeypatch.setattr("sys.argv", ["tables.py", "--check"])
    (tables.ROOT / "README.md").write_text("nothing here\n")
    assert tables.main() == 1
    assert "figures/trust.png" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["tables.py"])
    assert tables.main() == 0
    monkeypatch.setattr("sys.argv", ["tables.py", "--check"])
    assert tables.main() == 0
    keep(tables, "studies/trust.json", {"rows": MEASUREMENTS["trust"](), "full": True, "seconds": 2.0})
    assert tables.main() == 1
