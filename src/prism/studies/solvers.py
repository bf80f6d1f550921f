"""Which solver: the default with one thing changed at a time, after the same time, on three seeds.

Twelve seconds of steps each, and one compilation for the three seeds of a variant: meant to take twelve minutes on two
idle cores. On a busy machine there are fewer steps, and what converges late looks worse than it is.
"""

from dataclasses import replace

from matplotlib.figure import Figure

from prism.derivatives.estimators import Coordinates
from prism.families.two_body import TwoBodyFamily
from prism.networks.lifts.parts import Dense, parts_of
from prism.objective.rows import Slopes
from prism.solving.settings import Settings
from prism.studies.figures import REFERENCE, legend_below, log_ticks, offsets, panels, styles
from prism.studies.trials import (
    SEEDS,
    Measurement,
    Measurements,
    Study,
    TableRow,
    Tell,
    Trial,
    averaged,
    changed,
    errors_in,
    problem,
    without_affine,
)
from prism.training.loop import Budget
from prism.training.natural.spring import Spring
from prism.training.optimisers import Adam

DIMENSIONS, FULL_DIMENSIONS = (100,), (100, 1_000, 10_000)
SECONDS, FULL_SECONDS = 12.0, 60.0
SECONDS_BESIDE = 1.5
"""Seconds of a piece besides its steps: its share of a compilation, and the evaluation, as measured on two cores."""


def trials(family: TwoBodyFamily) -> list[Trial]:
    """The default, then each change of it."""
    shaped = lambda **changes: changed(family, **changes)
    chosen = parts_of(Settings.choose(family).architecture.lift)
    (dense,) = chosen.of_kind(Dense)
    kernel = Spring(lift_in_kernel=True, lift_by_slopes=False)
    return [
        Trial("default"),
        Trial("lift in the kernel instead of the slope step", {"optimiser": kernel}),
        Trial("lift in the kernel beside the slope step", {"optimiser": Spring(lift_in_kernel=True)}),
        Trial("with rows of slopes", {"slopes": Slopes(1)}),
        Trial("no affine part", shaped(lift=without_affine(family))),
        Trial("lift starts without bias", shaped(lift=chosen.exchanged(Dense, replace(dense, bias=0.0)))),
        Trial("lift of width 64", shaped(lift=chosen.exchanged(Dense, replace(dense, width=64)))),
        Trial("no momentum", {"optimiser": Spring(momentum=0.0)}),
        Trial("coordinates:16", {"estimator": Coordinates(16)}),
        Trial("coordinates:16, independent", {"estimator": Coordinates(16), "independent": True}),
        Trial("coordinates:64", {"estimator": Coordinates(64)}),
        Trial("adam", {"optimiser": Adam()}),
        Trial("adam, slopes in the loss", {"optimiser": Adam(), "slopes": Slopes()}),
        Trial("adam, slopes along one direction in the loss", {"optimiser": Adam(), "slopes": Slopes(1)}),
    ]


def plan(full: bool) -> list[float]:
    whole, dimensions = (FULL_SECONDS if full else SECONDS) + SECONDS_BESIDE, FULL_DIMENSIONS if full else DIMENSIONS
    return [whole] * (len(dimensions) * len(trials(problem(dimensions[0]))) * len(SEEDS))


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each dimension, variant and seed; seeds are innermost, for they share a compiled program."""
    measurements: list[Measurement] = []
    seconds = FULL_SECONDS if full else SECONDS
    for dimension in FULL_DIMENSIONS if full else DIMENSIONS:
        families = {seed: problem(dimension, seed=seed) for seed in SEEDS}
        for trial in trials(families[SEEDS[0]]):
            for seed, family in families.items():
                tell(f"{trial.name} at {dimension:,} dimensions, seed {seed}")
                seeded = Trial(trial.name, {**trial.choices, "seed": seed})
                report = seeded.run(family, Budget(minutes=seconds / 60.0)).report()
                labels = {"d": dimension, "solver": trial.name, "seed": seed, "seconds": seconds}
                cost = {"steps": report["steps"], "seconds per step": report["seconds_per_step"]}
                measurements.append({**labels, **cost, **errors_in(report)})
    return measurements


def summary(measurements: Measurements) -> list[TableRow]:
    columns = ["skill", "relative L2", "seconds per step", "steps"]
    rows = averaged(measurements, ["d", "solver"], columns)
    shown = ("d", "solver", "skill", "± skill", "relative L2", "± relative L2", "seconds per step", "steps", "seeds")
    return [{name: row[name] for name in shown} | {"steps": round(row["steps"])} for row in rows]


def figure(measurements: Measurements) -> Figure:
    """Mean skill of every variant at every dimension, with its deviation over seeds."""
    rows = summary(measurements)
    names = list(dict.fromkeys(row["solver"] for row in rows))
    looks = styles(f"{row['d']:,} dimensions" for row in rows)
    drawn, ((axes,),) = panels(1, 1, (9.0, 1.8 + 0.32 * len(names)))
    for label, offset in zip(looks, offsets(len(looks), 0.2), strict=True):
        here = [row for row in rows if f"{row['d']:,} dimensions" == label]
        places = [names.index(row["solver"]) + offset for row in here]
        skills, deviations = ([row[column] for row in here] for column in ("skill", "± skill"))
        axes.errorbar(skills, places, xerr=deviations, ls="none", capsize=3, label=label, **looks[label])
    axes.axvline(1.0, color=REFERENCE, ls="--", label="best answer that ignores μ")
    seeds, seconds = rows[0]["seeds"], measurements[0]["seconds"]
    axes.set(xlabel=f"skill, lower is better (mean ± deviation over {seeds} seeds)", xscale="log")
    axes.set_title(f"The default solver with one thing changed, after {seconds:g} s of steps")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="y", color="#dddddd", lw=0.6)
    log_ticks(axes.xaxis, (1.0, 2.0, 5.0))
    legend_below(drawn, axes)
    return drawn


STUDY = Study(run, plan, figure, summary)
