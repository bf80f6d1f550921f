"""Which lift for which problem: each lift where coordinates interact in different ways, after the same time.

The reduced study takes twelve seconds of steps for each lift at 100 dimensions, three seeds; --full adds twenty at
1,000 and thirty at 10,000 dimensions with one seed. Where a structure is wrong for a problem it fails, and the table
shows it.
"""

from dataclasses import dataclass

from matplotlib.figure import Figure

from prism.families import AllenCahn, SineGordon
from prism.families.two_body import TwoBodyFamily
from prism.networks.lifts.parts import Affine, Norm, Parts, Quadratic, Sites, parts_of
from prism.numerics.keys import Purpose, stream
from prism.problem.structure import find_structure
from prism.solving.lift_choice import suggested_lift, usual_sites
from prism.solving.settings import Settings, architecture_for
from prism.studies.figures import REFERENCE, legend_below, log_ticks, offsets, panels, styles
from prism.studies.trials import SEEDS, Measurement, Measurements, Study, TableRow, Tell, Trial, averaged, errors_in
from prism.training.loop import Budget


@dataclass(frozen=True)
class Size:
    """A dimension, the seconds of steps that every lift has there, and the seeds."""

    dimension: int
    seconds: float
    seeds: tuple[int, ...]


REDUCED = (Size(100, 12.0, SEEDS),)
FULL = (*REDUCED, Size(1_000, 20.0, SEEDS[:1]), Size(10_000, 30.0, SEEDS[:1]))
PROBLEMS: dict[str, tuple[type[TwoBodyFamily], str, bool]] = {
    "Sine-Gordon, chain": (SineGordon, "chain", False),
    "Allen-Cahn, chain": (AllenCahn, "chain", False),
    "Sine-Gordon, chain, scaled": (SineGordon, "chain", True),
    "Allen-Cahn, chain, scaled": (AllenCahn, "chain", True),
    "Sine-Gordon, random pairs, scaled": (SineGordon, "random", True),
    "Sine-Gordon, exchangeable, scaled": (SineGordon, "all", True),
    "Sine-Gordon, radial": (SineGordon, "none", False),
}
SECONDS_BESIDE = 17.0
"""Seconds of a piece besides its steps: compilation and evaluation, as measured on two cores."""
LIFTS = 6
"""Those that every problem is tried with."""
NEW = "pairs of the equation"
"""The name of an equation's lift that is none of the others."""


def lifts(dimension: int, usual: Parts, found: Parts) -> dict[str, Parts]:
    """The usual lift, one for each structure, and the equation's where it is none of these."""
    named = {
        "dense": usual,
        "sites of one coordinate": parts_of(usual_sites(1, dimension)),
        "sites of two neighbours": parts_of(usual_sites(2, dimension)),
        "affine and quadratic": Affine() + Quadratic(2),
        "norm": parts_of(Norm()),
        "shared sites": Sites(1, features=8, channels=4, shared=True) + Norm(),
    }
    return named if found in named.values() else {**named, NEW: found}


