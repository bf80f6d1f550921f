"""What `prism predict`, `trust`, `tune`, `invert` and `export` do with the run of a potential."""

import argparse
import math
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from prism.cli.configuration import own_family_again
from prism.cli.levels.options import (
    POTENTIALS,
    given_level_options,
    new_level_options,
    own_potential,
    saved_level_options,
)
from prism.cli.loading import parse_values
from prism.cli.own_families import is_own, load_own
from prism.cli.speech import answer, say
from prism.cli.tables import Columns, encoded, read_points
from prism.eigen.artifacts import StoredLevels, read
from prism.eigen.eigensolution import Eigensolution, double_parameter, restored
from prism.eigen.precise import level_reference
from prism.errors import InputError, NotImproved
from prism.files.encoding import json_text
from prism.files.outputs import OutputFile, ResultDirectory
from prism.files.reading import Unreadable
from prism.files.tables import Table, read_table
from prism.inversion.estimate import Estimate
from prism.reporting.likelihoods import likelihoods
from prism.solution.artifacts import model_directory
from prism.solution.canvas import png


def load_levels(options: argparse.Namespace) -> Eigensolution:
    """The eigensolution of a finished run."""
    return solution_of(*stored_levels(options), options)


def stored_levels(options: argparse.Namespace) -> tuple[StoredLevels, Path]:
    path = Path(options.run_directory)
    return read(model_directory(path)), path


def solution_of(stored: StoredLevels, path: Path, options: argparse.Namespace) -> Eigensolution:
    """Of a potential that is built in, or one that the user names."""
    family, told = getattr(options, "family", None), stored.description
    if told.problem is not None:
        kept = saved_level_options(told.problem, f"the problem in model.json of {path}")
        named = own_family_again(kept.family, kept.family_sha256, family)
        return restored(stored, replace(kept, family=named).build_potential())
    builtin = next((name for name, kind in POTENTIALS.items() if kind.__name__ == told.family), None)
    if family is None or not (is_own(family) or family == builtin):
        name = builtin or "FILE.py:NAME"
        raise InputError(f"{path} is a solution of {told.family} that was made in Python; name it: --family {name}")
    if family == builtin:
        return restored(stored, POTENTIALS[family].create(told.dimension))  # pyright: ignore[reportAttributeAccessIssue]
    return restored(stored, own_potential(load_own(family), told.dimension))


def predict_levels(options: argparse.Namespace, output: OutputFile | None) -> int:
    """Levels and their derivatives at one μ, and log |Ψ| at points where there are some."""
    solution, mu = _asked(options)
    outside = solution.outside(**mu)
    if outside and options.refuse_outside:
        raise InputError(f"{', '.join(outside)} outside the trained box; refused by --refuse-outside")
    report: dict[str, Any] = {
        "mu": mu,
        "outside": outside,
        "levels": refuse_non_finite_levels(solution(**mu), mu),
        "derivatives": {name: one.tolist() for name, one in solution.derivative(**mu).items()},
        "out": None if output is None else options.out,
    }
    lines = [f"level {number}   {value:.12g}" for number, value in enumerate(report["levels"])]
    lines += [f"∂λ0/∂{name}   {one[0]:.9g}" for name, one in report["derivatives"].items()]
    if options.points is not None:
        lines += _waves(options, output, solution, mu, report)
    elif output is not None:
        raise InputError("--out is for values at points; give --points FILE too")
    answer(report, lines, options.json)
    return 0


def refuse_non_finite_levels(levels: np.ndarray, mu: dict[str, float]) -> list[float]:
    """The levels, if they are numbers."""
    if not np.all(np.isfinite(levels)):
        where = ", ".join(f"{name} = {value:g}" for name, value in mu.items())
        raise InputError(f"the levels are not finite at {where}; ask nearer to what was trained")
    return levels.tolist()


def _waves(
    options: argparse.Namespace,
    output: OutputFile | None,
    solution: Eigensolution,
    mu: dict[str, float],
    report: dict[str, Any],
) -> list[str]:
    """sign Ψ and log |Ψ| at the points of a file: in the table, or in the report."""
    columns = Columns.of_space(solution.potential.dimension)
    points = read_points(Path(options.points), columns)
    signs, logs = solution.wave(points, level=0, **mu)
    finite = [float(log) if math.isfinite(log) else None for log in logs]
    if output is None:
        report |= {"points": len(points), "sign": signs.tolist(), "log_psi": finite}
        return [f"{sign:+.0f} exp({log:.9g})" for sign, log in zip(signs, logs, strict=True)]
    written = points[:, :0] if options.values_only else points
    output.write(encoded(output.path.suffix, columns, written, {"sign": signs, "log_psi": logs}, mu))
    report["points"] = len(points)
    return [f"{len(points)} values in {options.out}"]


def trust_levels(options: argparse.Namespace) -> int:
    solution, mu = _asked(options)
    found = solution.trust(**mu)
    refuse_non_finite_levels(np.asarray([found.level]), mu)
    answer(asdict(found), found.describe(), options.json)
    return 0


