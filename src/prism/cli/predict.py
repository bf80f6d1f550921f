"""`prism predict`: u at given points and a given μ, from a finished run."""

import argparse
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from prism.cli.grids import predict_grid
from prism.cli.levels.queries import predict_levels
from prism.cli.loading import holds_levels, load_run, parse_mu
from prism.cli.speech import answer
from prism.cli.tables import BEYOND, VALUE, Columns, encoded, read_points
from prism.errors import FailedRun, InputError
from prism.files.outputs import OutputFile


def run(options: argparse.Namespace, output: OutputFile | None) -> int:
    if options.grid is not None:
        return predict_grid(options, output)
    if options.mu is None:
        raise InputError("no μ given; give --mu, such as --mu mu1=0.7 mu2=1.2")
    if holds_levels(options):
        return predict_levels(options, output)
    solution = load_run(Path(options.run_directory), getattr(options, "family", None))
    if options.points is None:
        raise InputError("no points given; give --points FILE, or --grid")
    solution = solution.inside_only() if options.refuse_outside else solution
    mu = parse_mu(options.mu, solution)
    columns = Columns.of(solution.family.domain)
    points = read_points(Path(options.points), columns)
    asked = jnp.asarray(points, dtype=float)
    values = np.asarray(solution(asked, **mu))
    refuse_non_finite(values)
    beyond = solution.is_outside(asked, **mu)
    report: dict[str, object] = {
        "points": len(values),
        "mu": mu,
        "outside": solution.outside(**mu),
        "points_outside": int(solution.limits.points_outside(asked).sum()),
        "minimum": float(values.min()),
        "maximum": float(values.max()),
        "out": None if output is None else options.out,
    }
    written = points[:, :0] if options.values_only else points
    table = lambda suffix: encoded(suffix, columns, written, {VALUE: values, BEYOND: beyond}, mu)
    lines = [f"{value:.9g}" for value in values]
    if output is not None:
        output.write(table(output.path.suffix))
        lines = [f"{len(values)} values in {options.out}"]
    elif options.out is not None and not options.json:
        lines = table(".csv").decode().splitlines()
    elif options.json:
        report, lines = {**report, "values": values.tolist(), "values_outside": beyond.tolist()}, []
    answer(report, lines, options.json)
    return 0


def refuse_non_finite(values: Float[np.ndarray, "n"]) -> None:
    """Refuse values that are not numbers, and say how many of them and which is the first."""
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise FailedRun(
            f"u is not finite at {len(wrong):,} of {len(values):,} points, the first in row {wrong[0]} (from 0)"
        )
