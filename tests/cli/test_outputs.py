"""Nothing of the user's is lost: no command replaces what is not its own, and none works for a place it cannot use."""

import json
import os
import select
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli.runs import check_refusal, finished_run, prism

from prism.cli.places import INVERSION, STUDY, TUNING
from prism.cli.trust import keep
from prism.files.locks import locked
from prism.files.marks import MARK

TINY = ("--dim", 3, "--width", 4, "--lift", "dense:4+affine:4", "--depth", 1, "--points", 4, "--modulation", "none")
SOLVE = ("solve", "allen-cahn", *TINY, "--steps", 2)
MU = ("--mu", "mu1=0.7", "mu2=1.2")
COMMANDS = {
    "solve": SOLVE,
    "solve forced": (*SOLVE, "--force"),
    "demo": ("demo",),
    "tune": ("tune", "run", *MU),
    "tune forced": ("tune", "run", *MU, "--force"),
    "invert": ("invert", "run", "data.csv", "--noise", 0.1),
    "invert forced": ("invert", "run", "data.csv", "--noise", 0.1, "--force"),
    "bench": ("bench", "sampling"),
    "bench forced": ("bench", "sampling", "--force"),
    "export": ("export", "run"),
    "export forced": ("export", "run", "--force"),
    "predict": ("predict", "run", *MU, "--points", "points.csv"),
    "predict forced": ("predict", "run", *MU, "--points", "points.csv", "--force"),
}
DIRECTORIES = {name: command for name, command in COMMANDS.items() if not name.startswith("predict")}
every_directory_command = pytest.mark.parametrize("command", DIRECTORIES.values(), ids=DIRECTORIES)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    return finished_run(tmp_path_factory.mktemp("finished") / "run")


@pytest.fixture
def here(finished, tmp_path, monkeypatch) -> Path:
    """A working directory with a finished run, points and data."""
    monkeypatch.chdir(tmp_path)
    Path("run").symlink_to(finished)
    Path("points.csv").write_text("0,0,0\n0.1,0.2,0.3\n")
    Path("data.csv").write_text("0,0,0,1\n0.1,0.2,0.3,1\n0.2,0,0.1,1\n")
    return tmp_path


def tree(path: Path) -> dict[str, tuple]:
    """Everything below a path and in the run, with its kind and content."""
    found = {}
    for place in (path, path / "run"):
        for entry in sorted(place.rglob("*")):
            mode = entry.lstat().st_mode
            found[str(entry)] = stat.S_IFMT(mode), entry.read_bytes() if stat.S_ISREG(mode) else None
    return found


# Directories of somebody else

PROJECTS = {
    "a configuration and a model": ("config.json", "model/weights.bin", "plots/final.png"),
    "the very names of a run": (
        *("config.json", "report.json", "metrics.jsonl", "model/model.json", "model/model.safetensors"),
        *("plots/slice.png", "checkpoints/step-000000000010/state.safetensors"),
    ),
    "the names of other results": ("tuning.json", "result.json", "results.json", "table.md", "figure.png"),
    "the names of an export": ("README.md", "solution.py", "weights.npz", "manifest.json"),
    "a mark of somebody else": (MARK, "config.json"),
}


@pytest.mark.parametrize("names", PROJECTS.values(), ids=PROJECTS)
@every_directory_command
def test_a_foreign_directory_is_left_alone(here, command, names):
    for name in names:
        file = here / "project" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('{"mine": true}')
    before = tree(here)
    check_refusal(prism(*command, "--out", "project"), "project", "choose another --out")
    assert tree(here) == before


@every_directory_command
def test_the_results_of_other_commands_are_left_alone(here, command):
    """A run is no study, and so on; by what the mark says."""
    mark = json.loads((here / "run" / MARK).read_text())
    kinds = {"run", "tuning", "inversion", "study"} - {
        {"solve": "run", "demo": "run", "tune": "tuning", "invert": "inversion", "bench": "study"}.get(command[0])
    }
    for kind in kinds:
        place = here / f"a-{kind}"
        place.mkdir()
        (place / MARK).write_text(json.dumps({**mark, "kind": kind}))
        (place / "result.json").write_text("precious")
    before = tree(here)
    for kind in kinds:
        check_refusal(prism(*command, "--out", f"a-{kind}"), f"a-{kind}")
    assert tree(here) == before


