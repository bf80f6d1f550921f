"""`prism list`: what can be named."""

import argparse
import json

from prism.cli.names import (
    ACTIVATIONS,
    ESTIMATORS,
    FAMILIES,
    LOSSES,
    MODULATIONS,
    OPTIMISERS,
    PAIRINGS,
    SPACES,
)


def run(options: argparse.Namespace) -> int:
    tables = {
        "families": {name: (family.__doc__ or "").splitlines()[0] for name, family in FAMILIES.items()},
        "estimators": ESTIMATORS,
        "modulations": {
            "film": "γ(μ) ⊙ z + β(μ)",
            "scale": "γ(μ) ⊙ z",
            "shift": "z + β(μ)",
            "concat": "μ's embedding added in every layer, the naive baseline",
            "none": "blind to μ",
        },
        "optimisers": {name: (kind.__doc__ or "").splitlines()[0] for name, kind in OPTIMISERS.items()},
        "activations": {name: (kind.__doc__ or "").splitlines()[0] for name, kind in ACTIVATIONS.items()},
        "pairings": dict(zip(PAIRINGS, ("one parameter a point", "all pairs of points and parameters"), strict=True)),
        "losses": dict(zip(LOSSES, ("one estimate squared", "the product of two estimates, unbiased"), strict=True)),
        "spaces": {name: (kind.__doc__ or "").splitlines()[0] for name, kind in SPACES.items()},
    }
    assert set(tables["modulations"]) == set(MODULATIONS)
    if getattr(options, "json", False):
        print(json.dumps(tables, ensure_ascii=False))
        return 0
    for title, rows in tables.items():
        print(f"{title}:")
        for name, meaning in rows.items():
            print(f"  {name:18} {meaning}")
    return 0
