"""`prism list`: what can be named."""

import argparse
from collections.abc import Iterator, Mapping

from prism.cli.lifts import LIFTS
from prism.cli.names import ESTIMATORS, FAMILIES, LOSSES, OPTIMISERS, PAIRINGS, SPACES
from prism.cli.speech import answer
from prism.derivatives.taylor import ACTIVATIONS
from prism.families.two_body import PAIRS
from prism.networks.modulation import MODULATIONS


def run(options: argparse.Namespace, _: None) -> int:
    tables = {
        "families": {name: (family.__doc__ or "").splitlines()[0] for name, family in FAMILIES.items()},
        "pairs": PAIRS,
        "lifts": LIFTS,
        "estimators": ESTIMATORS,
        "modulations": {name: settings.meaning for name, settings in MODULATIONS.items()},
        "optimisers": {name: (kind.__doc__ or "").splitlines()[0] for name, kind in OPTIMISERS.items()},
        "activations": {name: (kind.__doc__ or "").splitlines()[0] for name, kind in ACTIVATIONS.items()},
        "pairings": dict(zip(PAIRINGS, ("one parameter per point", "all pairs of points and parameters"), strict=True)),
        "losses": dict(zip(LOSSES, ("one estimate squared", "the product of two estimates, unbiased"), strict=True)),
        "spaces": {name: (kind.__doc__ or "").splitlines()[0] for name, kind in SPACES.items()},
    }
    answer(tables, [] if options.json else _lines(tables), options.json)
    return 0


def _lines(tables: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for title, rows in tables.items():
        yield f"{title}:"
        yield from (f"  {name:18} {meaning}" for name, meaning in rows.items())
