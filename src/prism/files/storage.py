"""Files that are written whole or not at all, and that are detected when damaged.

A stored directory holds its files and a `manifest.json` with the size and SHA-256 of each. It is prepared
under a temporary name, flushed to the disk and renamed, so that an interruption at any moment leaves either
the old content or the new.

One process at a time writes to a parent directory.
"""

import contextlib
import errno
import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from prism.errors import CorruptedFile, InputError
from prism.files.encoding import json_text
from prism.files.reading import LARGEST_JSON, Unreadable, blaming, parse_json, read_bytes
from prism.files.unfinished import undivided, unfinished

MANIFEST = "manifest.json"
FORMAT = 1
LOCK = ".prism-lock"
"""Lies in a directory while a process writes there, see `prism.files.locks`."""
INCOMPLETE = ".incomplete-"
REPLACED = ".replaced-"
TEMPORARY = re.compile(rf"{re.escape(INCOMPLETE)}(?P<name>.+)-[0-9a-f]{{12}}")


@dataclass(frozen=True)
class Entry:
    """What the manifest says of a file."""

    sha256: str
    bytes: int


@dataclass(frozen=True)
class Manifest:
    """manifest.json"""

    format: int
    files: dict[str, Entry]


def write_file(path: Path, content: bytes, replace: bool = True) -> None:
    """Write one file; a reader sees the old content or the new, never a part.

    Without `replace` a file that is there already stays, and FileExistsError is raised.
    """
    make_directory(path.parent)
    temporary = temporary_sibling(path)
    with unfinished(lambda: temporary.unlink(missing_ok=True)):
        _write_and_flush(temporary, content)
        os.replace(temporary, path) if replace else _place_new(temporary, path)
    _flush_directory(path.parent)


def make_directory(path: Path) -> None:
    """Make a directory with its parents, where they are missing; never while the process ends."""
    with undivided():
        path.mkdir(parents=True, exist_ok=True)


def append_line(path: Path, line: str) -> None:
    """Add a line to a record of what happens; one that a crash cuts off is left to its reader."""
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def _place_new(temporary: Path, path: Path) -> None:
    """Give a file its name unless another has it: in one act where the file system knows hard links."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        os.rename(temporary, path)
    else:
        temporary.unlink()


def write_directory(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a directory of files with its manifest, in place of an earlier one if there is one."""
    for name in files:
        if not _is_plain_name(name) or name == MANIFEST:
            raise InputError(f"{name!r} cannot be stored: use a plain file name other than {MANIFEST!r}")
    path = path.resolve()
    make_directory(path.parent)
    _restore_replaced(path)
    _refuse_foreign_content(path, files)
    temporary = temporary_sibling(path)

    def undo() -> None:
        with contextlib.suppress(FileNotFoundError):  # it was never made, or has its name
            remove_directory(temporary)
        _restore_replaced(path)

    with unfinished(undo):
        _fill(temporary, files)
        with undivided():
            if path.exists():
                os.rename(path, _replaced(path))
            os.rename(temporary, path)
        _flush_directory(path.parent)
        if _replaced(path).exists():
            remove_directory(_replaced(path))


def _fill(directory: Path, files: Mapping[str, bytes]) -> None:
    """A new directory of files with their manifest, all of it on the disk."""
    with undivided():
        directory.mkdir()
    for name, content in files.items():
        _write_and_flush(directory / name, content)
    _write_and_flush(directory / MANIFEST, _manifest(files))
    _flush_directory(directory)


def read_directory(path: Path) -> dict[str, bytes]:
    """Read every file of a stored directory, each checked against the manifest."""
    path = _whole(path)
    if not path.is_dir():
        raise InputError(f"there is no directory {path}")
    return {name: _read_checked(path / name, entry) for name, entry in _read_manifest(path).items()}


def read_stored(path: Path, name: str) -> bytes:
    """One file of a stored directory, checked against the manifest."""
    path = _whole(path)
    entries = _read_manifest(path)
    if name not in entries:
        raise CorruptedFile(f"{path / MANIFEST} does not list {name}")
    return _read_checked(path / name, entries[name])


def _whole(path: Path) -> Path:
    """Where a directory is: set aside, where its writer stopped between two renames."""
    return _replaced(path) if not path.exists() and _replaced(path).exists() else path


