"""Which lift for which problem: each lift where coordinates interact in different ways, after the same time.

Twelve seconds of steps each at 100 dimensions, three seeds, is the reduced study; --full takes a minute, at 100, 1,000
and 10,000 dimensions. Where a structure is wrong for a problem it fails, and the table shows it.
"""

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

DIMENSIONS, FULL_DIMENSIONS = (100,), (100, 1_000, 10_000)
SECONDS, FULL_SECONDS = 12.0, 60.0
PROBLEMS: dict[str, tuple[type[TwoBodyFamily], str, bool]] = {
    "Sine-Gordon, chain": (SineGordon, "chain", False),
    "Sine-Gordon, chain, scaled": (SineGordon, "chain", True),
    "Allen-Cahn, chain, scaled": (AllenCahn, "chain", True),
    "Sine-Gordon, random pairs, scaled": (SineGordon, "random", True),
    "Sine-Gordon, exchangeable, scaled": (SineGordon, "all", True),
    "Sine-Gordon, radial": (SineGordon, "none", False),
}


def lifts(family: TwoBodyFamily, seed: int) -> dict[str, Parts]:
    """The usual lift, one for each structure, and that of the equation."""
    dimension = family.domain.dimension
    found = suggested_lift(find_structure(family, seed))
    usual = parts_of(Settings.choose(family).architecture.lift)
    return {
        "dense": usual,
        "sites of one coordinate": parts_of(usual_sites(1, dimension)),
        "sites of two neighbours": parts_of(usual_sites(2, dimension)),
        "affine and quadratic": Affine() + Quadratic(2),
        "norm": parts_of(Norm()),
        "shared sites": Sites(1, features=8, channels=4, shared=True) + Norm(),
        "the equation's": found or usual,
    }


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each dimension, problem, lift and seed."""
    measurements: list[Measurement] = []
    seconds = FULL_SECONDS if full else SECONDS
    for dimension in FULL_DIMENSIONS if full else DIMENSIONS:
        for problem, (kind, pairs, scaled) in PROBLEMS.items():
            for seed in SEEDS:
                family = kind.create(dimension, stream(seed, Purpose.PROBLEM), scaled, pairs=pairs)
                usual = Settings.choose(family).architecture
                for name, lift in lifts(family, seed).items():
                    tell(f"{problem} at {dimension:,} dimensions, {name}, seed {seed}")
                    trial = Trial(name, {"architecture": architecture_for(lift, usual), "seed": seed})
                    report = trial.run(family, Budget(seconds_of_steps=seconds)).report()
                    labels = {"d": dimension, "problem": problem, "lift": name, "seed": seed, "seconds": seconds}
                    affine = {"affine": report["affine_error"], "trivial": report["trivial_error"]}
                    measurements.append({**labels, **errors_in(report), **affine})
    return measurements


def summary(measurements: Measurements) -> list[TableRow]:
    columns = ["skill", "relative L2", "μ-blind", "trivial", "affine", "steps"]
    rows = averaged(measurements, ["d", "problem", "lift"], columns)
    shown = (
        "d",
        "problem",
        "lift",
        "skill",
        "± skill",
        "relative L2",
        "μ-blind",
        "trivial",
        "affine",
        "steps",
        "seeds",
    )
    return [{name: row[name] for name in shown} | {"steps": round(row["steps"])} for row in rows]


def figure(measurements: Measurements) -> Figure:
    """Mean skill of every lift on every problem, with its deviation over seeds."""
    rows = [row for row in averaged(measurements, ["d", "problem", "lift"], ["skill"])]
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


STUDY = Study(run, figure, summary)
