"""Tables of numbers from files of any kind: .csv, .npy and .npz, also compressed (.gz, .bz2, .xz)."""

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prism.files.compression import OPENERS, SHARE, decompressed
from prism.files.npy import parse_npy, parse_npz
from prism.files.reading import ALWAYS_READ, Unreadable, as_text, quoted, read_bytes
from prism.numerics.memory import available_bytes

SEPARATORS = {";": "semicolons", "\t": "tabs", " ": "spaces"}


@dataclass(frozen=True)
class Table:
    """Rows of numbers, and the names in the line before them."""

    rows: np.ndarray
    header: tuple[str, ...] | None = None
    is_remark: bool = False
    """Whether the header stands behind a #, and may be no more than a remark."""


def read_table(path: Path, wanted: Collection[str]) -> Table | dict[str, np.ndarray]:
    """A table, or those of the wanted arrays that a .npz file holds."""
    content, suffix = read_bytes(path, max(ALWAYS_READ, available_bytes() // SHARE)), path.suffix.lower()
    if suffix in OPENERS:
        content, suffix = decompressed(content, suffix), Path(path.stem).suffix.lower()
    if suffix == ".npz":
        return parse_npz(content, wanted)
    return Table(parse_npy(content)) if suffix == ".npy" else parse_csv(content)


def parse_csv(content: bytes) -> Table:
    """Rows of numbers between commas, with or without a header; lines behind # and empty ones are passed over."""
    lines = as_text(content).splitlines()
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise Unreadable("is empty")
    header = _header(lines[first])
    rows = lines if header is None else lines[first + 1 :]
    if not any(_entries(line) for line in rows):
        raise Unreadable("holds no rows of numbers")
    try:
        with warnings.catch_warnings(action="error"):
            table = np.loadtxt(rows, delimiter=",", ndmin=2)
    except (ValueError, UserWarning) as error:
        raise Unreadable(_reason(rows, error)) from error
    return Table(table, header, lines[first].lstrip().startswith("#"))


def _header(line: str) -> tuple[str, ...] | None:
    """The names in a line whose first entry is no number; `#` before them does not count."""
    names = tuple(name.strip() for name in line.strip().lstrip("#").split(","))
    return None if _is_number(names[0]) or _separator(line) is not None else names


def _entries(line: str) -> list[str]:
    """What stands between the commas; nothing in an empty line or a remark."""
    told = line.partition("#")[0].strip()
    return [entry.strip() for entry in told.split(",")] if told else []


def _reason(lines: Sequence[str], error: Exception) -> str:
    """The first row that is not one of numbers like those before it."""
    columns = None
    for row, entries in enumerate(filter(None, map(_entries, lines))):
        wrong = next((entry for entry in entries if not _is_number(entry)), None)
        if wrong is not None and (separator := _separator(",".join(entries))) is not None:
            return f"has its columns separated by {separator}; use commas"
        if wrong is not None:
            return f"holds {quoted(wrong)!r} in row {row} (from 0), which is no number"
        if len(entries) != (columns := columns or len(entries)):
            return f"holds {len(entries)} numbers in row {row} (from 0) and {columns} in those before"
    return f"holds no table ({quoted(error)})"


def _separator(line: str) -> str | None:
    """What separates the numbers of a line in place of commas."""
    for separator, name in SEPARATORS.items():
        parts = line.strip().replace(",", ".").split(separator)  # such a comma is a decimal one
        if len(parts) > 1 and all(_is_number(part) for part in parts if part.strip()):
            return name
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
