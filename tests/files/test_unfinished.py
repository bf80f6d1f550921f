"""What is unfinished is taken away by a process that ends without unwinding its stack."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from prism.files import storage
from prism.files import unfinished as module
from prism.files.outputs import reserved
from prism.files.unfinished import undivided, undo_all_unfinished, unfinished


def test_only_what_is_unfinished_is_taken_away_newest_first():
    taken = []
    with unfinished(lambda: taken.append("finished")):
        pass
    with unfinished(lambda: taken.append("first")), unfinished(lambda: taken.append("second")):
        undo_all_unfinished()
    assert taken == ["second", "first"]


def test_what_cannot_be_removed_keeps_nothing_else_from_it(tmp_path):
    taken = []
    with unfinished(lambda: taken.append("first")), unfinished((tmp_path / "absent").unlink):
        undo_all_unfinished()
    assert taken == ["first"]


def ended_while_writing(monkeypatch, write) -> None:
    """The process ends after the content of a file is written, and before it has its name."""
    real = storage._write_and_flush

    class Ended(BaseException):
        pass

    def write_and_end(path, content):
        real(path, content)
        undo_all_unfinished()
        raise Ended

    monkeypatch.setattr(storage, "_write_and_flush", write_and_end)
    with pytest.raises(Ended):
        write()


def test_a_file_that_was_being_written(tmp_path, monkeypatch):
    (tmp_path / "kept").write_text("old")
    ended_while_writing(monkeypatch, lambda: storage.write_file(tmp_path / "kept", b"new"))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("kept", "old")]


def test_a_directory_that_was_being_written(tmp_path, monkeypatch):
    storage.write_directory(tmp_path / "kept", {"a": b"old"})
    ended_while_writing(monkeypatch, lambda: storage.write_directory(tmp_path / "kept", {"a": b"new"}))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert storage.read_directory(tmp_path / "kept") == {"a": b"old"}


def test_a_directory_that_was_made_for_a_result_and_its_lock(tmp_path):
    with reserved(tmp_path / "runs" / "new"):
        assert list((tmp_path / "runs" / "new").iterdir())
        undo_all_unfinished()
        assert not list(tmp_path.iterdir())


def test_an_end_waits_for_no_other_thread_for_long(tmp_path, monkeypatch):
    """As for one that hangs while it opens a file on a file system that is gone."""
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    monkeypatch.setattr(module, "_ending", [])
    monkeypatch.setattr(module, "_deciding", threading.RLock())
    hanging, released = threading.Event(), threading.Event()

    def hang():
        with undivided():
            hanging.set()
            released.wait()

    def write():
        def end(*_):
            thread.start()
            hanging.wait()
            undo_all_unfinished()
            raise KeyboardInterrupt

        monkeypatch.setattr(storage, "_write_and_flush", end)
        storage.write_directory(tmp_path / "kept", {"a": b"new"})

    thread = threading.Thread(target=hang)
    begun = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            write()
        assert time.monotonic() - begun < 5.0
        assert not list(tmp_path.iterdir())
    finally:
        released.set()
        thread.join()


RACE = """
import os, pathlib, random, sys, threading, time
from prism.files import storage
from prism.files.unfinished import undo_all_unfinished

place, trials = pathlib.Path(sys.argv[1]), int(sys.argv[2])
storage.write_directory(place, {"a": b"old", "b": b"old"})
for trial in range(trials):
    child = os.fork()
    if child == 0:
        random.seed(trial)

        def end():
            time.sleep(random.uniform(0.0, 0.01))
            undo_all_unfinished()
            time.sleep(0.003)  # in which the other thread must leave nothing new behind
            os._exit(0)

        threading.Thread(target=end).start()
        while True:
            storage.write_directory(place, {"a": b"new", "b": b"new"})
    os.waitpid(child, 0)
    storage.read_directory(place)
    assert [path.name for path in place.parent.iterdir()] == [place.name], os.listdir(place.parent)
"""


def test_an_end_in_another_thread_leaves_the_old_directory_or_the_new_one(tmp_path):
    source = Path(__file__).parents[2] / "src"
    command = [sys.executable, "-c", RACE, str(tmp_path / "kept"), "150"]
    ran = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(source)}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
