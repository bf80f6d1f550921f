"""`prism tune`: a run's solution adapted to one μ, stored as a solution of its own."""

import argparse
import math
import warnings
from pathlib import Path

from prism.cli.levels.queries import tune_levels
from prism.cli.loading import holds_levels, parse_mu, read_run, solution_of
from prism.cli.names import TUNABLE, lookup
from prism.cli.speech import answer, say
from prism.errors import InputError, NotImproved
from prism.files.encoding import json_text
from prism.files.outputs import ResultDirectory
from prism.networks.model import Model
from prism.numerics.keys import Purpose, stream
from prism.problem.family import Family
from prism.shapes import Parameter
from prism.solution.artifacts import save
from prism.solution.evaluation import error_at, shown_factor
from prism.solution.tuning import fine_tune

DEFAULT = "all"


def run(options: argparse.Namespace, directory: ResultDirectory) -> int:
    if holds_levels(options):
        return tune_levels(options, directory)
    trains, seconds = getattr(options, "trains", DEFAULT), getattr(options, "seconds", 20.0)
    parts = lookup("part to train", TUNABLE, trains)
    if not 0.0 < seconds < math.inf:
        raise InputError(f"--seconds {seconds:g} is no budget; give a positive number")
    stored = read_run(Path(options.run_directory))
    solution = solution_of(stored, options.run_directory, getattr(options, "family", None))
    named = parse_mu(options.mu, solution)
    mu, family = solution.family.parameters.array(**named), solution.family
    say(f"tuning {trains} at {', '.join(f'{name} = {value:g}' for name, value in named.items())}")
    tuned = fine_tune(solution.model, family, mu, parts, seconds)
    error = lambda model: known_error(model, family, mu)
    report = {
        "mu": named,
        "outside": solution.outside(**named),
        "trains": trains,
        **{name: value for name, value in vars(tuned).items() if name != "model"},
        "gained": tuned.gained,
        "error_before": error(solution.model),
        "error_after": error(tuned.model),
        "out": str(directory.path),
    }
    directory.begin()
    save(tuned.model, family, directory.path / "model", stored.problem, named)
    directory.write("tuning.json", (json_text(report, indent=1) + "\n").encode())
    answer(report, describe(report), options.json)
    if not tuned.gained:
        warnings.warn(tuned.advice, NotImproved, stacklevel=1)
    return 0


def known_error(model: Model, family: Family, mu: Parameter) -> float | None:
    """The relative L2 error at μ; None where the exact solution is not known there."""
    if not family.has_exact:
        return None
    error = error_at(model, family, mu, stream(0, Purpose.EVALUATION))
    return error if math.isfinite(error) else None


def describe(report: dict) -> list[str]:
    """The report for a reader."""
    lines = [
        f"{report['unknowns']} numbers, {report['steps']} steps in {report['seconds']:.1f} s "
        f"({report['seconds_per_step'] * 1e3:.0f} ms per step)",
        f"scaled residual   {report['residual_before']:.3e} -> {report['residual_after']:.3e}   on points not fitted",
    ]
    if report["error_before"] is not None and report["error_after"] is not None:
        before, after = report["error_before"], report["error_after"]
        factor = f"   {shown_factor(before / after)} times less" if after > 0.0 else ""
        lines.append(f"relative L2 error {before:.3e} -> {after:.3e}{factor}")
    return [*lines, f"the solution at this μ is in {report['out']}; prism predict reads it"]
