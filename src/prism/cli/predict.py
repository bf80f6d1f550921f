"""`prism predict`: u at given points and a given μ, from a finished run."""

import argparse
import io
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from prism.cli.loading import load_run, parse_mu
from prism.cli.speech import answer
from prism.errors import InputError
from prism.files.outputs import OutputFile


def run(options: argparse.Namespace, output: OutputFile | None) -> int:
    solution = load_run(Path(options.run_directory))
    mu = parse_mu(options.mu, solution)
    points = read_points(Path(options.points), solution.family.domain.coordinates)
    values = np.asarray(solution(jnp.asarray(points, dtype=float), **mu))
    report: dict[str, object] = {
        "points": len(values),
        "mu": mu,
        "outside": solution.outside(**mu),
        "minimum": float(values.min()),
        "maximum": float(values.max()),
        "out": None if output is None else options.out,
    }
    lines = [f"{value:.9g}" for value in values]
    if output is not None:
        output.write(encoded(output.path.suffix, points, values, mu))
        lines = [f"{len(values)} values in {options.out}"]
    elif options.json:
        report, lines = {**report, "values": values.tolist()}, []
    answer(report, lines, options.json)
    return 0


def read_points(path: Path, coordinates: int) -> np.ndarray:
    """One point per row, from .npy, or from .csv without a header."""
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


def encoded(suffix: str, points: np.ndarray, values: np.ndarray, mu: dict[str, float]) -> bytes:
    """.npz with points, u and μ; anything else as .csv with one u per row."""
    content = io.BytesIO()
    if suffix == ".npz":
        arrays = {"points": points, "u": values, **{f"mu_{name}": np.asarray(value) for name, value in mu.items()}}
        np.savez(content, allow_pickle=False, **arrays)
    else:
        np.savetxt(content, values, fmt="%.9g", header="u", comments="")
    return content.getvalue()