def tune_levels(options: argparse.Namespace, directory: ResultDirectory) -> int:
    seconds = getattr(options, "seconds", 20.0)
    if not 0.0 < seconds < math.inf:
        raise InputError(f"--seconds {seconds:g} is no budget; give a positive number")
    if hasattr(options, "trains"):
        raise InputError("--trains is of families of PDEs; of a potential all weights are trained, leave it out")
    stored, path = stored_levels(options)
    solution = solution_of(stored, path, options)
    mu = parse_values(options.mu, solution.potential.parameters)
    say(f"tuning at {', '.join(f'{name} = {value:g}' for name, value in mu.items())}")
    tuned = solution.tuned(double_parameter(solution.potential.parameters, mu), seconds)
    refuse_non_finite_levels(np.asarray(tuned.levels_after), mu)
    report = {
        "mu": mu,
        "outside": solution.outside(**mu),
        **{name: value for name, value in vars(tuned).items() if name != "network"},
        "gained": tuned.gained,
        "out": str(directory.path),
    }
    directory.begin()
    solution.at(tuned, mu).save(directory.path / "model", stored.description.problem)
    directory.write("tuning.json", (json_text(report, indent=1) + "\n").encode())
    lines = [
        f"{tuned.steps} steps in {tuned.seconds:.1f} s",
        *(
            f"level {number}   {before:.12g} -> {after:.12g}   lower is nearer to the exact one"
            for number, (before, after) in enumerate(zip(tuned.levels_before, tuned.levels_after, strict=True))
        ),
        f"the solution at this μ is in {directory.path}; prism predict reads it",
    ]
    answer(report, lines, options.json)
    if not tuned.gained:
        warnings.warn(tuned.advice, NotImproved, stacklevel=1)
    return 0


def invert_from_levels(options: argparse.Namespace, directory: ResultDirectory | None, known: dict[str, Any]) -> int:
    """μ from files with the columns level and value."""
    if "physics" in known:
        raise InputError("--physics is of families of PDEs; levels need none, leave it out")
    solution = load_levels(options)
    files = [Path(name) for name in options.data]
    estimates = [solution.invert(read_levels(file), **known) for file in files]
    results = [{"data": str(file), **one.as_json()} for file, one in zip(files, estimates, strict=True)]
    out = None if directory is None else str(directory.path)
    report = {"run": options.run_directory, "estimates": results, "out": out}
    if directory is not None:
        _save_estimates(directory, report, estimates)
    lines = [line for file, one in zip(files, estimates, strict=True) for line in (f"{file}:", *one.summary())]
    answer(report, lines, options.json)
    return 0


def _save_estimates(directory: ResultDirectory, report: dict[str, object], estimates: list[Estimate]) -> None:
    pictures = [png(likelihoods(estimate)) for estimate in estimates]
    directory.begin()
    directory.write("result.json", (json_text(report, indent=2) + "\n").encode())
    for number, picture in enumerate(pictures, start=1):
        directory.write(f"plots/likelihood-{number}.png", picture)


def read_levels(file: Path) -> dict[int, list[float]]:
    """Measured levels by their number, of a .csv with a header `level,value`."""
    how = f"{file}: give a .csv with a header level,value and one measurement in each row, such as 0,71.3"
    try:
        table = read_table(file, ())
    except Unreadable as error:
        raise InputError(f"{how}; {file} {error}") from error
    if not isinstance(table, Table) or table.header != ("level", "value") or table.rows.shape[1] != 2:
        raise InputError(how)
    found: dict[int, list[float]] = {}
    for level, value in table.rows:
        if not (math.isfinite(value) and math.isfinite(level)) or level != int(level) or level < 0:
            raise InputError(f"{how}; {level:g},{value:g} is none")
        found.setdefault(int(level), []).append(float(value))
    return found


def export_levels(options: argparse.Namespace, out: Path) -> int:
    report = load_levels(options).export(out, options.force)
    answer(report, [described_export(report)], options.json)
    return 0


def reference_of_level(options: argparse.Namespace) -> int:
    """The lowest level of a potential at one μ, without a network."""
    chosen = new_level_options(given_level_options(options))
    if getattr(options, "at", None) is not None:
        raise InputError("--at is of families of PDEs; a level has no point, leave it out")
    potential = chosen.build_potential()
    mu = parse_values(options.mu, potential.parameters)
    found = level_reference(potential, double_parameter(potential.parameters, mu))
    report = {"family": chosen.family, "dim": chosen.dim, "mu": mu, **asdict(found)}
    answer(report, [f"{found.value:.12g} ± {found.uncertainty:.1g}   {found.method}"], options.json)
    return 0


def _asked(options: argparse.Namespace) -> tuple[Eigensolution, dict[str, float]]:
    solution = load_levels(options)
    return solution, parse_values(options.mu, solution.potential.parameters)


def described_export(report: dict) -> str:
    """The report for a reader."""
    forms = {"StableHLO": report["stablehlo_difference"], "NumPy": report["numpy_difference"]}
    told = " and ".join(f"{name} within {size:.1e}" for name, size in forms.items() if size is not None)
    return f"{told} of the live solution, relative to its size; {report['out']}/README.md tells how to use it"
