"""Tables of points and values:  x1,x2,...,t,u  as .csv with or without a header, .npy or .npz.

What `predict` writes, `invert` reads: a table with a column u. Columns are told by their names where there is a header,
by their order where there is none.
"""

import io
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prism.errors import InputError
from prism.problem.points import Domain

VALUE, BEYOND = "u", "outside"
MOST_SHOWN = 6


@dataclass(frozen=True)
class Columns:
    """The names of the coordinates of a domain: x1, x2, ... and t."""

    names: tuple[str, ...]

    @staticmethod
    def of(domain: Domain) -> "Columns":
        """Of a point of the domain."""
        space = Columns.of_space(domain.dimension)
        return space if domain.time_horizon is None else Columns((*space.names, "t"))

    @staticmethod
    def of_space(dimension: int) -> "Columns":
        """Of a point without its time."""
        return Columns(tuple(f"x{number}" for number in range(1, dimension + 1)))

    def describe(self) -> str:
        """For a message."""
        shown = self.names if len(self.names) <= MOST_SHOWN else (*self.names[:2], "...", *self.names[-2:])
        return ",".join(shown)


def read_points(path: Path, columns: Columns) -> np.ndarray:
    """One point per row; a column u, as `predict` writes it, is passed over."""
    fix = f"give rows of {len(columns.names)} numbers ({columns.describe()}) as .csv or .npy, or points in .npz"
    table, _ = _read(path, columns, "points", fix)
    return _checked(path, table, len(columns.names), fix)


def read_observations(path: Path, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Points and the value at each: a column u, the last where there is no header; .npz with points and u or values."""
    count = len(columns.names)
    fix = f"give rows of {count} coordinates and a value ({columns.describe()},u) as .csv, or points and u as .npz"
    table, values = _read(path, columns, "observations", fix)
    if values is None:
        if table.ndim != 2 or table.shape[1] != count + 1:
            raise InputError(f"{path} holds a table of shape {table.shape}; {fix}")
        table, values = table[:, :-1], table[:, -1]
    points = _checked(path, table, count, fix, finite=False)
    if values.shape != (len(points),) or values.dtype.kind not in "fiu":
        raise InputError(f"{path} holds values of shape {values.shape} for {len(points)} points; {fix}")
    return points, values


def encoded(
    suffix: str, columns: Columns, points: np.ndarray, found: Mapping[str, np.ndarray], mu: Mapping[str, float]
) -> bytes:
    """.npz with points, what was found there, and μ; anything else as .csv with a header."""
    content = io.BytesIO()
    if suffix == ".npz":
        parameters = {f"mu_{name}": np.asarray(value) for name, value in mu.items()}
        np.savez(content, allow_pickle=False, **({"points": points} if points.size else {}), **found, **parameters)
        return content.getvalue()
    names = [*(columns.names if points.size else ()), *found]
    table = np.column_stack([points, *found.values()]) if points.size else np.column_stack([*found.values()])
    formats = ["%.9g"] * points.shape[1] + ["%d" if values.dtype.kind == "b" else "%.9g" for values in found.values()]
    np.savetxt(content, table, fmt=formats, delimiter=",", header=",".join(names), comments="")
    return content.getvalue()


def _read(path: Path, columns: Columns, what: str, fix: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Points, or a table without names, and the values beside them where they are told apart."""
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                values = next((arrays[name] for name in (VALUE, "values") if name in arrays), None)
                return arrays["points"], values
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False), None
        return _read_csv(path, columns)
    except (OSError, ValueError, KeyError, UserWarning, EOFError, zipfile.BadZipFile) as error:
        reason = (str(error).splitlines() or ["malformed"])[0]
        raise InputError(f"cannot read {what} from {path}: {reason}; {fix}") from error


def _read_csv(path: Path, columns: Columns) -> tuple[np.ndarray, np.ndarray | None]:
    """By the names of a header where there is one; the rows are numbers."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()  # Excel begins its files with a mark
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    header = _header(lines[first]) if lines else None
    with warnings.catch_warnings(action="error"):  # what numpy says of an empty file
        table = np.loadtxt(lines if header is None else lines[first + 1 :], delimiter=",", ndmin=2)
    if header is None or (lines[first].lstrip().startswith("#") and not set(columns.names) <= set(header)):
        return table, None  # a remark is passed over
    missing = [name for name in columns.names if name not in header]
    if missing or len(set(header)) < len(header) or table.shape[1] != len(header):
        wrong = f"no column {missing[0]}" if missing else "a header that does not fit its rows"
        raise ValueError(f"{wrong}; a header names {columns.describe()} and u")
    column = lambda name: table[:, header.index(name)]
    values = column(VALUE) if VALUE in header else None
    return np.column_stack([column(name) for name in columns.names]), values


def _header(line: str) -> list[str] | None:
    """The names in a line whose first entry is no number; `#` before them does not count."""
    names = [name.strip() for name in line.strip().lstrip("#").split(",")]
    try:
        float(names[0])
    except ValueError:
        return names
    return None


def _checked(path: Path, points: np.ndarray, coordinates: int, fix: str, finite: bool = True) -> np.ndarray:
    points = points[None] if points.ndim == 1 else points
    if points.ndim != 2 or points.shape[1] != coordinates or points.dtype.kind not in "fiu":
        raise InputError(f"{path} holds an array of shape {points.shape}; {fix}")
    if not len(points):
        raise InputError(f"{path} is empty; {fix}")
    if finite and not np.all(np.isfinite(points)):
        row = int(np.argwhere(~np.isfinite(points))[0][0])
        raise InputError(f"{path} holds a number that is not finite, in row {row} (from 0)")
    return points
