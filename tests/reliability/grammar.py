"""Malformed and odd calls of every command, drawn with a seed."""

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np
from reliability import edits, families, options, tables
from reliability.cases import Case

FILES = (tables.draw, edits.draw, families.draw)
PRODUCTIONS = [
    draw
    for number, call in enumerate(options.CALLS)
    for draw in (partial(options.draw, call=options.CALLS[call]), FILES[number % len(FILES)])
]
"""The options of every command by turns, and a file of each kind between them."""


def cases(seed: int) -> Iterator[Case]:
    """Without end, and none twice."""
    random, seen = np.random.default_rng(seed), set()
    for draw in itertools.cycle(PRODUCTIONS):
        case = draw(random)
        if (case.arguments, case.note) not in seen:
            seen.add((case.arguments, case.note))
            yield case
