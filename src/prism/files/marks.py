"""Directories that are known to be written by PRISM: by a mark that nobody else writes, never by common file names.

    run/.prism.json      {"written_by": "prism-pde output ...", "format": 1, "kind": "run"}

Only a directory with the mark is ever cleared, and of it only the files that its kind of result consists of. Which
those are is said by a `Layout` in the program, not by the mark: no file on the disk decides what is deleted.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prism.errors import UnusableOutput
from prism.files.encoding import json_text
from prism.files.reading import Unreadable, read_json
from prism.files.storage import LOCK, final_name, write_file

MARK = ".prism.json"
IDENTITY = "prism-pde output 6f0e3a52-9c1d-4e0b-8a57-2d1f7c94b6e8"
FORMAT = 1


@dataclass(frozen=True)
class Mark:
    """.prism.json"""

    written_by: str
    format: int
    kind: str


def read_mark(directory: Path) -> str | None:
    """The kind of result that PRISM wrote into a directory; None without a mark, or with one of another form."""
    try:
        mark = read_json(directory / MARK, Mark)
    except Unreadable:
        return None
    return mark.kind if mark.written_by == IDENTITY and mark.format == FORMAT else None


@dataclass(frozen=True)
class Layout:
    """What one kind of result consists of: regular expressions of its files' paths in the directory, and patterns of
    the directories in it that are replaced as a whole."""

    kind: str
    files: tuple[str, ...]
    whole: tuple[str, ...] = ()

    def holds(self, directory: Path) -> bool:
        """Whether the directory bears the mark of this kind."""
        return read_mark(directory) == self.kind

    def used(self, directory: Path) -> list[str]:
        """What is in a directory, apart from the mark, the lock and what an interrupted write left."""
        names = sorted(entry.name for entry in directory.iterdir()) if directory.is_dir() else []
        return [name for name in names if name not in (MARK, LOCK) and not self._is_left_over(name)]

    def check(self, directory: Path, replace: bool) -> None:
        """Refuse a directory in use, unless it bears the mark and is to be replaced."""
        used = self.used(directory)
        if used and not self.holds(directory):
            raise UnusableOutput(f"cannot write to {directory}: it holds something else than a {self.kind} ({used[0]})")
        if used and not replace:
            raise UnusableOutput(f"{directory} is in use", replaceable=True)
        self.check_whole(directory)

    def check_whole(self, directory: Path) -> None:
        """Refuse files of others in the directories that will be replaced as a whole."""
        for stored in (path for pattern in self.whole for path in directory.glob(pattern) if path.is_dir()):
            for entry in stored.iterdir():
                if not self.owns(entry.relative_to(directory)):
                    raise UnusableOutput(f"{stored} holds {entry.name}, which no {self.kind} wrote")

    def claim(self, directory: Path) -> None:
        """Mark a directory that is free, before anything else is written, and clear a marked one."""
        self.check(directory, replace=True)
        self.mark(directory)
        self.clear(directory)

    def mark(self, directory: Path) -> None:
        """Write the mark, whole or not at all, where it is missing."""
        if not self.holds(directory):
            content = {"written_by": IDENTITY, "format": FORMAT, "kind": self.kind}
            write_file(directory / MARK, (json_text(content, indent=2) + "\n").encode())

    def own_files(self, directory: Path) -> Iterator[Path]:
        """The files of the result, with what interrupted writes of them left; links are not followed."""
        for parent, _, names in os.walk(directory):
            for name in names:
                path = Path(parent, name)
                if self.owns(path.relative_to(directory)) and path.is_file() and not path.is_symlink():
                    yield path

    def clear(self, directory: Path) -> None:
        """Remove the files of the result, then the directories that this has emptied."""
        for path in list(self.own_files(directory)):
            path.unlink()
            for parent in path.relative_to(directory).parents[:-1]:
                with contextlib.suppress(OSError):  # something is left in it
                    (directory / parent).rmdir()

    def owns(self, path: Path) -> bool:
        """Whether a path within the directory is that of a file of the result, or of an interrupted write."""
        final = "/".join(final_name(part) for part in path.parts)
        return any(re.fullmatch(pattern, final) for pattern in self.files) or final == MARK != path.name

    def _is_left_over(self, name: str) -> bool:
        return final_name(name) != name and self.owns(Path(name))
