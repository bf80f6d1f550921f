"""Finished runs, and the μ to ask them at."""

import argparse
import math
from argparse import ArgumentTypeError
from pathlib import Path

from prism.cli.configuration import resumed_options
from prism.cli.names import FAMILIES
from prism.cli.numbers import real_number, repeated
from prism.cli.options import SolveOptions
from prism.cli.own_families import is_own, load_own
from prism.eigen.artifacts import is_eigensolution
from prism.errors import InputError
from prism.numerics.compilation import keep_programs
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace
from prism.reporting.records import RUN
from prism.solution.artifacts import Stored, model_directory, read
from prism.solution.solution import Solution, restored


def holds_levels(options: argparse.Namespace) -> bool:
    """Whether the run that is asked is one of a potential."""
    keep_programs()
    return is_eigensolution(model_directory(Path(options.run_directory)))


def load_run(path: Path, family: str | None = None) -> Solution:
    """The solution of a finished run, in a process that knows nothing but its directory, and the family where that is
    one of the user's own."""
    return solution_of(read_run(path), path, family)


def read_run(path: Path) -> Stored:
    """What a run stored of its solution; what is compiled for it is kept for the next command."""
    keep_programs()
    try:
        model = model_directory(path)
        stored = (model / "manifest.json").is_file()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give the directory of a finished run") from error
    if not stored:
        raise InputError(missing_run(path))
    return read(model)


def missing_run(path: Path) -> str:
    """What a directory lacks in which no solution is stored, and what to do about it."""
    if not path.is_dir():
        return f"there is no directory {path}; give that of a finished run, which prism solve --out made"
    if RUN.holds(path) and (path / "config.json").is_file():
        return f"{path} holds a run that is not finished (no model/); finish it with prism solve --resume {path}"
    return f"{path} holds no run; give the directory of a finished one, which prism solve --out made"


def solution_of(stored: Stored, path: Path | str, family: str | None = None) -> Solution:
    """The solution, of a family that is built in, or of one that the user names."""
    if stored.problem is None:
        return restored(stored, _named_family(stored, path, family))
    given = {} if family is None else {"family": family}
    chosen = resumed_options(given, stored.problem, f"the problem in model.json of {path}")
    return restored(stored, chosen.build_family())


def _named_family(stored: Stored, path: Path | str, family: str | None) -> Family:
    """The family of a solution that was made in Python."""
    catalogue = next((name for name, kind in FAMILIES.items() if kind.__name__ == stored.kind), None)
    if family is None or not (is_own(family) or family == catalogue):
        name = catalogue or "FILE.py:NAME"
        raise InputError(f"{path} is a solution of {stored.kind} that was made in Python; name it: --family {name}")
    if family == catalogue and stored.dimension is not None:
        return SolveOptions(family, stored.dimension).build_family()  # its coefficients are those that are stored
    own = load_own(family)
    dimension = own.dimension if stored.dimension is None else stored.dimension
    if dimension is None:
        raise InputError(f"{path} does not say its dimension; load it in Python with prism.load")
    return own.build(dimension)


def parse_mu(given: list[str], solution: Solution) -> dict[str, float]:
    """The μ to ask a solution at."""
    return parse_values(given, solution.family.parameters)


def parse_values(given: list[str], parameters: ParameterSpace, complete: bool = True) -> dict[str, float]:
    """`mu1=0.7 mu2=1.2`, every parameter once; only some of them, unless `complete`."""
    values: dict[str, float] = {}
    for text in given:
        name, equals, number = text.partition("=")
        malformed = f"malformed --mu {repeated(text)!r}; write NAME=VALUE with a finite number, such as mu1=0.7"
        if name in values:
            raise InputError(f"--mu gives {repeated(name)} twice; give it once")
        try:
            values[name] = real_number(number) if equals else math.nan
        except ArgumentTypeError as error:
            raise InputError(f"{malformed} ({error})") from None
        if not math.isfinite(values[name]):
            raise InputError(malformed)
    known = {name: 0.0 for name in parameters.names if not complete}
    parameters.array(**{**known, **values})
    return values