def test_a_run_is_not_tuned_into_itself(here):
    Path("tuned").mkdir()
    TUNING.mark(Path("tuned"))
    shutil.copytree("run/model", "tuned/model")
    before = tree(here)
    for run in ("tuned", "tuned/model", "./tuned/."):
        ran = prism("tune", run, *MU, "--out", "tuned", "--force")
        check_refusal(ran, "it is the run that is tuned")
    assert tree(here) == before


def test_a_run_from_before_the_mark_is_not_replaced(here):
    old = finished_run(here / "old")
    (old / MARK).unlink()
    before = tree(here)
    for command in ((*SOLVE, "--force"), ("demo",)):
        check_refusal(prism(*command, "--out", "old"), "not the mark of a run", "choose another --out")
    assert tree(here) == before


# Two processes in one directory


@every_directory_command
def test_a_directory_in_which_another_process_writes_is_refused(here, command):
    Path("out").mkdir()
    with locked(Path("out")):
        before = tree(here)
        check_refusal(prism(*command, "--out", "out"), "out: another process is writing there")
        assert tree(here) == before


def test_a_run_under_way_is_neither_resumed_nor_replaced(here):
    """By the command alone: the first is at work once it has said where."""
    endless = map(str, ("solve", "allen-cahn", *TINY, "--steps", 10**9, "--out", "busy"))
    with subprocess.Popen([sys.executable, "-m", "prism.cli", *endless], stderr=subprocess.PIPE) as first:
        assert first.stderr is not None
        assert select.select([first.stderr], [], [], 120)[0], "it says something in two minutes"
        assert b"into busy" in first.stderr.readline()
        try:
            for again in ((*SOLVE, "--out", "busy"), (*SOLVE, "--out", "busy", "--force"), ("demo", "--out", "busy")):
                check_refusal(prism(*again), "busy: another process is writing there")
        finally:
            first.kill()
    with locked(Path("busy")):
        pass


def test_a_locked_run_is_not_resumed(here):
    with locked(here / "run"):
        check_refusal(prism("solve", "--resume", "run"), "run: another process is writing there")


# Places that cannot be written

UNUSABLE = (
    "file/below",
    "file/deep/below",
    "dangling",
    "dangling/below",
    "fifo/below",
    "/dev/null/below",
    "/proc/below",
)
NO_DIRECTORIES = ("file", "fifo")

SCRIPT = """
import io, json, sys
from contextlib import redirect_stderr
from prism.cli import main
for arguments in json.load(sys.stdin):
    with redirect_stderr(io.StringIO()) as said:
        code = main(arguments)
    print(json.dumps([code, said.getvalue(), "jax" in sys.modules]))
"""


def test_an_unusable_place_is_refused_before_jax_is_imported(here):
    """One process for all: none of them begins any work."""
    Path("file").write_text("mine")
    Path("dangling").symlink_to("nowhere")
    os.mkfifo("fifo")
    before = tree(here)
    asked = [
        [*map(str, command), "--out", place]
        for name, command in COMMANDS.items()
        for place in (*UNUSABLE, *(NO_DIRECTORIES if name in DIRECTORIES else ()))
    ]
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=json.dumps(asked), capture_output=True, text=True, check=True, timeout=60
    )
    for arguments, line in zip(asked, ran.stdout.splitlines(), strict=True):
        code, said, imported = json.loads(line)
        assert code == 2, (arguments, said)
        assert said.startswith(f"prism: error: cannot write to {arguments[-1]}: "), arguments
        assert said.endswith("choose another --out\n")
        assert len(said.splitlines()) == 1, said
        assert not imported, arguments
    assert tree(here) == before


