"""Signals: the first one is answered at once, the second one ends the process, wherever it is."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prism.solving.interruptions import Interruptions

SOURCE = Path(__file__).parents[2] / "src"
BUSY = """
import hashlib, pathlib, sys
from prism.cli.process import end_at_once
from prism.files.unfinished import unfinished
from prism.solving.interruptions import Interruptions, Watch

half = pathlib.Path(sys.argv[1])
half.touch()
with Watch(end_at_once), Interruptions() as asked, asked.finishing("compilation"), unfinished(half.unlink):
    print("busy", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 200_000_000)  # one call of C, which no handler of Python interrupts
"""
PATIENCE = 60.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_answered_while_the_main_thread_is_in_the_compiler(tmp_path, number):
    half_written = tmp_path / "half-written"
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY, str(half_written)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        assert process.stdout.readline() == "busy\n"
        assert half_written.exists()
        process.send_signal(number)
        said = [process.stderr.readline() for _ in range(2)]
        assert said[1].startswith("stopping after compilation")
        assert process.poll() is None
        process.send_signal(number)
        assert process.wait(PATIENCE) == 128 + number
        assert process.stderr.read().split("\n") == ["", "prism: interrupted", ""]
    assert not half_written.exists()


def test_signals_are_answered_where_nobody_reads_standard_error(tmp_path):
    """As where `tee` was ended by the same Ctrl-C."""
    reader, writer = os.pipe()
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", BUSY, str(tmp_path / "half-written")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=writer, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"busy\n"
        os.close(writer)
        os.close(reader)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130


def test_a_command_is_ended_by_its_first_signal_where_no_run_is_under_way():
    code = (
        "import time; from prism.cli.process import *\nwith Watch(end_at_once):\n    print(flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=-1, stderr=-1, text=True, env=environment)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert said.strip() == "prism: interrupted"


def test_in_a_program_of_the_user_a_second_signal_is_an_exception(capfd):
    with pytest.raises(KeyboardInterrupt) as ended, Interruptions() as asked:  # noqa: PT012
        os.kill(os.getpid(), signal.SIGTERM)
        assert asked.signal == signal.SIGTERM
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(PATIENCE)
    assert ended.value.args == (signal.SIGINT,)
    assert "stopping after this step" in capfd.readouterr().err


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Interruptions():
        assert signal.getsignal(signal.SIGTERM) is not before[1]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_signal_that_the_process_was_told_to_ignore_is_not_heeded(tmp_path):
    """As Ctrl-C is for what a shell has started in the background."""
    watched = BUSY.replace("200_000_000", "200_000") + "print('done', flush=True)"
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + watched
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", ignoring, str(tmp_path / "half-written")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "busy\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "done\n"
    assert process.returncode == 0
