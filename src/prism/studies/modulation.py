"""What γ and β are worth: film, scale, shift, concat and none on the same problem, after the same number of steps.

The affine part is left out here, through which μ would enter beside γ and β.
"""

from collections.abc import Sequence

from matplotlib.figure import Figure

from prism.studies import in_beta
from prism.studies.trials import MODULATIONS, SEEDS, Row, Study, Tell, Trial, averaged, changed


def run(full: bool, tell: Tell) -> list[Row]:
    """One row for each modulation and seed."""
    rows: list[Row] = []
    for seed in SEEDS:
        family = in_beta.problem(seed=seed)
        for name, modulation in MODULATIONS.items():
            tell(f"{name}, seed {seed}")
            trial = Trial(name, changed(family, seed, modulation=modulation, affine=0))
            report = trial.run(family, in_beta.budget(full)).report()
            errors = {"relative L2": report["relative_l2"], "μ-blind": report["mu_blind_error"]}
            rows.append(
                {"modulation": name, "seed": seed, "steps": report["steps"], **errors, "skill": report["skill"]}
            )
    return rows


def summary(rows: Sequence[Row]) -> list[Row]:
    return averaged(rows, ["modulation"], ["relative L2", "skill"])


def finding(rows: Sequence[Row]) -> str:
    means = {line["modulation"]: line["skill"] for line in summary(rows)}
    order = sorted(means, key=lambda name: means[name])
    ranked = ", ".join(f"{name} {means[name]:.3f}" for name in order)
    return f"Skill after the same number of steps, best first: {ranked}. One that ignores μ cannot be below 1."


def figure(rows: Sequence[Row]) -> Figure:
    """Skill of each modulation, with its deviation over seeds."""
    drawn = Figure(figsize=(6.0, 4.0), layout="constrained")
    axis, lines = drawn.subplots(), summary(rows)
    for position, line in enumerate(lines):
        axis.errorbar(position, line["skill"], yerr=line["± skill"], fmt="o", capsize=4, color="#2a5d9f")
    axis.axhline(1.0, color="#c44e52", ls="--", label="μ-blind")
    axis.set(ylabel="skill (lower is better)", yscale="log", title=f"Sine-Gordon in β, {in_beta.DIMENSION} dimensions")
    axis.set_xticks(range(len(lines)), [line["modulation"] for line in lines])
    axis.legend(fontsize=8)
    return drawn


STUDY = Study(run, figure, summary, finding)
