"""The directory of a run: what was recorded survives crashes, and nothing of anybody else's is touched."""

import json
from pathlib import Path

import pytest

from prism.errors import InputError, UnusableOutput
from prism.files import marks
from prism.files.marks import IDENTITY, MARK
from prism.reporting import records
from prism.reporting.records import RUN, RunDirectory, environment
from prism.solution.training_record import TrainingRecord

OWN = (MARK, "config.json", "environment.json", "metrics.jsonl", "report.json", "checkpoints", "model", "plots")
WRITTEN = (
    "trust.json",
    "plots/slice.png",
    "model/model.json",
    "model/model.safetensors",
    "model/manifest.json",
    "checkpoints/step-000000000010/state.safetensors",
    "checkpoints/step-000000000010/manifest.json",
    # what a killed process leaves
    ".incomplete-report.json-0123456789ab",
    "checkpoints/.incomplete-step-000000000020-0123456789ab/record.json",
    ".incomplete-.replaced-model-0123456789ab/model.json",
)
FOREIGN = {
    "notes.txt": b"mine",
    "figures/report.json": b"mine",
    "plots/for-the-paper.png": b"mine",
    "plots/final/slice.png": b"mine",
    "checkpoints/best/state.safetensors": b"mine",
    "checkpoints/step-10/state.safetensors": b"mine",
    "config.json.old": b"mine",
    ".incomplete-thesis.tex": b"mine",
}
RECORDS = [TrainingRecord(step, 0.5 * step, 1.0 / step, None, None, 0) for step in (1, 10, 200)]


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
    for file in WRITTEN:
        (path / file).parent.mkdir(parents=True, exist_ok=True)
        (path / file).write_text("ours")
    for file in FOREIGN:
        (path / file).parent.mkdir(parents=True, exist_ok=True)
        (path / file).write_text("mine")
    return directory


def content(path: Path) -> dict[str, bytes]:
    """Every file but the mark."""
    files = (file for file in sorted(path.rglob("*")) if file.is_file() and file.name != MARK)
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


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
    directory.append_metric(RECORDS[2])
    assert directory.metrics() == RECORDS
    assert len(file.read_text().splitlines()) == 3


