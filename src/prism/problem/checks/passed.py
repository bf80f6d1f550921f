"""Families that passed the checks before are known again by what JAX traced of them, and are not tried anew.

    user's cache / passed-families / SHA-256 of all that decides the checks        an empty file

The trace is what is computed, whatever the code looks like. Where it hides code of the user's (`hides_code`), nothing
is remembered.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from prism import __version__
from prism.files.storage import write_file
from prism.numerics.compilation import cache_directory
from prism.problem.family import Family
from prism.problem.fingerprint import declared_text, traced_under
from prism.problem.traced_programs import hides_code, trace_hash, without_addresses
from prism.shapes import Key

DIRECTORY = "passed-families"
MOST_REMEMBERED = 4096
"""Families; the oldest are forgotten first."""


def digest_of(family: Family, traces: Mapping[str, ClosedJaxpr], key: Key) -> str | None:
    """SHA-256 of all that decides the outcome of the checks; None where the traces hide code of the user's."""
    traces = {**traces, "draws": jax.make_jaxpr(lambda own: _draws(family, own))(key)}
    if any(hides_code(one) for one in traces.values()):
        return None
    parts = [
        repr([(name, trace_hash(one)) for name, one in traces.items()]),
        declared_text(family),
        *(f"{name}: {without_addresses(eqx.tree_pformat(operator))}" for name, operator in family.terms.items()),
        repr(sorted(family.constraint().smooth_fields())),  # without those whose kinks are allowed, and unchecked
        repr([(name, condition.at_every_parameter) for name, condition in family.conditions.items()]),
        str(jax.random.key_data(key).tolist()),
        f"{traced_under()} {__version__} {_version_of_checks()}",
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _draws(family: Family, key: Key) -> list[jax.Array]:
    """A point, a training point and a parameter, drawn as the checks draw them: their trace stands for the laws."""
    domain = family.domain
    return [domain.sample(key), domain.training_point(key, jnp.zeros(())), family.parameters.sample(key)]


def _version_of_checks() -> str:
    """Name, size and date of every file of this folder: changed checks may find what these do not."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return repr([(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files])


def passed_before(digest: str | None) -> bool:
    """Whether a family of this digest has passed."""
    directory = _directory()
    return digest is not None and directory is not None and os.path.isfile(directory / digest)


def remember_passed(digest: str | None) -> None:
    """Keep an empty file of this name. Where it cannot be written, the family is simply checked again."""
    directory = _directory()
    if digest is None or directory is None:
        return
    try:
        write_file(directory / digest, b"")
        _forget_oldest(directory)
    except OSError:
        return


def _directory() -> Path | None:
    cache = cache_directory(os.environ)
    return None if cache is None else cache / DIRECTORY


def _forget_oldest(directory: Path) -> None:
    kept = [entry for entry in directory.iterdir() if re.fullmatch(r"[0-9a-f]{64}", entry.name)]
    if len(kept) > MOST_REMEMBERED:
        for entry in sorted(kept, key=lambda one: one.stat().st_mtime)[: len(kept) - MOST_REMEMBERED]:
            entry.unlink(missing_ok=True)
