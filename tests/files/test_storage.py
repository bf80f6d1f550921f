"""Stored files come back bit for bit, survive interruptions and never hide damage."""

import json
import os
from pathlib import Path

import pytest

from prism.errors import CorruptedFile, InputError, PrismError
from prism.files import storage

FILES = {"state.bin": bytes(range(256)) * 4, "record.json": b'{"loss": 0.5}', "empty": b""}


def names(directory: Path) -> list[str]:
    return sorted(child.name for child in directory.iterdir())


class Interruption(BaseException):
    """Stands for a process that stops at this point."""


def interrupt_at_rename(monkeypatch, number: int) -> None:
    """Let the given rename, and all cleaning up after it, not happen: as a killed process leaves the disk."""
    rename, calls = os.rename, []

    def counted(source, target):
        calls.append(source)
        if len(calls) >= number:
            raise Interruption
        rename(source, target)

    monkeypatch.setattr(os, "rename", counted)
    monkeypatch.setattr(storage.shutil, "rmtree", lambda *args, **options: None)


def full_disk(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


# Single files


def test_write_file_replaces_the_content_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "new" / "result.json"
    storage.write_file(path, b"first")
    storage.write_file(path, b"second")
    assert path.read_bytes() == b"second"
    assert names(path.parent) == ["result.json"]


def test_a_failed_write_file_keeps_the_old_content(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    storage.write_file(path, b"first")
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        storage.write_file(path, b"second")
    assert path.read_bytes() == b"first"
    assert names(tmp_path) == ["result.json"]


# Directories


def test_a_directory_round_trip(tmp_path):
    path = tmp_path / "runs" / "model"
    storage.write_directory(path, FILES)
    assert storage.read_directory(path) == FILES
    assert names(path.parent) == ["model"]
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["format"] == 1
    assert manifest["files"]["empty"]["bytes"] == 0


def test_a_directory_is_replaced_whole(tmp_path):
    path = tmp_path / "model"
    storage.write_directory(path, FILES)
    storage.write_directory(path, {"other": b"new"})
    assert storage.read_directory(path) == {"other": b"new"}
    assert names(path) == ["manifest.json", "other"]
    assert names(tmp_path) == ["model"]


def test_a_symbolic_link_still_points_to_the_replaced_directory(tmp_path):
    storage.write_directory(tmp_path / "model", FILES)
    (tmp_path / "latest").symlink_to("model")
    storage.write_directory(tmp_path / "latest", {"other": b"new"})
    assert (tmp_path / "latest").is_symlink()
    assert storage.read_directory(tmp_path / "model") == {"other": b"new"}


@pytest.mark.parametrize("number", [1, 2])
def test_an_interrupted_replacement_leaves_the_old_content(tmp_path, monkeypatch, number):
    path = tmp_path / "model"
    storage.write_directory(path, FILES)
    with monkeypatch.context() as patched:
        interrupt_at_rename(patched, number)
        with pytest.raises(Interruption):
            storage.write_directory(path, {"other": b"new"})
    assert storage.read_directory(path) == FILES
    assert storage.list_directories(tmp_path) == [path]
    storage.remove_incomplete(tmp_path)
    assert storage.read_directory(path) == FILES
    assert names(tmp_path) == ["model"]


def test_an_interruption_after_the_replacement_leaves_the_new_content(tmp_path, monkeypatch):
    path = tmp_path / "model"
    storage.write_directory(path, FILES)
    with monkeypatch.context() as patched:
        interrupt_at_rename(patched, 3)  # the third would set the old directory aside for deletion
        with pytest.raises(Interruption):
            storage.write_directory(path, {"other": b"new"})
    assert storage.list_directories(tmp_path) == [path]
    storage.remove_incomplete(tmp_path)
    assert storage.read_directory(path) == {"other": b"new"}
    assert names(tmp_path) == ["model"]


def test_a_failed_write_directory_cleans_up(tmp_path, monkeypatch):
    path = tmp_path / "model"
    storage.write_directory(path, FILES)
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        storage.write_directory(path, {"other": b"new"})
    assert storage.read_directory(path) == FILES
    assert names(tmp_path) == ["model"]


def test_leftovers_are_removed_and_nothing_else(tmp_path):
    storage.write_directory(tmp_path / "model", FILES)
    (tmp_path / ".incomplete-model-1").mkdir()
    (tmp_path / ".incomplete-model-1" / "state.bin").write_bytes(b"half")
    (tmp_path / ".incomplete-result.json-1").write_bytes(b"half")
    (tmp_path / "notes").write_text("mine")
    assert storage.list_directories(tmp_path) == [tmp_path / "model"]
    storage.remove_incomplete(tmp_path)
    assert names(tmp_path) == ["model", "notes"]
    storage.remove_incomplete(tmp_path / "absent")
    assert storage.list_directories(tmp_path / "absent") == []


def test_a_directory_with_other_content_is_never_replaced(tmp_path):
    path = tmp_path / "home"
    path.mkdir()
    (path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"thesis\.tex.*choose another path"):
        storage.write_directory(path, FILES)
    assert names(path) == ["thesis.tex"]
    with pytest.raises(InputError, match="is a file"):
        storage.write_directory(path / "thesis.tex", FILES)


@pytest.mark.parametrize("name", ["", "..", "a/b", "../a", "a\\b", "manifest.json"])
def test_only_plain_names_can_be_stored(tmp_path, name):
    with pytest.raises(InputError, match="plain file name"):
        storage.write_directory(tmp_path / "model", {name: b"x"})
    assert names(tmp_path) == []


def test_an_absent_directory_is_the_callers_mistake(tmp_path):
    with pytest.raises(InputError, match="there is no directory"):
        storage.read_directory(tmp_path / "absent")


# Damage


@pytest.mark.parametrize("name", ["state.bin", "record.json", "manifest.json"])
@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 0.99])
def test_a_flipped_byte_is_detected(tmp_path, name, place):
    storage.write_directory(tmp_path / "model", FILES)
    path = tmp_path / "model" / name
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 0x80
    path.write_bytes(content)
    with pytest.raises(CorruptedFile, match=name):
        storage.read_directory(tmp_path / "model")


