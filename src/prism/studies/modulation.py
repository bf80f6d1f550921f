"""What γ and β are worth: film, scale, shift, concat and none on the same problem, after the same number of steps.

The affine part is left out here, through which μ would enter beside γ and β.
"""

from matplotlib.figure import Figure

from prism.networks.modulation import MODULATIONS
from prism.studies import over_beta
from prism.studies.figures import PALETTE, REFERENCE, legend_below, log_ticks, panels
from prism.studies.trials import SEEDS, Measurement, Measurements, Study, TableRow, Tell, averaged, errors_in

SECONDS_BESIDE = 24.0
"""What the recorded run took for each network beyond the other studies over β."""


def plan(full: bool) -> list[float]:
    return [over_beta.seconds(full) + SECONDS_BESIDE] * (len(SEEDS) * len(MODULATIONS))


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each modulation and seed."""
    measurements: list[Measurement] = []
    for seed in SEEDS:
        family = over_beta.problem(seed=seed)
        for name, modulation in MODULATIONS.items():
            tell(f"{name}, seed {seed}")
            trial = over_beta.modulated(name, modulation, family, seed)
            report = trial.run(family, over_beta.budget(full)).report()
            labels = {"modulation": name, "d": family.domain.dimension, "seed": seed}
            measurements.append({**labels, **errors_in(report)})
    return measurements


def summary(measurements: Measurements) -> list[TableRow]:
    return averaged(measurements, ["modulation"], ["relative L2", "skill"])


def finding(measurements: Measurements) -> str:
    means = {row["modulation"]: row["skill"] for row in summary(measurements)}
    order = sorted(means, key=lambda name: means[name])
    ranked = ", ".join(f"{name} {means[name]:.3g}" for name in order)
    return f"Skill after the same number of steps, best first: {ranked}. One that ignores μ cannot be below 1."


def figure(measurements: Measurements) -> Figure:
    """Skill of each modulation, with its deviation over seeds."""
    drawn, ((axes,),) = panels(1, 1, (7.0, 4.6))
    rows = summary(measurements)
    skills, deviations = ([row[column] for row in rows] for column in ("skill", "± skill"))
    label = f"mean ± deviation over {rows[0]['seeds']} seeds"
    axes.errorbar(range(len(rows)), skills, yerr=deviations, fmt="o", capsize=4, color=PALETTE[0], label=label)
    axes.axhline(1.0, color=REFERENCE, ls="--", label="best answer that ignores μ")
    axes.set(ylabel="skill (lower is better)", yscale="log", xlim=(-0.5, len(rows) - 0.5))
    dimension, steps = measurements[0]["d"], measurements[0]["steps"]
    axes.set_title(f"Skill by how μ enters, after {steps:,} steps\nSine-Gordon in β, {dimension:,} dimensions")
    axes.set_xticks(range(len(rows)), [row["modulation"] for row in rows])
    log_ticks(axes.yaxis, (1.0, 2.0, 5.0))
    legend_below(drawn, axes)
    return drawn


STUDY = Study(run, plan, figure, summary, finding)
