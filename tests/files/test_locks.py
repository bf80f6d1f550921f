"""One process at a time writes into a directory, whatever becomes of it and of its children."""

import errno
import os
import subprocess
import sys

import pytest

from prism.errors import UnusableOutput
from prism.files import locks
from prism.files.locks import locked
from prism.files.storage import LOCK

HOLDER = """
import os, subprocess, sys
from pathlib import Path
from prism.files.locks import locked

def forked(said, say):
    if pid := os.fork():
        os.read(said, 1)  # the child runs, and its fork is complete
        return pid
    os.write(say, b"!")
    sys.stdin.readline()
    os._exit(0)

with locked(Path(sys.argv[1])):
    child = {child}
    print(child, flush=True)
    sys.stdin.readline()
"""
NO_CHILD = "0"
PROGRAM = "subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.readline()'], close_fds=False).pid"
FORKED = "forked(*os.pipe())"


def holder(directory, child: str = NO_CHILD) -> subprocess.Popen:
    """A process that holds the lock until its standard input ends; returns once it does."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER.format(child=child), str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip().isdecimal()
    return process


def test_a_lock_keeps_others_out_and_leaves_nothing(tmp_path):
    with locked(tmp_path), pytest.raises(UnusableOutput, match=f"{tmp_path}: another process"), locked(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path):
        pass


def test_a_link_to_the_directory_is_the_same_place(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "run")
    with locked(tmp_path / "run"), pytest.raises(UnusableOutput), locked(tmp_path / "link"):
        pass


@pytest.mark.parametrize("child", [NO_CHILD, PROGRAM, FORKED], ids=["alone", "with a program", "with a forked child"])
def test_the_system_releases_the_lock_of_a_killed_process(tmp_path, child):
    """Also while a child of it lives on."""
    with holder(tmp_path, child) as process:
        with pytest.raises(UnusableOutput), locked(tmp_path):
            pass
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with locked(tmp_path):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_was_removed_in_the_meantime_is_taken_anew(tmp_path, monkeypatch):
    """The one before releases between our opening of its file and our lock on it."""
    lock, removed = locks._lock, []

    def slow(descriptor, directory):
        if not removed:
            removed.append((directory / LOCK).unlink())
        lock(descriptor, directory)

    monkeypatch.setattr(locks, "_lock", slow)
    with locked(tmp_path), pytest.raises(UnusableOutput), locked(tmp_path):
        pass


def unsupported(*arguments) -> None:
    raise OSError(errno.ENOLCK, "No locks available")


@pytest.mark.parametrize("module", [None, type("fcntl", (), {"flock": unsupported, "LOCK_EX": 0, "LOCK_NB": 0})])
def test_without_locks_there_is_a_warning(tmp_path, monkeypatch, module):
    monkeypatch.setattr(locks, "fcntl", module)
    with pytest.warns(UserWarning, match="start no second run"), locked(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_that_name_with_something_in_it_stays(tmp_path):
    (tmp_path / LOCK).write_text("mine")
    with locked(tmp_path):
        pass
    assert (tmp_path / LOCK).read_text() == "mine"