def test_no_flipped_bit_of_the_manifest_changes_what_is_read(tmp_path):
    """The manifest has no hash of its own: each flip must be detected, or harmless (in white space)."""
    files = {"a": b"one", "b": b"two", "c": b"one"}  # names one bit apart, contents alike
    storage.write_directory(tmp_path / "model", files)
    path = tmp_path / "model" / "manifest.json"
    original = path.read_bytes()
    detected = 0
    for position in range(len(original)):
        for bit in range(8):
            content = bytearray(original)
            content[position] ^= 1 << bit
            path.write_bytes(content)
            try:
                assert storage.read_directory(tmp_path / "model") == files
            except CorruptedFile:
                detected += 1
    white_space = sum(original.count(byte) for byte in b" \n")
    assert detected >= 8 * (len(original) - white_space)


@pytest.mark.parametrize("name", ["state.bin", "record.json", "manifest.json"])
def test_a_truncated_file_is_detected(tmp_path, name):
    storage.write_directory(tmp_path / "model", FILES)
    path = tmp_path / "model" / name
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(CorruptedFile, match=name):
        storage.read_directory(tmp_path / "model")


@pytest.mark.parametrize("name", ["state.bin", "empty", "manifest.json"])
def test_a_missing_file_is_detected(tmp_path, name):
    storage.write_directory(tmp_path / "model", FILES)
    (tmp_path / "model" / name).unlink()
    with pytest.raises(CorruptedFile, match=f"{name} is missing"):
        storage.read_directory(tmp_path / "model")


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "..", ".", "", "a/b"])
def test_a_manifest_cannot_reach_outside_its_directory(tmp_path, name):
    (tmp_path / "secret").write_bytes(b"x")
    storage.write_directory(tmp_path / "model", {"a": b"x"})
    path = tmp_path / "model" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"] = {name: manifest["files"]["a"]}
    path.write_text(json.dumps(manifest))
    with pytest.raises(CorruptedFile, match="not a plain file name"):
        storage.read_directory(tmp_path / "model")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        '{"format": 2, "files": {}}',
        '{"format": 1}',
        '{"format": 1, "files": []}',
        '{"format": 1, "files": {"a": 3}}',
        '{"format": 1, "files": {"a": {"bytes": 1}}}',
    ],
    ids=lambda text: text[:30],
)
def test_a_malformed_manifest_is_detected(tmp_path, text):
    storage.write_directory(tmp_path / "model", {"a": b"x"})
    (tmp_path / "model" / "manifest.json").write_text(text)
    with pytest.raises(CorruptedFile, match=r"manifest\.json"):
        storage.read_directory(tmp_path / "model")


def test_the_errors_are_of_one_kind_and_a_mistake_is_a_value_error():
    assert issubclass(InputError, PrismError)
    assert issubclass(InputError, ValueError)
    assert issubclass(CorruptedFile, PrismError)


def test_files_with_the_right_names_are_not_enough_to_be_replaced(tmp_path):
    (tmp_path / "state.bin").write_text("mine")
    for manifest in (None, "{}", '{"name": "an app"}'):
        if manifest is not None:
            (tmp_path / "manifest.json").write_text(manifest)
        with pytest.raises(InputError, match="not stored by PRISM"):
            storage.write_directory(tmp_path, FILES)
        assert (tmp_path / "state.bin").read_text() == "mine"


def test_a_directory_whose_manifest_is_damaged_is_replaced(tmp_path):
    storage.write_directory(tmp_path / "model", FILES)
    manifest = tmp_path / "model" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-3])
    storage.write_directory(tmp_path / "model", FILES)
    assert storage.read_directory(tmp_path / "model") == FILES
