"""What μ costs: a training step of each modulation against the network that knows no μ.

Adam, 100 points with one μ each, 16 random coordinates, the paper's sizes; no affine part.
"""

import statistics
import time
from collections.abc import Sequence

import jax
from matplotlib.figure import Figure

from prism.derivatives.estimators import Coordinates
from prism.networks.model import Architecture
from prism.solving.runs import first_state
from prism.solving.settings import Settings
from prism.studies.trials import MODULATIONS, Row, Study, Tell, problem
from prism.training.memory import compiled_bytes
from prism.training.optimisers import Adam
from prism.training.program import Program

DIMENSIONS, FULL_DIMENSIONS = (100, 1_000, 10_000), (100, 1_000, 10_000, 100_000)
ROUNDS, ROUND_SECONDS = 11, 0.5


class Entrant:
    """One modulation, compiled."""

    def __init__(self, name: str, dimension: int):
        family = problem(dimension)
        settings = Settings(Coordinates(16), Adam(), Architecture(modulation=MODULATIONS[name], affine=0))
        completed = settings.completed(family)
        self.name, self.state = name, first_state(family, completed)
        self.program = Program.compile(self.state, completed.optimiser)

    def seconds_a_step(self, steps: int) -> float:
        begun = time.perf_counter()
        self.state, loss = self.program(self.state, steps, 1e6)
        jax.block_until_ready(loss)
        return (time.perf_counter() - begun) / steps


def run(full: bool, tell: Tell) -> list[Row]:
    """One row for each dimension and modulation; rounds go through all in turn, ratios are medians over rounds."""
    rows: list[Row] = []
    for dimension in FULL_DIMENSIONS if full else DIMENSIONS:
        tell(f"{dimension:,} dimensions")
        entrants = [Entrant(name, dimension) for name in MODULATIONS]
        for entrant in entrants:
            entrant.seconds_a_step(2)
        steps = max(1, round(ROUND_SECONDS / entrants[-1].seconds_a_step(2)))
        rounds = [{entrant.name: entrant.seconds_a_step(steps) for entrant in entrants} for _ in range(ROUNDS)]
        plain = entrants[-1].program
        for entrant in entrants:
            ratios = [times[entrant.name] / times["none"] for times in rounds]
            rows.append(
                {
                    "d": dimension,
                    "modulation": entrant.name,
                    "seconds a step": statistics.median(times[entrant.name] for times in rounds),
                    "time against none": statistics.median(ratios),
                    "± time": statistics.stdev(ratios),
                    "FLOP against none": _flops(entrant.program) / _flops(plain),
                    "memory against none": compiled_bytes(entrant.program.compiled) / compiled_bytes(plain.compiled),
                }
            )
    return rows


def _flops(program: Program) -> float:
    """Of one step: the compiler counts the body of the loop once."""
    return float((program.compiled.cost_analysis() or {}).get("flops", float("nan")))


def finding(rows: Sequence[Row]) -> str:
    parts = []
    for name in MODULATIONS:
        ratios = [row["time against none"] for row in rows if row["modulation"] == name]
        parts.append(f"{name} {min(ratios):.2f} to {max(ratios):.2f}")
    return f"Time of a step against the network without μ, over the dimensions: {', '.join(parts)}."


def figure(rows: Sequence[Row]) -> Figure:
    """Time and operations of each modulation against none."""
    drawn = Figure(figsize=(9.0, 3.8), layout="constrained")
    panels = (("time against none", "± time"), ("FLOP against none", None))
    for axis, (column, deviation) in zip(drawn.subplots(1, 2), panels, strict=True):
        for name in MODULATIONS:
            here = [row for row in rows if row["modulation"] == name]
            bars = None if deviation is None else [row[deviation] for row in here]
            axis.errorbar([row["d"] for row in here], [row[column] for row in here], yerr=bars, fmt="o-", label=name)
        axis.set(xscale="log", xlabel="dimension", title=column)
        axis.axhline(1.0, color="#888888", lw=0.8)
    drawn.axes[0].legend(fontsize=8)
    return drawn


STUDY = Study(run, figure, finding=finding)
