"""Files that are written whole or not at all, and that are detected when damaged.

A stored directory holds its files and a `manifest.json` with the size and SHA-256 of each. It is prepared
under a temporary name, flushed to the disk and renamed, so that an interruption at any moment leaves either
the old content or the new.

One process at a time writes to a parent directory.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from prism.errors import CorruptedFile, InputError

MANIFEST = "manifest.json"
FORMAT = 1
LOCK = ".prism-lock"
"""Lies in a directory while a process writes there, see `prism.files.locks`."""
INCOMPLETE = ".incomplete-"
REPLACED = ".replaced-"
TEMPORARY = re.compile(rf"{re.escape(INCOMPLETE)}(?P<name>.+)-[0-9a-f]{{12}}")


def write_file(path: Path, content: bytes, replace: bool = True) -> None:
    """Write one file; a reader sees the old content or the new, never a part.

    Without `replace` a file that is there already stays, and FileExistsError is raised.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_sibling(path)
    try:
        _write_and_flush(temporary, content)
        os.replace(temporary, path) if replace else _place_new(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_directory(path.parent)


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
    path.parent.mkdir(parents=True, exist_ok=True)
    _restore_replaced(path)
    _refuse_foreign_content(path, files)
    temporary = temporary_sibling(path)
    temporary.mkdir()
    try:
        for name, content in files.items():
            _write_and_flush(temporary / name, content)
        _write_and_flush(temporary / MANIFEST, _manifest(files))
        _flush_directory(temporary)
        if path.exists():
            os.rename(path, _replaced(path))
        os.rename(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        _restore_replaced(path)
        raise
    _flush_directory(path.parent)
    if _replaced(path).exists():
        remove_directory(_replaced(path))


def read_directory(path: Path) -> dict[str, bytes]:
    """Read every file of a stored directory, each checked against the manifest."""
    if not path.exists() and _replaced(path).exists():
        path = _replaced(path)  # the writer stopped between its two renames: the old content is whole
    if not path.is_dir():
        raise InputError(f"there is no directory {path}")
    files: dict[str, bytes] = {}
    for name, expected in _read_manifest(path).items():
        content = _read(path / name)
        if len(content) != expected["bytes"]:
            raise CorruptedFile(f"{path / name} has {len(content)} bytes, not {expected['bytes']}")
        if hashlib.sha256(content).hexdigest() != expected["sha256"]:
            raise CorruptedFile(f"{path / name} is not what was written (its SHA-256 differs)")
        files[name] = content
    return files


def stored_names(path: Path, expected: Iterable[str]) -> set[str]:
    """What was stored in a directory, the manifest with it; by `expected` where that is damaged, but ours."""
    try:
        return {MANIFEST, *_read_manifest(path)}
    except CorruptedFile:
        manifest = path / MANIFEST
        return {MANIFEST, *expected} if manifest.is_file() and b"sha256" in manifest.read_bytes() else set()


def list_directories(parent: Path) -> list[Path]:
    """The stored directories of a parent in the order of their names, unfinished writes left out."""
    if not parent.is_dir():
        return []
    names = {child.name.removeprefix(REPLACED) for child in parent.iterdir() if child.is_dir()}
    return [parent / name for name in sorted(names) if not name.startswith(INCOMPLETE)]


def remove_directory(path: Path) -> None:
    """Delete a stored directory; an interruption leaves an incomplete one, never a damaged one."""
    doomed = temporary_sibling(path)
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
    return json.dumps({"format": FORMAT, "files": entries}, indent=2).encode() + b"\n"


def _read_manifest(directory: Path) -> dict[str, dict[str, Any]]:
    """The manifest's entry of each file, every name and entry checked for its form."""
    path = directory / MANIFEST
    try:
        manifest = json.loads(_read(path), object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise CorruptedFile(f"{path} is malformed ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise CorruptedFile(f"{path} is not a manifest of format {FORMAT}")
    entries = manifest.get("files")
    if not isinstance(entries, dict):
        raise CorruptedFile(f"{path} does not list its files")
    for name, entry in entries.items():
        if not _is_plain_name(name):
            raise CorruptedFile(f"{path} names {name!r}, which is not a plain file name")
        if not isinstance(entry, dict) or not {"sha256", "bytes"} <= entry.keys():
            raise CorruptedFile(f"{path} does not give the size and SHA-256 of {name!r}")
    return entries


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a damaged name could equal its neighbour's and hide a file."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name is repeated")
    return dict(pairs)


def _is_plain_name(name: str) -> bool:
    return name not in ("", ".") and not any(part in name for part in ("/", "\\", "..", "\0"))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise CorruptedFile(f"{path} is missing") from error
    except OSError as error:
        raise CorruptedFile(f"{path} cannot be read ({error.strerror})") from error


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
    with open(path, "xb") as file:
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