def _read_checked(path: Path, expected: Entry) -> bytes:
    with blaming(path, CorruptedFile):
        content = read_bytes(path)
    if len(content) != expected.bytes:
        raise CorruptedFile(f"{path} has {len(content)} bytes, not {expected.bytes}")
    if hashlib.sha256(content).hexdigest() != expected.sha256:
        raise CorruptedFile(f"{path} is not what was written (its SHA-256 differs)")
    return content


def stored_names(path: Path, expected: Iterable[str]) -> set[str]:
    """What was stored in a directory, the manifest with it; by `expected` where that is damaged, but ours."""
    try:
        return {MANIFEST, *_read_manifest(path)}
    except CorruptedFile:
        return {MANIFEST, *expected} if b"sha256" in _damaged_manifest(path) else set()


def _damaged_manifest(directory: Path) -> bytes:
    """What is left of it."""
    try:
        return read_bytes(directory / MANIFEST, LARGEST_JSON)
    except Unreadable:
        return b""


def list_directories(parent: Path) -> list[Path]:
    """The stored directories of a parent in the order of their names, unfinished writes left out."""
    if not parent.is_dir():
        return []
    names = {child.name.removeprefix(REPLACED) for child in parent.iterdir() if child.is_dir()}
    return [parent / name for name in sorted(names) if not name.startswith(INCOMPLETE)]


def remove_directory(path: Path) -> None:
    """Delete a stored directory; an interruption leaves an incomplete one, never a damaged one."""
    doomed = temporary_sibling(path)
    with unfinished(lambda: shutil.rmtree(doomed, ignore_errors=True)):
        with undivided():
            os.rename(path, doomed)
        shutil.rmtree(doomed)


def remove_incomplete(parent: Path) -> None:
    """Clear what interrupted writes left behind in a directory that no other process writes to."""
    if not parent.is_dir():
        return
    for replaced in list(parent.glob(f"{REPLACED}*")):
        _restore_replaced(parent / replaced.name.removeprefix(REPLACED))
    for leftover in list(parent.glob(f"{INCOMPLETE}*")):
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()


def _manifest(files: Mapping[str, bytes]) -> bytes:
    entries = {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)} for name, content in files.items()
    }
    return json_text({"format": FORMAT, "files": entries}, indent=2).encode() + b"\n"


def _read_manifest(directory: Path) -> dict[str, Entry]:
    """The manifest's entry of each file, every name checked for its form."""
    path = directory / MANIFEST
    with blaming(path, CorruptedFile):
        manifest = parse_json(read_bytes(path, LARGEST_JSON), Manifest)
    if manifest.format != FORMAT:
        raise CorruptedFile(f"{path} is not a manifest of format {FORMAT}")
    for name in manifest.files:
        if not _is_plain_name(name):
            raise CorruptedFile(f"{path} names {name!r}, which is not a plain file name")
    return manifest.files


def _is_plain_name(name: str) -> bool:
    return name not in ("", ".") and not any(part in name for part in ("/", "\\", "..", "\0"))


def _refuse_foreign_content(path: Path, files: Mapping[str, bytes]) -> None:
    """Replace only what was stored here before: never a directory that holds anything else."""
    if not path.exists():
        return
    if not path.is_dir():
        raise InputError(f"{path} is a file: choose another path, or remove it")
    known = {LOCK, *stored_names(path, files)}
    for child in path.iterdir():
        if child.name not in known or child.is_dir():
            raise InputError(f"{path} holds {child.name!r}, which was not stored by PRISM: choose another path")


def temporary_sibling(path: Path) -> Path:
    """The name under which a file or directory is prepared."""
    return path.with_name(f"{INCOMPLETE}{path.name}-{uuid.uuid4().hex[:12]}")


def final_name(name: str) -> str:
    """The name that a file or directory under a temporary one was to get, or had; any other name as it is."""
    if match := TEMPORARY.fullmatch(name):
        name = match["name"]
    return name.removeprefix(REPLACED)


def _replaced(path: Path) -> Path:
    return path.with_name(f"{REPLACED}{path.name}")


def _restore_replaced(path: Path) -> None:
    """Finish an interrupted replacement: put the old directory back, or drop it if the new one is there."""
    replaced = _replaced(path)
    if replaced.exists():
        remove_directory(replaced) if path.exists() else os.rename(replaced, path)


def _write_and_flush(path: Path, content: bytes) -> None:
    with undivided():
        file = open(path, "xb")  # noqa: SIM115 (undivided while it is opened, not while it is filled)
    with file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush_directory(path: Path) -> None:
    """Make renames in a directory durable, where the system lets a directory be opened."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
