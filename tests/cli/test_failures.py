"""What ends a command without an answer: one line, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from prism.cli import calls, main
from prism.cli import listing as listing_command

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def failing(monkeypatch):
    """`prism list` that raises."""

    def raising(error):
        def run(options, place):
            raise error

        monkeypatch.setattr(listing_command, "run", run)

    return raising


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes")])
def test_memory_that_ran_out(failing, capsys, error):
    failing(error)
    assert main(["list"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("prism: failed: the memory ran out; take fewer points")
    assert len(said.splitlines()) == 1


def test_what_nobody_has_foreseen_is_one_line(failing, capsys):
    failing(TypeError("one\ntwo " + 1000 * "x"))
    assert main(["list"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"prism: failed: {calls.DEFECT} (TypeError: one two xxx")
    assert len(said) < 1100
    assert len(said.splitlines()) == 1


def test_and_is_shown_whole_on_request(failing, monkeypatch):
    failing(TypeError("unforeseen"))
    monkeypatch.setenv(calls.TRACEBACK, "1")
    with pytest.raises(TypeError, match="unforeseen"):
        main(["list"])


def in_a_shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    whole = {**os.environ, "PYTHONPATH": str(SOURCE), **environment}
    prism = f"{sys.executable} -m prism.cli"
    return subprocess.run(f"{prism} {command}", shell=True, capture_output=True, text=True, env=whole, check=False)


def test_a_reader_that_leaves_is_no_failure():
    ran = in_a_shell("completion bash | head -n 1")
    assert ran.stdout.startswith("# AUTOMATICALLY GENERATED")
    assert ran.stderr == ""


def test_streams_that_are_closed_or_know_little_of_unicode():
    assert in_a_shell("list nothing 2>&-").returncode == 2
    assert in_a_shell("completion bash >&-").returncode == 0
    ran = in_a_shell("solve allen-cahn --dim μ", PYTHONIOENCODING="ascii")
    assert ran.returncode == 2
    assert ran.stderr.startswith("prism: error: argument --dim: '\\u03bc' is no whole number")


def test_a_complaint_is_one_line_of_bounded_length(capsys):
    assert main(["list", "un\nknown" + 100_000 * "x"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("prism: error: unknown family 'un?knownxxx")
    assert said.count("\n") == 1
    assert len(said) < 1100
