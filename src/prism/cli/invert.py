"""`prism invert`: the physical parameters from noisy values, through a finished run."""

import argparse
import json
import sys
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from prism.cli.predict import load_run
from prism.errors import InputError
from prism.files.storage import write_file
from prism.inversion.estimate import Estimate
from prism.inversion.inference import invert
from prism.inversion.observations import Observations


def run(options: argparse.Namespace) -> int:
    out = None if getattr(options, "out", None) is None else Path(options.out)
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"cannot write to {out}: it is a file; choose another --out")
    solution, files = load_run(Path(options.run_directory)), [Path(name) for name in options.data]
    data = [read_observations(file, solution.family.domain.coordinates) for file in files]
    known = {name: getattr(options, name) for name in ("noise", "model_error", "physics") if hasattr(options, name)}
    estimates = invert(solution, data, **known)
    as_json = getattr(options, "json", False)
    for file, estimate in zip(files, estimates, strict=True):
        title = [f"{file}:"] if len(files) > 1 else []
        print("\n".join([*title, *estimate.summary()]), file=sys.stderr if as_json else sys.stdout)
    results = [{"data": str(file), **one.as_json()} for file, one in zip(files, estimates, strict=True)]
    report = {"run": options.run_directory, "estimates": results, "out": None if out is None else str(out)}
    if out is not None:
        save_results(out, report, estimates)
    if as_json:
        print(json.dumps(report))
    return 0


def read_observations(path: Path, coordinates: int) -> Observations:
    """A row an observation, the coordinates and then the value, from .csv without a header; or .npz with both."""
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


def save_results(out: Path, report: dict[str, object], estimates: Sequence[Estimate]) -> None:
    """result.json, and one picture a data set in plots/."""
    from prism.reporting.likelihoods import likelihoods
    from prism.reporting.plots import png

    write_file(out / "result.json", (json.dumps(report, indent=2) + "\n").encode())
    for number, estimate in enumerate(estimates, start=1):
        write_file(out / "plots" / f"likelihood-{number}.png", png(likelihoods(estimate)))
