"""Families that passed the checks before are known again by what JAX traced of them, and are not tried anew.

    user's cache / checked-families / SHA-256 of all that the checks depend on        an empty file

The trace is what is computed, whatever the code looks like. Where it does not tell all, in calls back to Python and in
functions of the user's own with a rule for their derivatives, nothing is remembered.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, JaxprEqn

from prism import __version__
from prism.files.storage import write_file
from prism.numerics.compilation import cache_directory
from prism.problem.family import Family
from prism.problem.fingerprint import ADDRESS, called_by, programs_in, trace_hash
from prism.problem.user_code import LIBRARIES
from prism.shapes import Key

DIRECTORY = "checked-families"
MOST = 4096
"""Families that are remembered; the oldest are forgotten first."""
PLACE = re.compile(r".* at (?P<file>.+):\d+")
"""Where JAX says that a function is from."""


def mark_of(family: Family, traces: Iterable[ClosedJaxpr], key: Key) -> str | None:
    """The name of all that the checks depend on; None where these traces do not tell it."""
    laws = jax.make_jaxpr(lambda own: _laws(family, own))(key)
    traces = [*traces, laws]
    if any(_hides_code(one) for one in traces):
        return None
    constraint, conditions = family.constraint(), family.conditions
    parts = [
        *(trace_hash(one) for one in traces),
        *(ADDRESS.sub("", eqx.tree_pformat(one, short_arrays=True)) for one in (family.domain, family.parameters)),
        repr(sorted(family.terms)),
        repr(sorted(constraint.smooth_fields())),  # those that may have a kink are not looked at
        repr([(name, condition.at_every_parameter) for name, condition in conditions.items()]),
        str(jax.random.key_data(key).tolist()),
        f"{jax.__version__} {__version__} {jnp.zeros(()).dtype} {_checks()}",
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _hides_code(traced: ClosedJaxpr) -> bool:
    """Whether an operation of a trace stands for the user's own code that the trace does not show."""
    for program in programs_in(traced):
        for equation in program.jaxpr.eqns:
            name = equation.primitive.name
            if "callback" in name or (name.startswith("custom_") and not _is_of_a_library(equation)):
                return True
    return False


def _is_of_a_library(equation: JaxprEqn) -> bool:
    """Whether a function with a rule for its derivatives is PRISM's or a library's, which say their version."""
    places = [PLACE.fullmatch(one.jaxpr.debug_info.func_src_info or "") for one in called_by(equation)]
    return bool(places) and all(place is not None and place["file"].startswith(LIBRARIES) for place in places)


def _laws(family: Family, key: Key) -> list[jax.Array]:
    """Where the checks look."""
    domain = family.domain
    return [domain.sample(key), domain.training_point(key, jnp.zeros(())), family.parameters.sample(key)]


def _checks() -> str:
    """Which checks these are: those of another version may find what these do not."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return repr([(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files])


def was_checked(mark: str | None) -> bool:
    """Whether a family of this mark has passed before."""
    place = _place()
    return mark is not None and place is not None and (place / mark).is_file()


def remember(mark: str | None) -> None:
    """That a family of this mark has passed; where there is no room for it, it is checked again."""
    place = _place()
    if mark is None or place is None:
        return
    try:
        write_file(place / mark, b"")
        _forget_oldest(place)
    except OSError:
        return


def _place() -> Path | None:
    cache = cache_directory(os.environ)
    return None if cache is None else cache / DIRECTORY


def _forget_oldest(place: Path) -> None:
    marks = [entry for entry in place.iterdir() if re.fullmatch(r"[0-9a-f]{64}", entry.name)]
    if len(marks) > MOST:
        for entry in sorted(marks, key=lambda one: one.stat().st_mtime)[: len(marks) - MOST]:
            entry.unlink(missing_ok=True)
