"""What is said of a directory from which no solution can be read."""

from pathlib import Path

import pytest
from cli.runs import check_refusal, finished_run, prism

from prism.reporting.records import RUN

MU = ("--mu", "mu1=0.7", "mu2=1.2")
READING = {
    "predict": ("predict", "run", *MU, "--points", "points.csv"),
    "trust": ("trust", "run", *MU),
    "tune": ("tune", "run", *MU, "--out", "out"),
    "invert": ("invert", "run", "data.csv"),
    "export": ("export", "run"),
}
every_reading_command = pytest.mark.parametrize("command", READING.values(), ids=READING)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("points.csv").write_text("0,0,0\n")
    Path("data.csv").write_text("0,0,0,1\n")
    return tmp_path


@every_reading_command
def test_a_directory_that_does_not_exist_is_not_resumed(command):
    ran = prism(*command)
    check_refusal(ran, "there is no directory run; give that of a finished run")
    assert "--resume" not in ran.err


@every_reading_command
def test_a_directory_without_a_run_is_not_resumed(command):
    Path("run").mkdir()
    Path("run/config.json").write_text("{}")
    ran = prism(*command)
    check_refusal(ran, "run holds no run; give the directory of a finished one")
    assert "--resume" not in ran.err


@every_reading_command
def test_an_unfinished_run_is_resumed(command):
    Path("run").mkdir()
    Path("run/config.json").write_text("{}")
    RUN.mark(Path("run"))
    check_refusal(prism(*command), "run holds a run that is not finished", "finish it with prism solve --resume run")


def test_a_finished_run_is_read():
    finished_run(Path("run"))
    assert prism(*READING["predict"]).code == 0
