"""`prism predict`: u at given points and a given μ, from a finished run."""

import argparse
import io
import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from prism.cli.options import resumed_options
from prism.errors import InputError
from prism.files.storage import write_file
from prism.solution.artifacts import Stored, read
from prism.solution.solution import Solution


def run(options: argparse.Namespace) -> int:
    solution = load_run(Path(options.run_directory))
    mu = parse_mu(getattr(options, "mu", []), solution)
    points = read_points(Path(options.points), solution.family.domain.coordinates)
    values = np.asarray(solution(jnp.asarray(points, dtype=float), **mu))
    outside = solution.outside(**mu)
    out = getattr(options, "out", None)
    if out is not None:
        write_values(Path(out), points, values, mu)
    report = {
        "points": len(values),
        "mu": mu,
        "outside": outside,
        "minimum": float(values.min()),
        "maximum": float(values.max()),
        "out": out,
    }
    if getattr(options, "json", False):
        print(json.dumps(report if out is not None else {**report, "values": values.tolist()}))
    else:
        print("\n".join(f"{value:.9g}" for value in values) if out is None else f"{len(values)} values in {out}")
    return 0


def load_run(path: Path) -> Solution:
    """The solution of a finished `prism solve`, in a process that knows nothing but its directory."""
    return solution_of(read_run(path), path)


def read_run(path: Path) -> Stored:
    """What a run stored of its solution."""
    model = path / "model" if (path / "model").is_dir() else path
    if not (model / "manifest.json").is_file():
        raise InputError(f"{path} holds no finished run (no model/); finish it with prism solve --resume {path}")
    return read(model)


def solution_of(stored: Stored, path: Path | str) -> Solution:
    """The solution, of a family that is built in."""
    if stored.problem is None:
        raise InputError(f"{path} is a solution of {stored.kind}, a family of your own; load it with prism.load")
    return stored.solution(resumed_options({}, dict(stored.problem)).build_family())


def parse_mu(given: list[str], solution: Solution) -> dict[str, float]:
    """`mu1=0.7 mu2=1.2`, every parameter once."""
    values = {}
    for text in given:
        name, equals, number = text.partition("=")
        try:
            values[name] = float(number) if equals else float("nan")
        except ValueError:
            raise InputError(f"malformed --mu {text!r}; write NAME=VALUE, such as mu1=0.7") from None
        if not np.isfinite(values[name]):
            raise InputError(f"malformed --mu {text!r}; write NAME=VALUE with a finite number, such as mu1=0.7")
    solution.family.parameters.array(**values)
    return values


def read_points(path: Path, coordinates: int) -> np.ndarray:
    """One point a row, from .npy, or from .csv without a header."""
    try:
        if path.suffix == ".npy":
            points = np.load(path, allow_pickle=False)
        else:
            points = np.loadtxt(path, delimiter=",", ndmin=2)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"cannot read points from {path}: {reason}; give .npy, or .csv of numbers") from error
    if points.ndim == 1:
        points = points[None]
    if points.ndim != 2 or points.shape[1] != coordinates or points.dtype.kind not in "fiu" or not len(points):
        raise InputError(f"{path} holds an array of shape {points.shape}; give rows of {coordinates} numbers")
    if not np.all(np.isfinite(points)):
        row = int(np.argwhere(~np.isfinite(points))[0][0])
        raise InputError(f"{path} holds a number that is not finite, in row {row} (from 0)")
    return points


def write_values(path: Path, points: np.ndarray, values: np.ndarray, mu: dict[str, float]) -> None:
    """.npz with points, u and μ; anything else as .csv with one u a row."""
    content = io.BytesIO()
    if path.suffix == ".npz":
        arrays = {"points": points, "u": values, **{f"mu_{name}": np.asarray(value) for name, value in mu.items()}}
        np.savez(content, allow_pickle=False, **arrays)
    else:
        np.savetxt(content, values, fmt="%.9g", header="u", comments="")
    try:
        write_file(path, content.getvalue())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another --out") from error
