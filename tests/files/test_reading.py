"""Whatever a file is, it is read within bounds or refused in one line."""

import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass

import pytest

from prism.errors import CorruptedFile, InputError
from prism.files import reading
from prism.files.reading import Unreadable, as_text, blaming, parse_json, read_bytes, read_json


@dataclass(frozen=True)
class Size:
    width: int
    rate: float = 1.0
    sides: tuple[float | None, ...] = ()


def refused(action, *words: str) -> None:
    """With one line that says so."""
    with pytest.raises(Unreadable) as caught:
        action()
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 200
    for word in words:
        assert word in str(caught.value)


# Bytes


def test_a_file_is_read_whole(tmp_path):
    (tmp_path / "file").write_bytes(bytes(range(256)) * 10_000)
    assert read_bytes(tmp_path / "file") == bytes(range(256)) * 10_000
    (tmp_path / "link").symlink_to("file")
    assert read_bytes(tmp_path / "link") == bytes(range(256)) * 10_000


def test_what_is_no_file_is_named(tmp_path):
    refused(lambda: read_bytes(tmp_path / "absent"), "is missing")
    refused(lambda: read_bytes(tmp_path / "a\0b"), "null")
    refused(lambda: read_bytes(tmp_path / ("x" * 300)), "cannot be read (File name too long)")
    refused(lambda: read_bytes(tmp_path), "is a directory")
    refused(lambda: read_bytes(tmp_path / "absent" / "file"), "is missing")
    (tmp_path / "loop").symlink_to("loop")
    refused(lambda: read_bytes(tmp_path / "loop"), "cannot be read")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no devices here")
def test_devices_are_not_read():
    for device in ("/dev/zero", "/dev/null"):
        refused(lambda path=device: read_bytes(path), "is a device, not a file")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_nobody_waits_for_a_writer(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    refused(lambda: read_bytes(tmp_path / "fifo"), "is a FIFO that nobody writes to")


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no descriptors by name here")
def test_a_pipe_is_read_to_its_end():
    """As a shell gives it to a program: /dev/stdin, or <(...)."""
    reader, writer = os.pipe()
    sent = b"0.1,0.2\n" * 50_000  # more than a pipe holds at once

    def write() -> None:
        with open(writer, "wb") as file:
            file.write(sent)

    thread = threading.Thread(target=write)
    thread.start()
    assert read_bytes(f"/dev/fd/{reader}") == sent
    thread.join()
    os.close(reader)


def test_standard_input_is_read():
    program = "from prism.files.reading import read_bytes; print(len(read_bytes('/dev/stdin')))"
    ran = subprocess.run([sys.executable, "-c", program], input=b"x" * 1000, capture_output=True, check=True)
    assert ran.stdout == b"1000\n"


def test_more_than_memory_is_refused_before_it_is_read(tmp_path, monkeypatch):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**42)
    refused(lambda: read_bytes(tmp_path / "sparse"), "is larger than")
    (tmp_path / "file").write_bytes(bytes(2000))
    refused(lambda: read_bytes(tmp_path / "file", most=1999), "is larger than")
    monkeypatch.setattr(reading, "available_bytes", lambda: 1000)
    assert read_bytes(tmp_path / "file") == bytes(2000)  # what is said to be free leaves out what can be reclaimed
    monkeypatch.setattr(reading, "ALWAYS_READ", 0)
    refused(lambda: read_bytes(tmp_path / "file"), "is larger than")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "file").chmod(0)
    refused(lambda: read_bytes(tmp_path / "file"), "cannot be read (Permission denied)")


def test_the_name_and_the_blame_are_added():
    for blame in (InputError, CorruptedFile):
        with pytest.raises(blame, match=r"^some/file is missing$"), blaming("some/file", blame):
            raise Unreadable("is missing")


# Text


def test_text_is_utf_8():
    assert as_text("μ = 1".encode()) == "μ = 1"
    assert as_text("\ufeffx1".encode()) == "x1"
    refused(lambda: as_text("x1".encode("utf-16")), "UTF-16; save it as UTF-8")
    refused(lambda: as_text("x1".encode("utf-16-le")), "null byte")
    refused(lambda: as_text(b"1,2\xff"), "not text in UTF-8 (byte 3)")


# JSON


def test_json_becomes_what_the_schema_says():
    assert parse_json(b'{"width": 3, "rate": 2, "sides": [1, null, 2.5], "other": []}', Size) == Size(
        3, 2.0, (1.0, None, 2.5)
    )


MALFORMED = {
    "empty": b"",
    "cut off": b'{"width": 3',
    "a list": b"[]",
    "nothing": b"null",
    "a missing entry": b"{}",
    "a text": b'{"width": "3"}',
    "a truth value": b'{"width": true}',
    "a fraction": b'{"width": 3.5}',
    "not a number": b'{"width": 3, "rate": NaN}',
    "infinite": b'{"width": 3, "rate": -Infinity}',
    "too large to be finite": b'{"width": 3, "rate": 1e999}',
    "many digits": b'{"width": ' + b"9" * 400 + b"}",
    "more digits than Python reads": b'{"width": ' + b"9" * 5000 + b"}",
    "many digits after a point": b'{"width": 3, "rate": 1' + b"0" * 400 + b".0}",
    "a name twice": b'{"width": 3, "width": 4}',
    "a wrong entry of a list": b'{"width": 3, "sides": [1, "2"]}',
    "deep": b"[" * 200_000,
    "deep objects": b'{"a":' * 200_000,
    "not text": b"\xff\xfe\x00",
    "long text in place of a number": b'{"width": "' + b"x" * 10_000 + b'"}',
}


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
def test_malformed_json_is_refused_in_one_line(content):
    refused(lambda: parse_json(content, Size))


def test_the_entry_that_is_wrong_is_named():
    refused(lambda: parse_json(b'{"width": 3, "sides": [1, "2"]}', Size), "in sides[1]", "`str`")
    refused(lambda: parse_json(b'{"width": true}', Size), "in width", "`bool`")


def test_a_json_file_is_bounded(tmp_path, monkeypatch):
    (tmp_path / "file").write_text(json.dumps({"width": 3}))
    assert read_json(tmp_path / "file", Size) == Size(3)
    monkeypatch.setattr(reading, "LARGEST_JSON", 5)
    refused(lambda: read_json(tmp_path / "file", Size), "is larger than")
