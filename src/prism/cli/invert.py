"""`prism invert`: the physical parameters from noisy values, through a finished run."""

import argparse
import json
import math
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from prism.cli.loading import load_run
from prism.cli.speech import answer
from prism.errors import InputError
from prism.files.outputs import ResultDirectory
from prism.inversion.estimate import Estimate
from prism.inversion.inference import invert
from prism.inversion.observations import Observations


def run(options: argparse.Namespace, directory: ResultDirectory | None) -> int:
    known = known_of(options)
    solution, files = load_run(Path(options.run_directory)), [Path(name) for name in options.data]
    data = [read_observations(file, solution.family.domain.coordinates) for file in files]
    estimates = invert(solution, data, **known)
    results = [{"data": str(file), **one.as_json()} for file, one in zip(files, estimates, strict=True)]
    out = None if directory is None else str(directory.path)
    report = {"run": options.run_directory, "estimates": results, "out": out}
    if directory is not None:
        save_results(directory, report, estimates)
    titles = [[f"{file}:"] if len(files) > 1 else [] for file in files]
    lines = [line for title, one in zip(titles, estimates, strict=True) for line in (*title, *one.summary())]
    answer(report, lines, options.json)
    return 0


def known_of(options: argparse.Namespace) -> dict[str, Any]:
    """What was said about the data: --noise, --model-error, --physics."""
    known = {name: getattr(options, name) for name in ("noise", "model_error", "physics") if hasattr(options, name)}
    for name, value in known.items():
        option = f"--{name.replace('_', '-')} {value:g}"
        if name == "noise" and not 0.0 < value < math.inf:
            raise InputError(f"{option} is no standard deviation; give a positive number, or leave it out")
        if not 0.0 <= value < math.inf:
            raise InputError(f"{option} is out of range; give 0 or a positive number")
    return known


def read_observations(path: Path, coordinates: int) -> Observations:
    """One observation per row, the coordinates and then the value, from .csv without a header; or .npz with both."""
    shape = f"give rows of {coordinates} coordinates and a value (.csv), or points and values (.npz)"
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                points, values = arrays["points"], arrays["values"]
        else:
            with warnings.catch_warnings(action="error"):  # what numpy says of an empty file
                table = np.loadtxt(path, delimiter=",", ndmin=2)
            points, values = table[:, :-1], table[:, -1]
    except (OSError, ValueError, KeyError, UserWarning, zipfile.BadZipFile) as error:
        raise InputError(f"cannot read observations from {path}: {str(error).splitlines()[0]}; {shape}") from error
    if not len(values):
        raise InputError(f"{path} is empty; {shape}")
    if points.ndim != 2 or points.shape[1] != coordinates or points.dtype.kind not in "fiu":
        raise InputError(f"{path} holds points of shape {points.shape}; {shape}")
    try:
        return Observations(points, values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def save_results(directory: ResultDirectory, report: dict[str, object], estimates: Sequence[Estimate]) -> None:
    """result.json, and one picture per data set in plots/."""
    from prism.reporting.likelihoods import likelihoods
    from prism.reporting.plots import png

    pictures = [png(likelihoods(estimate)) for estimate in estimates]
    directory.begin()
    directory.write("result.json", (json.dumps(report, indent=2) + "\n").encode())
    for number, picture in enumerate(pictures, start=1):
        directory.write(f"plots/likelihood-{number}.png", picture)
