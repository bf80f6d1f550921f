"""The directory of a run: what was recorded survives crashes, and nothing of anybody else's is touched."""

import json
from pathlib import Path

import pytest

from prism.errors import InputError
from prism.reporting.records import RunDirectory, environment

OWN = ("config.json", "environment.json", "metrics.jsonl", "report.json", "checkpoints", "model", "plots")
RECORDS = [{"step": step, "seconds": 0.5 * step, "loss": 1.0 / step, "relative_l2": None} for step in (1, 10, 200)]


def begun(path: Path) -> RunDirectory:
    directory = RunDirectory.new(path, force=False)
    directory.begin({"dim": 100, "bounds": ["mu1=0:1"], "estimator": None}, resume=False)
    return directory


def recorded(path: Path) -> RunDirectory:
    directory = begun(path)
    for record in RECORDS:
        directory.append_metric(record)
    return directory


def filled(path: Path) -> RunDirectory:
    """A run with each of its files, among files of somebody else."""
    directory = recorded(path)
    directory.write_json("report.json", {"relative_l2": 0.5})
    for name in ("checkpoints", "model", "plots"):
        (path / name / "deeper").mkdir(parents=True)
        (path / name / "deeper" / "file").write_text(name)
    (path / "notes.txt").write_text("mine")
    (path / "figures").mkdir()
    (path / "figures" / "report.json").write_text("mine")
    return directory


def content(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def test_metrics_are_read_back(tmp_path):
    assert recorded(tmp_path / "run").metrics() == RECORDS
    assert RunDirectory(tmp_path / "nothing").metrics() == []


def test_a_line_cut_off_anywhere_is_left_out(tmp_path):
    directory = recorded(tmp_path / "run")
    file = tmp_path / "run" / "metrics.jsonl"
    whole = file.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for end in range(last, len(whole) - 1):
        file.write_bytes(whole[:end])
        assert directory.metrics() == RECORDS[:2]
    file.write_bytes(whole[:-1])
    assert directory.metrics() == RECORDS, "only the end of the line is missing"


@pytest.mark.parametrize("lost", [1, 2, 30])
def test_a_resumed_run_writes_on_after_a_line_that_was_cut_off(tmp_path, lost):
    directory = recorded(tmp_path / "run")
    file = tmp_path / "run" / "metrics.jsonl"
    file.write_bytes(file.read_bytes()[:-lost])
    directory.rewind_metrics(10)
    directory.append_metric({"step": 11})
    assert directory.metrics() == [*RECORDS[:2], {"step": 11}]
    assert len(file.read_text().splitlines()) == 3


@pytest.mark.parametrize(("step", "kept"), [(0, 0), (1, 1), (9, 1), (10, 2), (199, 2), (200, 3), (10**9, 3)])
def test_rewinding_drops_what_came_after_a_step(tmp_path, step, kept):
    directory = recorded(tmp_path / "run")
    directory.rewind_metrics(step)
    assert directory.metrics() == RECORDS[:kept]


def test_rewinding_before_anything_was_recorded(tmp_path):
    directory = begun(tmp_path / "run")
    directory.rewind_metrics(0)
    assert directory.metrics() == []


def test_clear_removes_only_the_files_of_a_run(tmp_path):
    directory = filled(tmp_path / "run")
    assert {path.name for path in directory.path.iterdir()} == {*OWN, "notes.txt", "figures"}
    directory.clear()
    assert content(directory.path) == {"notes.txt": b"mine", "figures/report.json": b"mine"}
    directory.clear()


def test_clear_does_not_follow_links(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").write_text("mine")
    directory = begun(tmp_path / "run")
    (directory.path / "model").symlink_to(tmp_path / "elsewhere")
    directory.clear()
    assert (tmp_path / "elsewhere" / "precious").read_text() == "mine"


def test_a_used_directory_is_refused_unless_forced(tmp_path):
    path = filled(tmp_path / "run").path
    before = content(path)
    with pytest.raises(InputError, match=r"is in use.*--resume.*--force"):
        RunDirectory.new(path, force=False)
    directory = RunDirectory.new(path, force=True)
    assert content(path) == before, "nothing is touched before the run begins"
    directory.begin({"dim": 7}, resume=False)
    assert set(content(path)) == {"config.json", "environment.json", "notes.txt", "figures/report.json"}
    assert directory.read_json("config.json") == {"dim": 7}


def test_a_resumed_run_keeps_what_it_has(tmp_path):
    path = filled(tmp_path / "run").path
    before = content(path)
    RunDirectory.existing(path).begin({"dim": 100, "steps": 10}, resume=True)
    after = content(path)
    assert json.loads(after.pop("config.json")) == {"dim": 100, "steps": 10}
    before.pop("config.json")
    assert after == before


def test_what_an_interrupted_write_left_is_cleared_away(tmp_path):
    """A process killed while it wrote its first file leaves a directory that is not in use."""
    run = tmp_path / "run"
    run.mkdir()
    (run / ".incomplete-config.json-0123456789ab").write_text('{"dim"')
    directory = RunDirectory.new(run, force=False)
    directory.begin({"dim": 7}, resume=False)
    assert set(content(run)) == {"config.json", "environment.json"}


@pytest.mark.parametrize("name", ["model", "checkpoints", "report.json"])
def test_a_directory_that_is_no_run_is_refused_even_if_forced(tmp_path, name):
    """`prism demo --out project` must not remove project/model."""
    (tmp_path / name).mkdir()
    (tmp_path / name / "precious").write_text("mine")
    with pytest.raises(InputError, match=rf"{name}.*choose another --out"):
        RunDirectory.new(tmp_path, force=True)
    assert (tmp_path / name / "precious").read_text() == "mine"


def test_directories_are_made_with_their_parents(tmp_path):
    directory = RunDirectory.new(tmp_path / "a" / "b" / "c", force=False)
    assert list(tmp_path.iterdir()) == []
    directory.begin({}, resume=False)
    assert directory.path.is_dir()


@pytest.mark.parametrize("below", [".", "run", "deeper/run"])
def test_a_path_at_or_below_a_file_is_refused(tmp_path, below):
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(InputError, match=r"cannot write to .*choose another --out"):
        RunDirectory.new(file / below, force=True)
    assert file.read_text() == "mine"


def test_only_a_run_is_resumed(tmp_path):
    with pytest.raises(InputError, match=r"holds no run.*--out"):
        RunDirectory.existing(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    assert RunDirectory.existing(tmp_path).read_json("config.json") == {}


@pytest.mark.parametrize("damaged", [b"", b'{"dim": 1', b"\xff\xfe", b"{]"])
def test_damaged_json_is_named(tmp_path, damaged):
    directory = begun(tmp_path / "run")
    assert directory.read_json("config.json") == {"dim": 100, "bounds": ["mu1=0:1"], "estimator": None}
    (directory.path / "config.json").write_bytes(damaged)
    with pytest.raises(InputError, match=r"cannot read .*config\.json"):
        directory.read_json("config.json")


def test_the_environment_names_versions_and_machine():
    found = environment()
    assert {"prism", "python", "jax", "numpy", "platform", "cores", "devices"} <= found.keys()
    assert json.loads(json.dumps(found)) == found
