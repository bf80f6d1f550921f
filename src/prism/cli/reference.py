"""`prism reference`: the solution of a family at one point, computed without a network, with its uncertainty."""

import argparse
import math
from argparse import ArgumentTypeError
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from prism.cli.configuration import given_options, with_own_dimension
from prism.cli.levels.options import is_potential, refuse_level_options
from prism.cli.levels.queries import reference_of_level
from prism.cli.loading import parse_values
from prism.cli.numbers import real_number, repeated
from prism.cli.options import SolveOptions
from prism.cli.speech import answer
from prism.cli.tables import Columns, read_points
from prism.errors import FailedRun, InputError
from prism.numerics.precision import in_double_precision
from prism.problem.family import Family
from prism.references.reference import Reference

ROUNDING = 1e-12
"""Of a closed form in double precision, relative."""


def run(options: argparse.Namespace, _: None) -> int:
    if is_potential(options.family):
        return reference_of_level(options)
    refuse_level_options(options)
    given = with_own_dimension(given_options(options))
    if "dim" not in given:
        raise InputError("no dim given; such as --dim 100")
    chosen = SolveOptions(**given)  # pyright: ignore[reportArgumentType]
    family = chosen.build_checked_family()
    mu = parse_values(options.mu, family.parameters)
    if options.at is None:
        raise InputError("no point given; give --at x=0, or --at x=0,t=0.3 for a family in time")
    x = parse_point(options.at, family)
    found = reference_at(family, x, mu)
    if not math.isfinite(found.value):
        raise InputError(f"no value at --at {options.at} for {' '.join(options.mu)}; are the parameters possible?")
    if not math.isfinite(found.uncertainty):
        raise FailedRun(
            f"the uncertainty of the value at --at {options.at} is not known ({found.method}); take another point"
        )
    report = {
        "family": chosen.family,
        "dim": chosen.dim,
        "mu": mu,
        "at": options.at,
        "value": found.value,
        "uncertainty": found.uncertainty,
        "method": found.method,
    }
    answer(report, [f"{found.value:.12g} ± {found.uncertainty:.1g}   {found.method}"], options.json)
    return 0


def reference_at(family: Family, x: np.ndarray, mu: dict[str, float]) -> Reference:
    """The family's reference, or its closed form."""
    if family.has_reference:
        return family.reference(x, mu)
    if not family.has_exact:
        raise InputError(f"{type(family).__name__} has neither a reference nor an exact solution")
    with jax.enable_x64(True):
        wide = in_double_precision(family)
        value = float(wide.exact(jnp.asarray(x, jnp.float64), wide.parameters.named(wide.parameters.array(**mu))))
    return Reference(value, ROUNDING * abs(value), "closed form")


def parse_point(text: str, family: Family) -> np.ndarray:
    """`x=0,t=0.3`: every space coordinate the same number, or x=FILE with one row of them; t where there is time."""
    parts, text = [part.partition("=") for part in text.split(",")], repeated(text)
    sides = {name: value for name, _, value in parts}
    if len(sides) < len(parts):
        raise InputError(f"--at {text} gives a coordinate twice; give each once")
    wanted = ["x"] if family.domain.time_horizon is None else ["x", "t"]
    if sorted(sides) != sorted(wanted):
        example = ",".join(f"{name}=0" for name in wanted)
        raise InputError(f"malformed --at {text!r}; give {' and '.join(wanted)}, such as --at {example}")
    dimension = family.domain.dimension
    space = _number(text, sides["x"])
    given = lambda: read_points(Path(sides["x"]), Columns.of_space(dimension))[0]
    point = np.full(dimension, space) if space is not None else given()
    if "t" not in sides:
        return point
    time, horizon = _number(text, sides["t"]), family.domain.time_horizon or 0.0
    if time is None or not 0.0 <= time <= horizon:
        raise InputError(f"--at {text}: t is {repeated(sides['t'])}; give a time from 0 to {horizon:g}")
    return np.append(point, time)


def _number(text: str, value: str) -> float | None:
    """The number, or None where it is none, as the name of a file."""
    try:
        float(value)
    except ValueError:
        return None
    try:
        number = real_number(value)
    except ArgumentTypeError as error:
        raise InputError(f"--at {text}: {error}") from None
    return number if math.isfinite(number) else None
