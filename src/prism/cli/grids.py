"""`prism predict --grid`: u on a grid of coordinates and parameters, as netCDF."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from prism.cli.loading import holds_levels, load_run, parse_values
from prism.cli.numbers import real_number, repeated, whole_number
from prism.cli.speech import answer
from prism.errors import FailedRun, InputError
from prism.files.outputs import OutputFile

MOST_VALUES = 1_000_000
"""Along one side."""


def predict_grid(options: argparse.Namespace, output: OutputFile | None) -> int:
    """Write the grid, or print its table of contents."""
    if holds_levels(options):
        raise InputError("the levels of a potential have no grid; leave out --grid, or give --points")
    if options.values_only:
        raise InputError("--values-only is for a table of points; a grid names its coordinates once")
    if options.points is not None:
        raise InputError("--points and --grid exclude each other: give the points, or a grid of them")
    if output is not None and output.path.suffix != ".nc":
        raise InputError(f"a grid is written as netCDF, not to {options.out}; give --out FILE.nc")
    sides = parse_grid(options.grid)
    solution = load_run(Path(options.run_directory), getattr(options, "family", None))
    for name, number in parse_values(options.mu or [], solution.family.parameters, complete=False).items():
        if name in sides:
            raise InputError(f"{name} is given by --grid and by --mu; give it once")
        sides[name] = np.asarray(number)
    solution = solution.inside_only() if options.refuse_outside else solution
    found = solution.to_xarray(**sides)
    values = found["u"].to_numpy()
    if not np.all(np.isfinite(values)):
        raise FailedRun(f"u is not finite at {np.sum(~np.isfinite(values)):,} of {values.size:,} points of the grid")
    beyond = int(found["outside"].to_numpy().sum())
    if output is not None:
        output.write(as_netcdf(found))
    report = {
        "points": int(values.size),
        "dimensions": {str(name): int(size) for name, size in found.sizes.items()},
        "variables": [str(name) for name in found.data_vars],
        "outside": beyond,
        "minimum": float(values.min()),
        "maximum": float(values.max()),
        "out": None if output is None else options.out,
    }
    lines = str(found).splitlines() if output is None else [f"{values.size:,} values in {options.out}"]
    answer(report, lines, options.json)
    return 0


def as_netcdf(found: Any) -> bytes:
    """The content of its file."""
    try:
        return bytes(found.to_netcdf())
    except UnicodeEncodeError as error:
        raise InputError(
            "netCDF takes names of ASCII letters alone; give the family's parameters such names"
        ) from error


def parse_grid(given: list[str]) -> dict[str, np.ndarray]:
    """`x1=-1:1:101`, `t=0.3`, `mu1=0.7,1.2`: each name once."""
    sides: dict[str, np.ndarray] = {}
    for text in given:
        name, equals, values = text.partition("=")
        if name in sides:
            raise InputError(f"--grid gives {repeated(name)} twice; give it once")
        try:
            sides[name] = _side(values if equals else "")
        except argparse.ArgumentTypeError as error:
            raise InputError(
                f"malformed --grid {repeated(text)!r} ({error}); write NAME=LOW:HIGH:COUNT, NAME=VALUE or "
                "NAME=VALUE,VALUE, such as x1=-1:1:101"
            ) from None
    return sides


def _side(text: str) -> np.ndarray:
    if ":" not in text:
        numbers = [real_number(part) for part in text.split(",")]
        return np.asarray(numbers if len(numbers) > 1 else numbers[0])
    parts = text.split(":")
    if len(parts) != 3:
        raise argparse.ArgumentTypeError("a range has three parts")
    low, high, count = real_number(parts[0]), real_number(parts[1]), whole_number(parts[2])
    if not 2 <= count <= MOST_VALUES:
        raise argparse.ArgumentTypeError(f"a range has 2 to {MOST_VALUES:,} values")
    return np.linspace(low, high, count)
