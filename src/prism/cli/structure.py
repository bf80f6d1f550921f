"""`prism structure`: which coordinates interact, read off the equation, and the lift that suits."""

import argparse

from prism.cli.configuration import given_options, with_own_dimension
from prism.cli.lifts import lift_text
from prism.cli.options import SolveOptions
from prism.cli.speech import answer
from prism.errors import InputError
from prism.files.encoding import json_text
from prism.files.outputs import ResultDirectory
from prism.problem.structure import find_structure
from prism.solving.lift_choice import suggested_lift

MOST_PAIRS = 100_000
"""Pairs that structure.json lists."""


def run(options: argparse.Namespace, directory: ResultDirectory) -> int:
    from prism.reporting.structures import structure_picture

    given = with_own_dimension(given_options(options))
    if "dim" not in given:
        raise InputError("no dim given; such as --dim 100")
    chosen = SolveOptions(**given)  # pyright: ignore[reportArgumentType]
    family = chosen.build_checked_family()
    structure = find_structure(family, chosen.seed)
    lift = suggested_lift(structure, family)
    record = {
        "family": chosen.family,
        "dim": chosen.dim,
        "seed": chosen.seed,
        "kind": structure.kind.value,
        "window": structure.window,
        "periodic": structure.periodic,
        "invariant": structure.invariant,
        "probed": structure.probed,
        "pair_count": len(structure.pairs),
        "contrast": structure.contrast,
        "lift": None if lift is None else lift_text(lift),
        "out": str(directory.path),
    }
    directory.begin()
    whole = {**record, "pairs": [list(pair) for pair in structure.pairs[:MOST_PAIRS]]}
    directory.write("structure.json", (json_text(whole, indent=1) + "\n").encode())
    directory.write("structure.png", structure_picture(structure, chosen.family))
    advice = "no lift is suggested; the usual one is dense" if lift is None else f"suggested: --lift {lift_text(lift)}"
    answer(record, [*structure.describe(), advice, f"picture and pairs are in {directory.path}"], options.json)
    return 0
