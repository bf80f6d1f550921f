"""Tables of points and values:  x1,x2,...,t,u  as .csv with or without a header, .npy or .npz, also compressed.

What `predict` writes, `invert` reads: a table with a column u. Columns are told by their names where there is a header,
by their order where there is none.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from prism.errors import InputError
from prism.files.reading import Unreadable
from prism.files.tables import Table, read_table
from prism.problem.points import Domain

VALUE, BEYOND = "u", "outside"
POINTS, VALUES = "points", (VALUE, "values")
"""Names of the arrays of a .npz file."""
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
    points = _checked(path, table, count, fix)
    if values.shape != (len(points),):
        raise InputError(f"{path} holds values of shape {values.shape} for {len(points)} points; {fix}")
    _check_finite(path, values[:, None])
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
        found = read_table(path, (POINTS, *VALUES))
        if isinstance(found, Table):
            return _by_names(found, columns)
        if POINTS not in found:
            raise Unreadable(f"holds no array {POINTS}")
    except Unreadable as error:
        raise InputError(f"cannot read {what}: {path} {error}; {fix}") from error
    return found[POINTS], next((found[name] for name in VALUES if name in found), None)


def _by_names(table: Table, columns: Columns) -> tuple[np.ndarray, np.ndarray | None]:
    """By the names of a header where there is one."""
    header, rows = table.header, table.rows
    if header is None or (table.is_remark and not set(columns.names) <= set(header)):
        return rows, None  # a remark is passed over
    missing = [name for name in columns.names if name not in header]
    if missing or len(set(header)) < len(header) or rows.shape[1] != len(header):
        wrong = f"no column {missing[0]}" if missing else "a header that does not fit its rows"
        raise Unreadable(f"has {wrong}; a header names {columns.describe()} and u")
    column = lambda name: rows[:, header.index(name)]
    values = column(VALUE) if VALUE in header else None
    return np.column_stack([column(name) for name in columns.names]), values


def _checked(path: Path, points: np.ndarray, coordinates: int, fix: str) -> np.ndarray:
    points = points[None] if points.ndim == 1 else points
    if points.ndim != 2 or points.shape[1] != coordinates:
        raise InputError(f"{path} holds an array of shape {points.shape}; {fix}")
    if not len(points):
        raise InputError(f"{path} is empty; {fix}")
    _check_finite(path, points)
    return points


def _check_finite(path: Path, rows: np.ndarray) -> None:
    """Refuse what is not finite, in the file or in the precision in which it is worked with."""
    precision = jnp.zeros(()).dtype
    with np.errstate(over="ignore"):
        wrong = ~np.isfinite(rows.astype(precision)).all(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        where = f" in {precision}" if np.isfinite(rows[row]).all() else ""
        raise InputError(f"{path} holds a number that is not finite{where}, in row {row} (from 0); leave it out")
