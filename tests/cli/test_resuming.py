"""Runs whose files were edited are not resumed: every entry of config.json is that of the checkpoints."""

import json
import shutil
from pathlib import Path

import pytest
from cli.runs import check_refusal, finished_run, prism

from prism.cli.options import SolveOptions
from prism.files import storage
from prism.reporting.records import RunDirectory
from prism.solving.following import Spent
from prism.solving.identity import Identity
from prism.solving.results import Standing
from prism.training.checkpoints import Checkpoints

STEP = 10


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """A run with a checkpoint at its tenth step, as far as can be told without its state."""
    path = finished_run(tmp_path_factory.mktemp("runs") / "run")
    config = json.loads((path / "config.json").read_text())
    identity = Identity.of(config, SolveOptions(**config).build_family())
    save(path, {**Spent(seconds=30.0).as_record(), **identity.as_record()})
    return path


@pytest.fixture
def run(begun, tmp_path) -> Path:
    return shutil.copytree(begun, tmp_path / "run")


def save(path: Path, record: dict[str, object]) -> None:
    Checkpoints(path / "checkpoints").save(STEP, {}, record)


def edit(path: Path, **changes: object) -> None:
    file = path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def content(path: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


EDITED = {
    "another family": ({"family": "poisson"}, "says family = 'poisson', the run's checkpoints 'allen-cahn'"),
    "another dimension": ({"dim": 4}, "says dim = 4, the run's checkpoints 3"),
    "other bounds": ({"bounds": ["mu1=0:9"]}, "says bounds = ['mu1=0:9'], the run's checkpoints []"),
    "another law": ({"space": "log-uniform"}, "says space = 'log-uniform', the run's checkpoints None"),
    "another seed": ({"seed": 7}, "says seed = 7, the run's checkpoints 0"),
    "another width": ({"width": 5}, "says width = 5, the run's checkpoints 4"),
    "another rate": ({"rate": 1.0}, "says rate = 1.0, the run's checkpoints"),
    "another estimator": ({"estimator": "exact"}, "says estimator = 'exact', the run's checkpoints"),
}


@pytest.mark.parametrize(("changes", "words"), EDITED.values(), ids=EDITED)
def test_an_edited_configuration_is_refused_by_its_entry(run, changes, words):
    edit(run, **changes)
    before = content(run)
    check_refusal(
        prism("solve", "--resume", run, "--steps", 20), "config.json", words, "put it back, or start a new run"
    )
    assert content(run) == before


def test_another_equation_under_the_same_name_is_refused(run):
    equation = json.loads((run / "config.json").read_text())["equation"]
    edit(run, equation=equation[:-1] + ("0" if equation[-1] != "0" else "1"))
    check_refusal(prism("solve", "--resume", run, "--steps", 20), "says equation = ")


def test_damaged_metrics_leave_the_run_as_it_was(run):
    (run / "metrics.jsonl").write_bytes(b"\0\1\n{}\n")
    before = content(run)
    check_refusal(prism("solve", "--resume", run, "--more-steps", 2), "metrics.jsonl: line 1 is not text")
    assert content(run) == before


def test_fewer_steps_than_were_made_are_refused(run):
    check_refusal(prism("solve", "--resume", run, "--steps", 9), "9 steps", "10 were made", "10 or more")
    edit(run, steps=9)
    check_refusal(prism("solve", "--resume", run), "9 steps", "10 were made")


WRONG = {
    "text for seconds": {"seconds": "many"},
    "truth for seconds": {"seconds": True},
    "a list for the run": {"run": []},
    "parameters of another form": {"parameters": {"law": "Uniform", "bounds": {"mu1": [0]}}},
}


@pytest.mark.parametrize("record", WRONG.values(), ids=WRONG)
def test_a_record_of_other_types_under_a_right_hash_is_one_line(run, record):
    save(run, record)
    check_refusal(prism("solve", "--resume", run, "--steps", 20), "record.json of the newest checkpoint is malformed")


def test_a_record_that_is_damaged_is_not_believed(run):
    """The step of a checkpoint counts only with a record that is what was written."""
    file = run / "checkpoints" / f"step-{STEP:012d}" / "record.json"
    file.write_bytes(file.read_bytes().replace(b"30.0", b"31.0"))
    assert Checkpoints(run / "checkpoints").newest_record() is None


def test_a_checkpoint_of_an_earlier_version_says_nothing_of_its_run(run):
    save(run, Spent(seconds=30.0).as_record())
    standing = Standing.of(RunDirectory(run))
    assert (standing.step, standing.spent.seconds) == (STEP, 30.0)
    standing.identity.check_config({"seed": 7}, run)


CONFIGS = {
    "deep": b"[" * 100_000,
    "a name twice": b'{"dim": 3, "dim": 3}',
    "many digits": b'{"dim": ' + b"9" * 400 + b"}",
    "not a number": b'{"rate": NaN}',
}


@pytest.mark.parametrize("text", CONFIGS.values(), ids=CONFIGS)
def test_a_malformed_configuration_is_one_line(run, text):
    (run / "config.json").write_bytes(text)
    check_refusal(prism("solve", "--resume", run), "config.json is malformed")


TYPES = {"truth for a number": {"dim": True}, "a list of numbers": {"bounds": [3]}, "a text": {"rate": "fast"}}


@pytest.mark.parametrize("changes", TYPES.values(), ids=TYPES)
def test_a_stored_problem_of_other_types_is_one_line(run, changes):
    files = storage.read_directory(run / "model")
    described = json.loads(files["model.json"])
    described["problem"] |= changes
    storage.write_directory(run / "model", {**files, "model.json": json.dumps(described).encode()})
    points = run.parent / "points.csv"
    points.write_text("0,0,0\n")
    ran = prism("predict", run, "--mu", "mu1=0.7", "mu2=1.2", "--points", points)
    check_refusal(ran, "the problem in model.json", f"in {next(iter(changes))}")


@pytest.mark.parametrize(
    "call",
    [("predict", "x" * 300, "--mu", "mu1=1", "--points", "p.csv"), ("solve", "--resume", "x" * 300, "--steps", 9)],
    ids=["predict", "resume"],
)
def test_a_directory_whose_name_is_too_long_is_one_line(call):
    check_refusal(prism(*call), "File name too long")
