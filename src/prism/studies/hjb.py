"""Hamilton-Jacobi-Bellman equations (paper, Example 2), with and without worst-case training, after the same time.

Relative L2 over (x, t, μ) and the largest error over the test points, beside those of the trivial and the μ-blind
answer. The reduced study takes 45 seconds of steps at 250 and 1,000 dimensions; --full five minutes, 10,000 and 100,000
dimensions besides.
"""

from matplotlib.figure import Figure

from prism.families import HJBLog, HJBRosenbrock
from prism.numerics.keys import Purpose, stream
from prism.objective.worst_case import WorstCase
from prism.studies.figures import REFERENCE, legend_below, log_ticks, panels, styles
from prism.studies.trials import Measurement, Measurements, Study, Tell, errors_in, report_by_default

DIMENSIONS, FULL_DIMENSIONS = (250, 1_000), (250, 1_000, 10_000, 100_000)
SECONDS, FULL_SECONDS = 45.0, 300.0
COSTS: dict[str, type[HJBLog] | type[HJBRosenbrock]] = {"log": HJBLog, "Rosenbrock": HJBRosenbrock}
TRAINING: dict[str, WorstCase | None] = {"plain": None, "worst case": WorstCase(5)}


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each terminal cost, dimension and kind of training."""
    measurements: list[Measurement] = []
    seconds = FULL_SECONDS if full else SECONDS
    for dimension in FULL_DIMENSIONS if full else DIMENSIONS:
        for cost in COSTS:
            for training in TRAINING:
                tell(f"{cost} at {dimension:,} dimensions, {training}")
                measurements.append(solved(cost, dimension, training, seconds))
    return measurements


def solved(cost: str, dimension: int, training: str, seconds: float) -> Measurement:
    """One run."""
    family = COSTS[cost].create(dimension, stream(0, Purpose.PROBLEM))
    report = report_by_default(family, seconds, worst_case=TRAINING[training])
    labels = {"d": dimension, "terminal cost": cost, "training": training, "seconds": seconds}
    worst = {"largest error": report["largest_error"], "trivial": report["trivial_error"]}
    return {**labels, **errors_in(report), **worst}


def figure(measurements: Measurements) -> Figure:
    """Mean and largest errors over the dimension, one panel per terminal cost."""
    costs = list(dict.fromkeys(one["terminal cost"] for one in measurements))
    looks = styles(dict.fromkeys(one["training"] for one in measurements))
    drawn, (plots,) = panels(1, len(costs), (5.0 * len(costs), 4.2), sharey=True)
    for axes, cost in zip(plots, costs, strict=True):
        here = [one for one in measurements if one["terminal cost"] == cost]
        for training in looks:
            rows = [one for one in here if one["training"] == training]
            places = [one["d"] for one in rows]
            axes.plot(places, [one["relative L2"] for one in rows], label=f"{training}: mean", **looks[training])
            axes.plot(
                places, [one["largest error"] for one in rows], ls="--", label=f"{training}: largest", **looks[training]
            )
        first = [one for one in here if one["training"] == here[0]["training"]]
        axes.plot(
            [one["d"] for one in first], [one["trivial"] for one in first], ":", color=REFERENCE, label="trivial, mean"
        )
        axes.set(xscale="log", yscale="log", title=cost, xlabel="dimensions")
        log_ticks(axes.xaxis)
    plots[0].set_ylabel("relative error")
    legend_below(drawn, plots[0])
    return drawn


STUDY = Study(run, figure)
