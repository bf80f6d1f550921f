"""What studies share: a trial, the problems they solve, and tables and figures of what came out.

Where steps cost the same, variants get the same number of them, which no load of the machine changes; else the same
seconds, compilation apart: what is compared is the method, not the compiler.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from prism.families import SineGordon
from prism.families.two_body import TwoBodyFamily
from prism.networks.modulation import CONCAT, FILM, NONE, SCALE, SHIFT
from prism.numerics.keys import PROBLEM, stream
from prism.problem.family import Family
from prism.solving.runs import Outcome, execute
from prism.solving.settings import Settings
from prism.training.loop import Budget

Row = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
Tell = Callable[[str], None]

SEEDS = (0, 1, 2)
"""Of problem, network and sampling, in every study that has error bars."""
MODULATIONS = {"film": FILM, "scale": SCALE, "shift": SHIFT, "concat": CONCAT, "none": NONE}


@dataclass(frozen=True)
class Study:
    """One question: `run(full, tell)` measures rows, `summary` makes the table of them, `finding` says in words what
    they show."""

    run: Callable[[bool, Tell], list[Row]]
    figure: Callable[[Sequence[Row]], Figure]
    summary: Callable[[Sequence[Row]], list[Row]] = list
    finding: Callable[[Sequence[Row]], str] | None = None


@dataclass(frozen=True)
class Trial:
    """A name, and the settings it stands for."""

    name: str
    settings: Settings

    def run(self, family: Family, budget: Budget) -> Outcome:
        """What it ended with; an interrupted trial ends the study."""
        outcome = execute(family, self.settings, budget, show=False)
        if outcome.interrupted_by is not None:
            raise KeyboardInterrupt
        return outcome


def problem(dimension: int, scaled: bool = False, seed: int = 0) -> TwoBodyFamily:
    """The benchmark of the studies: Sine-Gordon with the two-body solution."""
    return SineGordon.create(dimension, stream(seed, PROBLEM), scaled)


def changed(family: Family, seed: int = 0, **changes: object) -> Settings:
    """The default settings but for these fields of the architecture."""
    architecture = Settings().completed(family).architecture
    return Settings(architecture=replace(architecture, **changes), seed=seed)  # pyright: ignore[reportArgumentType]


def averaged(rows: Rows, by: Sequence[str], columns: Sequence[str]) -> list[Row]:
    """Mean and deviation over seeds of some columns, for each combination of the others."""
    groups: dict[tuple, list[Mapping]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    table: list[Row] = []
    for key, group in groups.items():
        line: Row = dict(zip(by, key, strict=True))
        for column in columns:
            values = np.asarray([row[column] for row in group], dtype=float)
            line |= {column: float(values.mean()), f"± {column}": float(values.std(ddof=min(1, len(values) - 1)))}
        table.append({**line, "seeds": len(group)})
    return table


def markdown(rows: Sequence[Mapping[str, object]]) -> str:
    """The rows as a table; figures with three digits."""
    if not rows:
        return ""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_cell(row[name]) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return "–" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
