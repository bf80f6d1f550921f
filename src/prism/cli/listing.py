"""`prism list`: what can be named; `prism list FAMILY`: one family explained."""

import argparse
from collections.abc import Iterator, Mapping

from prism.cli.bench import STUDIES, durations
from prism.cli.explanation import explain, told
from prism.cli.levels.explanation import explain_potential, named_potential, told_of_potential
from prism.cli.levels.options import POTENTIALS, is_potential
from prism.cli.lifts import LIFTS
from prism.cli.names import ESTIMATORS, FAMILIES, LOSSES, OPTIMISERS, PAIRINGS, SPACES, lookup, own_dimension
from prism.cli.own_families import is_own, load_own
from prism.cli.speech import answer
from prism.derivatives.taylor import ACTIVATIONS
from prism.families.two_body import PAIRS
from prism.networks.modulation import MODULATIONS
from prism.numerics.keys import Purpose, stream
from prism.problem.docstrings import docstring
from prism.problem.family import Family

DIMENSION = 100
"""Of the commands that are shown."""


def run(options: argparse.Namespace, _: None) -> int:
    if options.family is not None and is_potential(options.family):
        explained = explain_potential(options.family, named_potential(options.family))
        answer(explained, [] if options.json else told_of_potential(explained), options.json)
        return 0
    if options.family is not None:
        family = named_family(options.family)
        fixed = own_dimension(options.family) is not None
        explained = explain(options.family, family, None if fixed else family.domain.dimension)
        answer(explained, [] if options.json else told(explained), options.json)
        return 0
    tables = {
        "families": {name: docstring(family)[0] for name, family in FAMILIES.items()},
        "potentials": {name: docstring(kind)[0] for name, kind in POTENTIALS.items()},
        "pairs": PAIRS,
        "lifts": LIFTS,
        "estimators": ESTIMATORS,
        "modulations": {name: settings.meaning for name, settings in MODULATIONS.items()},
        "optimisers": {name: (kind.__doc__ or "").splitlines()[0] for name, kind in OPTIMISERS.items()},
        "activations": {name: (kind.__doc__ or "").splitlines()[0] for name, kind in ACTIVATIONS.items()},
        "pairings": dict(zip(PAIRINGS, ("one parameter per point", "all pairs of points and parameters"), strict=True)),
        "losses": dict(zip(LOSSES, ("one estimate squared", "the product of two estimates, unbiased"), strict=True)),
        "spaces": {name: (kind.__doc__ or "").splitlines()[0] for name, kind in SPACES.items()},
        "studies": {name: durations(study) for name, study in STUDIES.items()},
    }
    answer(tables, [] if options.json else _lines(tables), options.json)
    return 0


def named_family(text: str) -> Family:
    """A family to explain, of the catalogue or the user's own."""
    if not is_own(text):
        kind = lookup("family", FAMILIES, text)
        return kind.create(own_dimension(text) or DIMENSION, stream(0, Purpose.PROBLEM))
    own = load_own(text)
    return own.build(own.dimension or DIMENSION)


def _lines(tables: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for title, rows in tables.items():
        yield f"{title}:"
        yield from (f"  {name:21} {meaning}" for name, meaning in rows.items())
