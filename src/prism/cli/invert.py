"""`prism invert`: the physical parameters from noisy values, through a finished run."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prism.cli.levels.queries import invert_from_levels
from prism.cli.loading import holds_levels, load_run
from prism.cli.speech import answer
from prism.cli.tables import Columns, read_observations
from prism.errors import InputError
from prism.files.encoding import json_text
from prism.files.outputs import ResultDirectory
from prism.inversion.estimate import Estimate
from prism.inversion.inference import invert
from prism.inversion.observations import Observations
from prism.problem.points import Domain


def run(options: argparse.Namespace, directory: ResultDirectory | None) -> int:
    known = known_of(options)
    if holds_levels(options):
        return invert_from_levels(options, directory, known)
    solution = load_run(Path(options.run_directory), getattr(options, "family", None))
    files = [Path(name) for name in options.data]
    data = [observations_in(file, solution.family.domain) for file in files]
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


def observations_in(path: Path, domain: Domain) -> Observations:
    """The data of a file."""
    points, values = read_observations(path, Columns.of(domain))
    try:
        return Observations(points, values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def save_results(directory: ResultDirectory, report: dict[str, object], estimates: Sequence[Estimate]) -> None:
    """result.json, and one picture per data set in plots/."""
    from prism.reporting.likelihoods import likelihoods
    from prism.solution.canvas import png

    pictures = [png(likelihoods(estimate)) for estimate in estimates]
    directory.begin()
    directory.write("result.json", (json_text(report, indent=2) + "\n").encode())
    for number, picture in enumerate(pictures, start=1):
        directory.write(f"plots/likelihood-{number}.png", picture)
