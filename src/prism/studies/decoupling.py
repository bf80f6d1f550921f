"""What μ costs: a training step of each modulation against the network that knows no μ.

Adam, 100 points with one μ each, 16 random coordinates, the paper's sizes; no affine part. Every round times all
modulations in turn, so that a load of the machine meets all of them, and ratios are taken within a round.
"""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from prism.derivatives.estimators import Coordinates
from prism.networks.lifts.parts import Dense
from prism.networks.model import Architecture
from prism.networks.modulation import MODULATIONS
from prism.solving.settings import Settings
from prism.studies.figures import REFERENCE, legend_below, offsets, panels, styles
from prism.studies.steppers import EACH_ROUND, ROUND_SECONDS, ROUNDS, Stepper, ratio_quartiles, timed
from prism.studies.trials import Measurement, Measurements, Study, TableRow, Tell, problem
from prism.training.optimisers import Adam

DIMENSIONS, FULL_DIMENSIONS = (100, 1_000, 10_000), (100, 1_000, 10_000, 100_000)
SECONDS_BESIDE = 25.0
"""Of a dimension, besides its rounds: compilation."""
WITHOUT = "none"
"""The modulation that all are compared with: no μ."""
RATIOS = ("time ratio", "FLOP ratio", "memory ratio")


def stepper(modulation: str, dimension: int) -> Stepper:
    """Of one modulation."""
    family, architecture = problem(dimension), Architecture(Dense(128), modulation=MODULATIONS[modulation])
    settings = Settings.choose(family, estimator=Coordinates(16), optimiser=Adam(), architecture=architecture)
    return Stepper(family, settings)


def plan(full: bool) -> list[float]:
    rounds = ROUNDS * ROUND_SECONDS * len(MODULATIONS)
    return [SECONDS_BESIDE + rounds for _ in (FULL_DIMENSIONS if full else DIMENSIONS)]


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each dimension and modulation, with the seconds per step of every round."""
    measurements: list[Measurement] = []
    for dimension in FULL_DIMENSIONS if full else DIMENSIONS:
        tell(f"{dimension:,} dimensions")
        steppers = {name: stepper(name, dimension) for name in (WITHOUT, *MODULATIONS)}
        rounds = timed(steppers)
        measurements += [
            {
                "d": dimension,
                "modulation": name,
                EACH_ROUND: rounds[name],
                "FLOP per step": steppers[name].flop,
                "compiled bytes": steppers[name].bytes,
            }
            for name in MODULATIONS
        ]
    return measurements


def summary(measurements: Measurements) -> list[TableRow]:
    """Medians over rounds, and ratios to the network without μ with the quartiles of that of time."""
    plain = {one["d"]: one for one in measurements if one["modulation"] == WITHOUT}
    return [_compared(one, plain[one["d"]]) for one in measurements]


def _compared(one: Mapping, plain: Mapping) -> TableRow:
    seconds, reference = (m[EACH_ROUND] for m in (one, plain))
    lower, median, upper = ratio_quartiles(seconds, reference)
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
    rounds = len(measurements[0][EACH_ROUND])
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
