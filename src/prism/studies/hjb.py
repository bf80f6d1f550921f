"""Hamilton-Jacobi-Bellman equations (paper, Example 2), with and without worst-case training, after the same time.

Relative L2 over (x, t, μ) and the largest error over the test points, beside those of the trivial and the μ-blind
answer. Each run takes 45 seconds of steps, at 250 and 1,000 dimensions; with --full at 10,000 and 100,000 too.
"""

from matplotlib.figure import Figure

from prism.families import HJBLog, HJBRosenbrock
from prism.families.hamilton_jacobi_bellman import ControlFamily
from prism.numerics.keys import Purpose, stream
from prism.objective.worst_case import WorstCase
from prism.studies.figures import REFERENCE, legend_below, log_ticks, panels, styles
from prism.studies.trials import Measurement, Measurements, Study, Tell, errors_in, solved_by_default

DIMENSIONS, FULL_DIMENSIONS = (250, 1_000), (250, 1_000, 10_000, 100_000)
SECONDS, SECONDS_BESIDE = 45.0, 40.0
"""Of steps, and what a piece takes besides: compilation and evaluation, as measured on two cores."""
MOST_POINTS, MOST_COORDINATES = 20_000, 20_000_000
"""Of an evaluation: the exact Rosenbrock solution passes over all coordinates of a point, for every node over μ."""
COSTS: dict[str, type[ControlFamily]] = {"log": HJBLog, "Rosenbrock": HJBRosenbrock}
TRAINING: dict[str, WorstCase | None] = {"plain": None, "worst case": WorstCase(5)}

BASELINES = {"trivial": "trivial", "μ-blind": "mu_blind"}


def plan(full: bool) -> list[float]:
    dimensions = FULL_DIMENSIONS if full else DIMENSIONS
    return [SECONDS + SECONDS_BESIDE] * (len(dimensions) * len(COSTS) * len(TRAINING))


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each terminal cost, dimension and kind of training."""
    measurements: list[Measurement] = []
    for dimension in FULL_DIMENSIONS if full else DIMENSIONS:
        for cost in COSTS:
            for training in TRAINING:
                tell(f"{cost} at {dimension:,} dimensions, {training}")
                measurements.append(solved(cost, dimension, training))
    return measurements


def solved(cost: str, dimension: int, training: str) -> Measurement:
    """One run."""
    family = COSTS[cost].create(dimension, stream(0, Purpose.PROBLEM))
    points = min(MOST_POINTS, MOST_COORDINATES // dimension)
    report = solved_by_default(family, SECONDS, points, worst_case=TRAINING[training]).report()
    labels = {"d": dimension, "terminal cost": cost, "training": training, "seconds": SECONDS}
    trivial = {"trivial": report["trivial_error"], "largest error": report["largest_error"]}
    baselines = {f"{name}, largest": report[f"{key}_largest_error"] for name, key in BASELINES.items()}
    return {**labels, **errors_in(report), **trivial, **baselines}


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
            axes.plot(places, [one["relative L2"] for one in rows], label=f"{training}: relative L2", **looks[training])
            axes.plot(
                places, [one["largest error"] for one in rows], ls="--", label=f"{training}: largest", **looks[training]
            )
        first = [one for one in here if one["training"] == here[0]["training"]]
        trivial = [one["trivial"] for one in first]
        axes.plot([one["d"] for one in first], trivial, ":", color=REFERENCE, label="trivial: relative L2")
        axes.set(xscale="log", yscale="log", title=cost, xlabel="dimensions")
        log_ticks(axes.xaxis)
    plots[0].set_ylabel("relative error")
    legend_below(drawn, plots[0])
    return drawn


def finding(measurements: Measurements) -> str:
    """How many runs are better than the trivial answer, and what worst-case training does to both errors."""
    where = lambda one: (one["d"], one["terminal cost"])
    plain, worst = ({where(one): one for one in measurements if one["training"] == name} for name in TRAINING)
    ratios = {name: [worst[at][name] / plain[at][name] for at in plain] for name in ("largest error", "relative L2")}
    below = sum(one["relative L2"] < one["trivial"] for one in measurements)
    spread = {name: f"{min(found):.2g} to {max(found):.2g}" for name, found in ratios.items()}
    return (
        f"{below} of {len(measurements)} runs end below the trivial answer. After the same time worst-case training "
        f"multiplies the largest error by {spread['largest error']} and the relative L2 error by "
        f"{spread['relative L2']}."
    )


STUDY = Study(run, plan, figure, finding=finding)