def plan(full: bool) -> list[float]:
    """Random pairs are a structure of their own: there the equation's lift comes to the others."""
    return [
        size.seconds + SECONDS_BESIDE
        for size in (FULL if full else REDUCED)
        for _, pairs, _ in PROBLEMS.values()
        for _ in range(len(size.seeds) * (LIFTS + (pairs == "random")))
    ]


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each dimension, problem, lift and seed."""
    measurements: list[Measurement] = []
    for size in FULL if full else REDUCED:
        for problem in PROBLEMS:
            for seed in size.seeds:
                measurements += measured(problem, size, seed, tell)
    return measurements


def measured(problem: str, size: Size, seed: int, tell: Tell) -> list[Measurement]:
    """Every lift on one problem; that of the equation is marked."""
    kind, pairs, scaled = PROBLEMS[problem]
    family = kind.create(size.dimension, stream(seed, Purpose.PROBLEM), scaled, pairs=pairs)
    usual = Settings.choose(family).architecture
    found = suggested_lift(find_structure(family, seed), family) or parts_of(usual.lift)
    measurements: list[Measurement] = []
    for name, lift in lifts(size.dimension, parts_of(usual.lift), found).items():
        tell(f"{problem} at {size.dimension:,} dimensions, {name}, seed {seed}")
        trial = Trial(name, {"architecture": architecture_for(lift, usual), "seed": seed})
        report = trial.run(family, Budget(minutes=size.seconds / 60.0)).report()
        labels = {"d": size.dimension, "problem": problem, "lift": name, "seed": seed, "seconds": size.seconds}
        baselines = {"affine": report["affine_error"], "trivial": report["trivial_error"]}
        measurements.append({**labels, "equation's": lift == found, **errors_in(report), **baselines})
    return measurements


def summary(measurements: Measurements) -> list[TableRow]:
    """One row for each problem: the skill of every lift, bold for that of the equation, and the errors of answers that
    need no learning."""
    rows = averaged(measurements, ["d", "problem", "lift"], ["skill", "μ-blind", "trivial", "affine"])
    chosen = {(one["d"], one["problem"], one["lift"]) for one in measurements if one["equation's"]}
    names = list(dict.fromkeys(row["lift"] for row in rows))
    table: dict[tuple[int, str], TableRow] = {}
    for row in rows:
        place = (row["d"], row["problem"])
        empty = {"d": row["d"], "problem": row["problem"], **dict.fromkeys(names, "")}
        line = table.setdefault(place, empty | {name: row[name] for name in ("μ-blind", "trivial", "affine")})
        skill = f"{row['skill']:.2g}"
        line[row["lift"]] = f"**{skill}**" if (*place, row["lift"]) in chosen else skill
    return list(table.values())


def finding(measurements: Measurements) -> str:
    """Where the lift that the equation suggests stands among all."""
    lines = []
    for dimension in sorted({one["d"] for one in measurements}):
        rows = averaged([one for one in measurements if one["d"] == dimension], ["problem", "lift"], ["skill"])
        suggested = {
            (one["problem"], one["lift"]) for one in measurements if one["equation's"] and one["d"] == dimension
        }
        problems = list(dict.fromkeys(row["problem"] for row in rows))
        best = {name: min(row["skill"] for row in rows if row["problem"] == name) for name in problems}
        own = {row["problem"]: row["skill"] for row in rows if (row["problem"], row["lift"]) in suggested}
        right = [name for name in problems if own[name] == best[name]]
        others = "; ".join(
            f"{name} {own[name]:.2g} where {best[name]:.2g} is best" for name in problems if name not in right
        )
        lines.append(
            f"{dimension:,} dimensions: the lift that the equation suggests is the best of all on {len(right)} of "
            f"{len(problems)} problems{f' ({others})' if others else ''}."
        )
    return " ".join(lines)


def figure(measurements: Measurements) -> Figure:
    """Mean skill of every lift on every problem, with its deviation over seeds."""
    rows = averaged(measurements, ["d", "problem", "lift"], ["skill"])
    dimensions = sorted({row["d"] for row in rows})
    names = list(dict.fromkeys(row["problem"] for row in rows))
    looks = styles(dict.fromkeys(row["lift"] for row in rows))
    drawn, (plots,) = panels(1, len(dimensions), (5.0 + 4.0 * len(dimensions), 2.0 + 0.6 * len(names)))
    for axes, dimension in zip(plots, dimensions, strict=True):
        for label, offset in zip(looks, offsets(len(looks), 0.7 / len(looks)), strict=True):
            here = [row for row in rows if row["d"] == dimension and row["lift"] == label]
            places = [names.index(row["problem"]) + offset for row in here]
            skills, deviations = ([row[column] for row in here] for column in ("skill", "± skill"))
            axes.errorbar(skills, places, xerr=deviations, ls="none", capsize=3, label=label, **looks[label])
        axes.axvline(1.0, color=REFERENCE, ls="--", label="best answer that ignores μ")
        axes.set(xlabel="skill, lower is better", xscale="log", title=f"{dimension:,} dimensions")
        axes.set_yticks(range(len(names)), names if axes is plots[0] else [""] * len(names))
        axes.set_ylim(len(names) - 0.5, -0.5)
        log_ticks(axes.xaxis, (1.0, 2.0, 5.0))
    legend_below(drawn, plots[0])
    return drawn


STUDY = Study(run, plan, figure, summary, finding)