LINES = {
    "of another type": '{"step": "1", "seconds": 1, "loss": 1, "skipped_steps": 0}',
    "without a step": "{}",
    "no object": "[]",
    "nested": "[" * 100_000,
    "of many digits": '{"step": ' + "9" * 400 + "}",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_malformed_line_is_named_and_nothing_is_dropped_for_it(tmp_path, line):
    directory = recorded(tmp_path / "run")
    file = tmp_path / "run" / "metrics.jsonl"
    first, rest = file.read_text().split("\n", 1)
    file.write_text(f"{first}\n{line}\n{rest}")
    before = file.read_bytes()
    with pytest.raises(InputError, match=r"metrics\.jsonl: line 2 is malformed .*; remove this line$"):
        directory.rewind_metrics(10)
    assert file.read_bytes() == before


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
    assert {path.name for path in directory.path.iterdir()} >= {*OWN, "notes.txt", "figures"}
    RUN.clear(directory.path)
    assert content(directory.path) == FOREIGN
    assert not (directory.path / "model").exists()
    assert {path.name for path in directory.checkpoints.iterdir()} == {"best", "step-10"}
    RUN.clear(directory.path)


def test_clear_does_not_follow_links(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").write_text("mine")
    directory = begun(tmp_path / "run")
    (tmp_path / "elsewhere" / "model.json").write_text("mine")
    (directory.path / "model").symlink_to(tmp_path / "elsewhere")
    (directory.path / "report.json").symlink_to(tmp_path / "elsewhere" / "precious")
    RUN.clear(directory.path)
    assert content(tmp_path / "elsewhere") == {"precious": b"mine", "model.json": b"mine"}


def test_a_used_directory_is_refused_unless_forced(tmp_path):
    path = filled(tmp_path / "run").path
    before = content(path)
    with pytest.raises(UnusableOutput, match=r"is in use; replace it with force=True") as caught:
        RunDirectory.new(path, force=False)
    assert caught.value.resumable == path
    directory = RunDirectory.new(path, force=True)
    assert content(path) == before, "nothing is touched before the run begins"
    directory.begin({"dim": 7}, resume=False)
    assert set(content(path)) == {"config.json", "environment.json", *FOREIGN}
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


@pytest.mark.parametrize("name", ["model", "checkpoints", "report.json", "config.json", "notes", ".hidden"])
def test_a_directory_that_is_no_run_is_refused_even_if_forced(tmp_path, name):
    """`prism demo --out project` must not remove project/model."""
    (tmp_path / name).mkdir()
    (tmp_path / name / "precious").write_text("mine")
    with pytest.raises(InputError, match=rf"{name}.*choose another place"):
        RunDirectory.new(tmp_path, force=True)
    with pytest.raises(InputError, match=name):
        RunDirectory(tmp_path).begin({}, resume=False)
    assert (tmp_path / name / "precious").read_text() == "mine"


MARKS = {
    "empty": b"",
    "not text": b"\xff",
    "a list": b"[]",
    "of somebody else": b'{"written_by": "somebody", "format": 1, "kind": "run"}',
    "without a kind": b'{"written_by": "IDENTITY", "format": 1}',
    "of another kind": b'{"written_by": "IDENTITY", "format": 1, "kind": "study"}',
    "of another format": b'{"written_by": "IDENTITY", "format": 2, "kind": "run"}',
}


@pytest.mark.parametrize("text", MARKS.values(), ids=MARKS)
def test_only_our_own_mark_makes_a_run(tmp_path, text):
    path = filled(tmp_path / "run").path
    (path / MARK).write_bytes(text.replace(b"IDENTITY", IDENTITY.encode()))
    before = content(path)
    with pytest.raises(InputError, match="not the mark of a run"):
        RunDirectory.new(path, force=True)
    assert content(path) == before


def test_the_mark_comes_first(tmp_path, monkeypatch):
    """A run that is killed at any moment leaves a directory that is known for what it is."""
    order = []
    monkeypatch.setattr(marks, "write_file", lambda path, content: order.append(path.name))
    monkeypatch.setattr(records, "write_file", lambda path, content: order.append(path.name))
    begun(tmp_path / "run")
    assert order == [MARK, "config.json", "environment.json"]


@pytest.mark.parametrize("place", ["model", "checkpoints/step-000000000010"])
def test_a_file_of_others_where_a_run_replaces_whole_directories_is_refused_before_the_work(tmp_path, place):
    path = filled(tmp_path / "run").path
    (path / place / "notes.txt").write_text("mine")
    before = content(path)
    for attempt in (lambda: RunDirectory.new(path, force=True), lambda: RunDirectory.existing(path)):
        with pytest.raises(InputError, match=r"notes\.txt, which no run wrote; move it"):
            attempt()
    assert content(path) == before


def test_a_run_from_before_the_mark_is_neither_replaced_nor_resumed(tmp_path):
    path = filled(tmp_path / "run").path
    (path / MARK).unlink()
    before = content(path)
    for attempt in (lambda: RunDirectory.new(path, force=True), lambda: RunDirectory.existing(path)):
        with pytest.raises(InputError, match="not the mark of a run"):
            attempt()
    assert content(path) == before


def test_directories_are_made_with_their_parents(tmp_path):
    directory = RunDirectory.new(tmp_path / "a" / "b" / "c", force=False)
    assert list(tmp_path.iterdir()) == []
    directory.begin({}, resume=False)
    assert directory.path.is_dir()


@pytest.mark.parametrize("below", [".", "run", "deeper/run"])
def test_a_path_at_or_below_a_file_is_refused(tmp_path, below):
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(InputError, match=r"cannot write to .*choose another place"):
        RunDirectory.new(file / below, force=True)
    assert file.read_text() == "mine"


def test_only_a_run_is_resumed(tmp_path):
    with pytest.raises(InputError, match="holds no run"):
        RunDirectory.existing(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="not the mark of a run"):
        RunDirectory.existing(tmp_path)
    RUN.mark(tmp_path)
    assert RunDirectory.existing(tmp_path).read_json("config.json") == {}


@pytest.mark.parametrize("damaged", [b"", b'{"dim": 1', b"\xff\xfe", b"{]"])
def test_damaged_json_is_named(tmp_path, damaged):
    directory = begun(tmp_path / "run")
    assert directory.read_json("config.json") == {"dim": 100, "bounds": ["mu1=0:1"], "estimator": None}
    (directory.path / "config.json").write_bytes(damaged)
    with pytest.raises(InputError, match=r"config\.json is (malformed|not text|text in UTF-16)"):
        directory.read_json("config.json")


def test_the_environment_names_versions_and_machine():
    found = environment()
    assert {"prism", "python", "jax", "numpy", "platform", "cores", "devices"} <= found.keys()
    assert json.loads(json.dumps(found)) == found
