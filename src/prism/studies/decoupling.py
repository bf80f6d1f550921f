"""What μ costs: a training step of each modulation against the network that knows no μ.

Adam, 100 points with one μ each, 16 random coordinates, the paper's sizes; no affine part. Every round times all
modulations in turn, so that a load of the machine meets all of them, and ratios are taken within a round.
"""

import time
from collections.abc import Mapping

import jax
import numpy as np
from matplotlib.figure import Figure

from prism.derivatives.estimators import Coordinates
from prism.networks.lifts.parts import Dense
from prism.networks.model import Architecture
from prism.networks.modulation import MODULATIONS
from prism.solving.preparation import first_state
from prism.solving.settings import Settings
from prism.studies.figures import REFERENCE, legend_below, offsets, panels, styles
from prism.studies.trials import Measurement, Measurements, Study, TableRow, Tell, problem
from prism.training.memory import compiled_bytes
from prism.training.optimisers import Adam
from prism.training.program import Program

DIMENSIONS, FULL_DIMENSIONS = (100, 1_000, 10_000), (100, 1_000, 10_000, 100_000)
ROUNDS, ROUND_SECONDS = 11, 0.5
SECONDS_BESIDE = 25.0
"""Of a dimension, besides its rounds: compilation."""
WITHOUT = "none"
"""The modulation that all are compared with: no μ."""
RATIOS = ("time ratio", "FLOP ratio", "memory ratio")


class Stepper:
    """Training steps of one modulation, compiled."""

    def __init__(self, modulation: str, dimension: int):
        family = problem(dimension)
        architecture = Architecture(Dense(128), modulation=MODULATIONS[modulation])
        settings = Settings.choose(family, estimator=Coordinates(16), optimiser=Adam(), architecture=architecture)
        self.state = first_state(family, settings)
        self.program = Program.trace(self.state, settings.optimiser)

    def seconds_per_step(self, steps: int) -> float:
        """Measured over so many steps, which it takes."""
        begun = time.perf_counter()
        self.state, loss = self.program(self.state, steps, 1e6)
        jax.block_until_ready(loss)
        return (time.perf_counter() - begun) / steps


def plan(full: bool) -> list[float]:
    rounds = ROUNDS * ROUND_SECONDS * len(MODULATIONS)
    return [SECONDS_BESIDE + rounds for _ in (FULL_DIMENSIONS if full else DIMENSIONS)]


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each dimension and modulation, with the seconds per step of every round."""
    measurements: list[Measurement] = []
    for dimension in FULL_DIMENSIONS if full else DIMENSIONS:
        tell(f"{dimension:,} dimensions")
        steppers = {name: Stepper(name, dimension) for name in MODULATIONS}
        for stepper in steppers.values():
            stepper.seconds_per_step(2)
        steps = max(1, round(ROUND_SECONDS / steppers[WITHOUT].seconds_per_step(2)))
        rounds = [{name: one.seconds_per_step(steps) for name, one in steppers.items()} for _ in range(ROUNDS)]
        measurements += [
            {
                "d": dimension,
                "modulation": name,
                "seconds per step in each round": [times[name] for times in rounds],
                "FLOP per step": _flop(stepper.program),
                "compiled bytes": compiled_bytes(stepper.program.compile()),
            }
            for name, stepper in steppers.items()
        ]
    return measurements


def _flop(program: Program) -> float:
    """Of one step: the compiler counts the body of the loop once."""
    return float((program.compile().cost_analysis() or {}).get("flops", float("nan")))


def summary(measurements: Measurements) -> list[TableRow]:
    """Medians over rounds, and ratios to the network without μ with the quartiles of that of time."""
    plain = {one["d"]: one for one in measurements if one["modulation"] == WITHOUT}
    return [_compared(one, plain[one["d"]]) for one in measurements]


def _compared(one: Mapping, plain: Mapping) -> TableRow:
    seconds, reference = (np.asarray(m["seconds per step in each round"]) for m in (one, plain))
    lower, median, upper = np.quantile(seconds / reference, (0.25, 0.5, 0.75)).tolist()
    return {
        "d": one["d"],
        "modulation": one["modulation"],
        "seconds per step": float(np.median(seconds)),
        "time ratio": median,
        "lower quartile": lower,
        "upper quartile": upper,
        "FLOP ratio": one["FLOP per step"] / plain["FLOP per step"],
        "memory ratio": one["compiled bytes"] / plain["compiled bytes"],
    }


def finding(measurements: Measurements) -> str:
    rows, parts = [row for row in summary(measurements) if row["modulation"] != WITHOUT], []
    for name in dict.fromkeys(row["modulation"] for row in rows):
        ratios = [row["time ratio"] for row in rows if row["modulation"] == name]
        parts.append(f"{name} {min(ratios):.2f} to {max(ratios):.2f}")
    return f"Time of a step relative to the network without μ, over the dimensions: {', '.join(parts)}."


def figure(measurements: Measurements) -> Figure:
    """Time, operations and memory relative to the network without μ; at each dimension all modulations side by side."""
    rows = [row for row in summary(measurements) if row["modulation"] != WITHOUT]
    dimensions = list(dict.fromkeys(row["d"] for row in rows))
    looks = styles(row["modulation"] for row in rows)
    rounds = len(measurements[0]["seconds per step in each round"])
    drawn, (axes,) = panels(1, 3, (12.0, 4.4))
    for name, offset in zip(looks, offsets(len(looks), 0.16), strict=True):
        here = [row for row in rows if row["modulation"] == name]
        places = [dimensions.index(row["d"]) + offset for row in here]
        for panel, ratio in zip(axes, RATIOS, strict=True):
            bars = _quartile_bars(here) if ratio == "time ratio" else None
            values = [row[ratio] for row in here]
            panel.errorbar(places, values, yerr=bars, ls="none", capsize=3, label=name, **looks[name])
    titles = (
        f"time of a step (median and quartiles, {rounds} rounds)",
        "operations of a step",
        "memory of the program",
    )
    for panel, title in zip(axes, titles, strict=True):
        panel.axhline(1.0, color=REFERENCE, ls="--", lw=1.0, label="network without μ")
        panel.set(title=title, xlabel="dimension", xlim=(-0.5, len(dimensions) - 0.5))
        panel.set_xticks(range(len(dimensions)), [f"{dimension:,}" for dimension in dimensions])
    axes[0].set_ylabel("relative to the network without μ")
    legend_below(drawn, axes[0], 5)
    return drawn


def _quartile_bars(rows: Measurements) -> np.ndarray:
    """How far the quartiles lie below and above the median."""
    column = lambda name: np.asarray([row[name] for row in rows])
    median = column("time ratio")
    return np.stack([median - column("lower quartile"), column("upper quartile") - median])


STUDY = Study(run, plan, figure, summary, finding)