def test_the_default_places_are_tried_too(here):
    Path("runs").write_text("mine")
    for command in (SOLVE, ("demo",), ("bench", "sampling")):
        check_refusal(prism(*command), "cannot write to runs/", "runs is a file")
    (here / "run-export").symlink_to("nowhere")
    check_refusal(prism("export", "run"), "run-export")
    assert Path("runs").read_text() == "mine"


# Files


def test_predict_replaces_a_file_only_when_asked(here):
    predict = ("predict", "run", *MU, "--points", "points.csv", "--out", "values.csv")
    Path("values.csv").write_text("mine")
    check_refusal(prism(*predict), "values.csv exists; replace it with --force, or choose another --out")
    assert Path("values.csv").read_text() == "mine"
    assert prism(*predict, "--force").code == 0
    assert Path("values.csv").read_text().startswith("x1,x2,x3,u,outside\n")
    assert not list(here.glob(".*"))


def test_predict_writes_to_standard_output(here):
    predict = ("predict", "run", *MU, "--points", "points.csv")
    plain, dash = prism(*predict), prism(*predict, "--out", "-")
    assert len(plain.out.split()) == 2
    header, *rows = dash.out.splitlines()
    assert header == "x1,x2,x3,u,outside"
    assert [row.split(",")[3] for row in rows] == plain.out.split()
    report = json.loads(prism(*predict, "--out", "-", "--json").out)
    assert report["out"] is None
    np.testing.assert_allclose(report["values"], [float(value) for value in plain.out.split()], rtol=1e-8)
    assert not Path("-").exists()


@pytest.mark.parametrize("out", ["points.csv", "./points.csv", "hard.csv", "soft.csv", "run/model/model.safetensors"])
def test_predict_never_overwrites_what_it_reads(here, out):
    os.link("points.csv", "hard.csv")
    Path("soft.csv").symlink_to("points.csv")
    before = tree(here)
    for force in ((), ("--force",)):
        check_refusal(prism("predict", "run", *MU, "--points", "points.csv", "--out", out, *force), "is the input")
    check_refusal(prism("predict", "run/model", *MU, "--points", "points.csv", "--out", out, "--force"), "is the input")
    assert tree(here) == before


def test_predict_writes_regular_files_only(here):
    os.mkfifo("fifo")
    Path("runs").mkdir()
    terminal = os.ttyname(os.openpty()[1])  # a device that not even root can replace
    before = tree(here)
    for out, kind in (("fifo", "a FIFO"), (terminal, "a device"), ("runs", "a directory")):
        for force in ((), ("--force",)):
            ran = prism("predict", "run", *MU, "--points", "points.csv", "--out", out, *force)
            check_refusal(ran, f"it is {kind}, not a regular file")
    assert tree(here) == before


def test_a_calibration_that_cannot_be_kept_is_said_and_nothing_else(here, capsys):
    """Into a run without the mark only where nothing is; where nothing can be written, not at all."""
    Path("trust.json").write_text("mine")
    keep(Path("trust.json"), {"model": "hash"})
    assert Path("trust.json").read_text() == "mine"
    keep(Path("/dev/null/trust.json"), {"model": "hash"})
    assert capsys.readouterr().err.count("not kept") == 2


@pytest.mark.parametrize("layout", [TUNING, INVERSION, STUDY], ids=lambda layout: layout.kind)
def test_an_earlier_result_is_replaced_only_when_asked(here, layout):
    """Up to the first mistake in what is read, which comes after the place."""
    command = {
        TUNING: ("tune", "nothing", *MU),
        INVERSION: ("invert", "nothing", "data.csv"),
        STUDY: ("bench", "sampling"),
    }[layout]
    Path("out").mkdir()
    layout.mark(Path("out"))
    Path("out/plots").mkdir()
    before = tree(here)
    check_refusal(prism(*command, "--out", "out"), "out is in use; replace it with --force, or choose another --out")
    if layout is not STUDY:
        check_refusal(prism(*command, "--out", "out", "--force"), "there is no directory nothing")
    assert tree(here) == before
