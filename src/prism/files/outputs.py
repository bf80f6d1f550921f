"""Where a command writes: every place is tried before the work, and left as it was where it is refused."""

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from prism.errors import UnusableOutput
from prism.files.locks import locked
from prism.files.marks import Layout
from prism.files.reading import KINDS
from prism.files.storage import LOCK, stored_names, temporary_sibling, write_file
from prism.files.unfinished import undivided, unfinished


@contextlib.contextmanager
def reserved(directory: Path) -> Iterator[None]:
    """Try a directory by making it, and hold its lock; one that is made for this and stays empty goes again."""
    with contextlib.ExitStack() as stack:
        with _refusing(directory):
            check_directory(directory)
            _make(directory, stack)
            stack.enter_context(locked(directory))
        yield


@dataclass(frozen=True)
class ResultDirectory:
    """A directory for one result of a command, which is reserved while it is used."""

    path: Path
    layout: Layout

    @staticmethod
    @contextlib.contextmanager
    def reserved(path: Path, layout: Layout, replace: bool) -> Iterator["ResultDirectory"]:
        """A place that is free, or holds an earlier result of the same layout that is to be replaced."""
        with reserved(path):
            layout.check(path, replace)
            yield ResultDirectory(path, layout)

    def begin(self) -> None:
        """Mark the directory and clear it of an earlier result, once there is a new one to write."""
        self.layout.claim(self.path)

    def write(self, name: str, content: bytes) -> None:
        write_file(self.path / name, content)


@dataclass(frozen=True)
class OutputFile:
    """A regular file that may be written, in place of an earlier one only where that was asked for."""

    path: Path
    replace: bool

    @staticmethod
    def tried(path: Path, inputs: Iterable[Path], replace: bool) -> "OutputFile":
        """Refuse what exists (unless replaced), what is no regular file, what is read, and what cannot be written."""
        with _refusing(path):
            if os.path.lexists(path):
                _check_existing(path, inputs, replace)
            target = path.resolve()  # a link stays, and what it names is written
            check_directory(path.parent, path)
            with contextlib.ExitStack() as stack:
                _make(target.parent, stack)
                trial = temporary_sibling(target)
                with undivided():
                    trial.touch(exist_ok=False)
                    trial.unlink()
        return OutputFile(target, replace)

    def write(self, content: bytes) -> None:
        try:
            write_file(self.path, content, self.replace)
        except FileExistsError:
            raise UnusableOutput(f"{self.path} exists", replaceable=True) from None


def _check_existing(path: Path, inputs: Iterable[Path], replace: bool) -> None:
    if not path.exists():
        raise UnusableOutput(f"cannot write to {path}: it is a link to nothing")
    if not path.is_file():
        kind = KINDS.get(stat.S_IFMT(path.stat().st_mode), "something")
        raise UnusableOutput(f"cannot write to {path}: it is {kind}, not a regular file")
    for file in inputs:
        if file.exists() and path.samefile(file):
            raise UnusableOutput(f"cannot write to {path}: it is the input {file}")
    if not replace:
        raise UnusableOutput(f"{path} exists", replaceable=True)


def check_directory(path: Path, asked: Path | None = None) -> None:
    """Refuse a path that is no directory and cannot be made one, in the name of what was asked for; nothing is made."""
    asked = asked or path
    nearest = next(place for place in (path, *path.absolute().parents) if os.path.lexists(place))
    if not nearest.is_dir():
        what = "a link to nothing" if not nearest.exists() else "a file" if nearest.is_file() else "not a directory"
        raise UnusableOutput(f"cannot write to {asked}: {'it' if nearest == asked else nearest} is {what}")


def check_export(path: Path, force: bool, files: set[str], module: str) -> None:
    """Refuse a path in use; when forced, an earlier export of these files may be replaced, and nothing else. `module`
    is the one of them that Python imports."""
    check_directory(path)
    entries = {entry.name for entry in path.iterdir()} - {LOCK} if path.is_dir() else set()
    exported = files & stored_names(path, files) if entries else set()
    compiled = {"__pycache__"} if module in exported else set()  # left by an import of the earlier export
    if foreign := sorted(entries - exported - compiled):
        raise UnusableOutput(f"{path} holds {foreign[0]}, which is no part of an export")
    if entries and not force:
        raise UnusableOutput(f"{path} is in use", replaceable=True)


def _make(directory: Path, stack: contextlib.ExitStack) -> None:
    """Make a directory with its parents; the stack removes those that were missing, where they are still empty."""
    missing = [place for place in (directory, *directory.absolute().parents) if not os.path.lexists(place)]
    for place in reversed(missing):
        with contextlib.suppress(FileExistsError):  # made by another process just now
            stack.enter_context(unfinished(lambda place=place: _remove_empty(place)))
            with undivided():
                place.mkdir()
            stack.callback(_remove_empty, place)


def _remove_empty(directory: Path) -> None:
    with contextlib.suppress(OSError):
        directory.rmdir()


@contextlib.contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """What the system says against a place, as the caller's mistake."""
    try:
        yield
    except OSError as error:
        raise UnusableOutput(f"cannot write to {path}: {error.strerror or error}") from error
