"""What studies share: a trial, the problems they solve, and tables and figures of what came out.

Where steps cost the same, variants get the same number of them, which no load of the machine changes; else the same
seconds, compilation apart: what is compared is the method, not the compiler.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from prism.evaluation import errors_at
from prism.families import SineGordon, SineGordonBeta
from prism.families.family import Family
from prism.families.two_body import TwoBodyFamily
from prism.networks import CONCAT, FILM, NONE, SCALE, SHIFT
from prism.parameters import LogUniform, ParameterSpace
from prism.runs import Outcome, execute
from prism.settings import Settings
from prism.streams import EVALUATION, PROBLEM, stream
from prism.training.loop import Budget

Row = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
Tell = Callable[[str], None]

SEEDS = (0, 1, 2)
"""Of problem, network and sampling, in every study that has error bars."""
DIMENSION = 20
"""Of the studies in β."""
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


def steps(full: bool) -> int:
    """Of one training of a study in β."""
    return 1_000 if full else 100


def problem(dimension: int, scaled: bool = False, seed: int = 0) -> TwoBodyFamily:
    """The benchmark of the studies: Sine-Gordon with the two-body solution."""
    return SineGordon.create(dimension, stream(seed, PROBLEM), scaled)


def problem_in_beta(dimension: int, parameters: ParameterSpace | None = None, seed: int = 0) -> TwoBodyFamily:
    """Sine-Gordon whose β spans two orders of magnitude."""
    return SineGordonBeta.create(dimension, stream(seed, PROBLEM), parameters=parameters)


def problem_at_beta(dimension: int, beta: float, seed: int = 0) -> TwoBodyFamily:
    """The same for one β alone, as a solver for one parameter sees it."""
    return problem_in_beta(dimension, LogUniform(beta=(beta * (1 - 1e-4), beta * (1 + 1e-4))), seed)


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


def rows_over_beta(group: str, trial: Trial, family: Family, budget: Budget, betas: Sequence[float]) -> list[Row]:
    """The trial trained on the family, and one row for each β with its error, under the trial's name and seed."""
    seed, model = trial.settings.seed, trial.run(family, budget).solution.model
    errors = errors_at(model, family, jnp.asarray(betas)[:, None], stream(seed, EVALUATION))
    labels: Row = {group: trial.name, "seed": seed}
    return [{**labels, "β": beta, "relative L2": float(error)} for beta, error in zip(betas, errors, strict=True)]


def errors_over_beta(rows: Rows, group: str, title: str) -> Figure:
    """Mean error over β with its deviation over seeds, one curve for each member of a group, both logarithmic."""
    drawn = Figure(figsize=(6.0, 4.0), layout="constrained")
    axis, lines = drawn.subplots(), averaged(rows, [group, "β"], ["relative L2"])
    for name in dict.fromkeys(line[group] for line in lines):
        here = [line for line in lines if line[group] == name]
        betas, errors, deviations = ([line[c] for line in here] for c in ("β", "relative L2", "± relative L2"))
        axis.errorbar(betas, errors, yerr=deviations, fmt="o-", capsize=3, label=name)
    axis.set(xscale="log", yscale="log", xlabel="β", ylabel="relative L2 error", title=title)
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.legend(fontsize=8)
    return drawn


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
