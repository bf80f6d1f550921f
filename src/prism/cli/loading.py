"""Finished runs, and the μ to ask them at."""

import math
from pathlib import Path

from prism.cli.configuration import resumed_options
from prism.errors import InputError
from prism.numerics.compilation import keep_programs
from prism.problem.parameters import ParameterSpace
from prism.reporting.records import RUN
from prism.solution.artifacts import Stored, read
from prism.solution.solution import Solution


def load_run(path: Path) -> Solution:
    """The solution of a finished `prism solve`, in a process that knows nothing but its directory."""
    return solution_of(read_run(path), path)


def read_run(path: Path) -> Stored:
    """What a run stored of its solution; what is compiled for it is kept for the next command."""
    keep_programs()
    model = path / "model" if (path / "model").is_dir() else path
    if not (model / "manifest.json").is_file():
        raise InputError(missing_run(path))
    return read(model)


def missing_run(path: Path) -> str:
    """What a directory lacks in which no solution is stored, and what to do about it."""
    if not path.is_dir():
        return f"there is no directory {path}; give that of a finished run, which prism solve --out made"
    if RUN.holds(path) and (path / "config.json").is_file():
        return f"{path} holds a run that is not finished (no model/); finish it with prism solve --resume {path}"
    return f"{path} holds no run; give the directory of a finished one, which prism solve --out made"


def solution_of(stored: Stored, path: Path | str) -> Solution:
    """The solution, of a family that is built in."""
    if stored.problem is None:
        raise InputError(f"{path} is a solution of {stored.kind}, a family of your own; load it with prism.load")
    return Solution(*stored.restore(resumed_options({}, dict(stored.problem)).build_family()))


def parse_mu(given: list[str], solution: Solution) -> dict[str, float]:
    """The μ to ask a solution at."""
    return parse_values(given, solution.family.parameters)


def parse_values(given: list[str], parameters: ParameterSpace) -> dict[str, float]:
    """`mu1=0.7 mu2=1.2`, every parameter once."""
    values = {}
    for text in given:
        name, equals, number = text.partition("=")
        try:
            values[name] = float(number) if equals else math.nan
        except ValueError:
            raise InputError(f"malformed --mu {text!r}; write NAME=VALUE, such as mu1=0.7") from None
        if not math.isfinite(values[name]):
            raise InputError(f"malformed --mu {text!r}; write NAME=VALUE with a finite number, such as mu1=0.7")
    parameters.array(**values)
    return values
