"""What studies share: a trial, the problems they solve, and tables of what came out.

Where steps cost the same, variants get the same number of them, which no load of the machine changes; else the same
seconds, compilation apart: what is compared is the method, not the compiler.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import binomtest

from prism.families import SineGordon
from prism.families.two_body import TwoBodyFamily
from prism.networks.lifts.parts import Affine, Parts, parts_of
from prism.numerics.keys import Purpose, stream
from prism.problem.family import Family
from prism.solving.runs import Outcome, execute
from prism.solving.settings import Settings
from prism.solving.symmetry import with_norms
from prism.training.loop import Budget

Measurement = dict[str, Any]
"""What was set and what was measured, each under its name; plain values that JSON keeps."""
Measurements = Sequence[Mapping[str, Any]]
TableRow = dict[str, Any]
Tell = Callable[[str], None]

Choices = Mapping[str, Any]
"""Arguments of `Settings.choose`."""
SEEDS = (0, 1, 2)
"""Of problem, network and sampling, in every study that has error bars."""
LEVEL = 0.95
"""Of intervals."""


@dataclass(frozen=True)
class Study:
    """One question, how it is measured and how the answer is shown.

    `run(full, tell)` measures, piece by piece, and tells as each begins what it is. `plan(full)` is about how many
    seconds each takes in turn, with compilation and evaluation, as measured on two cores. `figure`, `summary` (the
    table) and `finding` (in words) read the measurements and nothing else, so each can be made again from the JSON file
    of a run.
    """

    run: Callable[[bool, Tell], list[Measurement]]
    plan: Callable[[bool], list[float]]
    figure: Callable[[Measurements], Figure]
    summary: Callable[[Measurements], list[TableRow]] = lambda measurements: [dict(one) for one in measurements]
    finding: Callable[[Measurements], str] | None = None


@dataclass(frozen=True)
class Trial:
    """A name, and what it chooses of the settings; the rest is as `Settings.choose` has it for the family."""

    name: str
    choices: Choices = field(default_factory=dict)

    def run(self, family: Family, budget: Budget) -> Outcome:
        """What it ended with; an interrupted trial ends the study."""
        outcome = execute(family, Settings.choose(family, **self.choices), budget, show=False, check=False)
        outcome.end_if_interrupted()
        return outcome


def solved_by_default(family: Family, seconds: float, points: int | None = None, **choices: Any) -> Outcome:
    """A run with the default settings, the lift for equations in |x| and t included, but without trials of lifts;
    evaluated at so many points where their number is given."""
    usual = Settings.choose(family, **choices)
    settings = with_norms(family, usual) or usual
    budget = Budget(minutes=seconds / 60.0)
    outcome = execute(family, settings, budget, show=False, check=False, judge=points is None)
    outcome.end_if_interrupted()
    return outcome if points is None else outcome.judged_at(points)


def errors_in(report: Mapping[str, Any]) -> Measurement:
    """Steps and errors of a finished run, under the names of the tables."""
    names = {"steps": "steps", "relative L2": "relative_l2", "μ-blind": "mu_blind_error", "skill": "skill"}
    return {column: report[name] for column, name in names.items()}


def problem(dimension: int, scaled: bool = False, seed: int = 0) -> TwoBodyFamily:
    """The benchmark of the studies: Sine-Gordon with the two-body solution."""
    return SineGordon.create(dimension, stream(seed, Purpose.PROBLEM), scaled)


def changed(family: Family, seed: int = 0, **changes: Any) -> Choices:
    """The default settings but for these fields of the architecture."""
    return {"architecture": replace(Settings.choose(family).architecture, **changes), "seed": seed}


def without_affine(family: Family) -> Parts:
    """The default lift but for its affine part."""
    return parts_of(Settings.choose(family).architecture.lift).exchanged(Affine, None)


def averaged(measurements: Measurements, by: Sequence[str], columns: Sequence[str]) -> list[TableRow]:
    """Mean and standard deviation of some columns over all that agree in those of `by`, and how many they are."""
    groups: dict[tuple, list[Mapping]] = {}
    for one in measurements:
        groups.setdefault(tuple(one[name] for name in by), []).append(one)
    table: list[TableRow] = []
    for key, group in groups.items():
        row: TableRow = dict(zip(by, key, strict=True))
        for column in columns:
            values = np.asarray([one[column] for one in group], dtype=float)
            row |= {column: float(values.mean()), f"± {column}": float(values.std(ddof=min(1, len(values) - 1)))}
        table.append({**row, "seeds": len(group)})
    return table


def binomial_interval(successes: int, trials: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval for a probability: whatever that is, it is held at least so often."""
    interval = binomtest(successes, trials).proportion_ci(LEVEL, method="exact")
    return float(interval.low), float(interval.high)


def markdown(rows: Sequence[Mapping[str, object]]) -> str:
    """A table of Markdown; numbers with three digits."""
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
