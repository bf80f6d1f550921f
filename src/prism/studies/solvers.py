"""Which solver: the default with one thing changed at a time, after the same time."""

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.figure import Figure

from prism.derivatives.estimators import Coordinates
from prism.families.two_body import TwoBodyFamily
from prism.objective.objective import Slopes
from prism.solving.settings import Settings
from prism.studies.trials import Row, Study, Tell, Trial, problem
from prism.training.loop import Budget
from prism.training.natural.spring import Spring
from prism.training.optimisers import Adam

DIMENSIONS, FULL_DIMENSIONS = (100,), (100, 1_000, 10_000)
SECONDS, FULL_SECONDS = 20.0, 60.0


def trials(family: TwoBodyFamily) -> list[Trial]:
    """The default, then each change of it."""
    architecture = Settings().completed(family).architecture
    shaped = lambda **changes: Settings(architecture=replace(architecture, **changes))
    return [
        Trial("default: slopes", Settings()),
        Trial("lift in the kernel", Settings(optimiser=Spring(in_kernel=True, slopes=False))),
        Trial("slopes and kernel", Settings(optimiser=Spring(in_kernel=True))),
        Trial("slopes, and rows of them", Settings(optimiser=Spring(slope_rows=True))),
        Trial("no affine part", shaped(affine=0)),
        Trial("lift starts without bias", shaped(lift_bias=0.0)),
        Trial("lift of 64", shaped(lift_width=64)),
        Trial("no momentum", Settings(optimiser=Spring(momentum=0.0))),
        Trial("coordinates:16", Settings(Coordinates(16))),
        Trial("coordinates:16, independent", Settings(Coordinates(16), independent=True)),
        Trial("coordinates:64 (averaged)", Settings(Coordinates(64))),
        Trial("adam", Settings(optimiser=Adam())),
        Trial("adam with whole slopes", Settings(optimiser=Adam(), slopes=Slopes())),
        Trial("adam with one direction", Settings(optimiser=Adam(), slopes=Slopes(1))),
    ]


def run(full: bool, tell: Tell) -> list[Row]:
    """One row for each dimension and change."""
    rows: list[Row] = []
    for dimension in FULL_DIMENSIONS if full else DIMENSIONS:
        family = problem(dimension)
        for trial in trials(family):
            tell(f"{trial.name} at {dimension:,} dimensions")
            report = trial.run(family, Budget(seconds_of_steps=FULL_SECONDS if full else SECONDS)).report()
            rows.append(
                {
                    "d": dimension,
                    "solver": trial.name,
                    "steps": report["steps"],
                    "seconds a step": report["seconds_per_step"],
                    "relative L2": report["relative_l2"],
                    "μ-blind": report["mu_blind_error"],
                    "skill": report["skill"],
                }
            )
    return rows


def figure(rows: Sequence[dict]) -> Figure:
    """Skill of every variant at every dimension."""
    names = list(dict.fromkeys(row["solver"] for row in rows))
    drawn = Figure(figsize=(9.0, 5.0), layout="constrained")
    axis = drawn.subplots()
    for dimension in dict.fromkeys(row["d"] for row in rows):
        skills = {row["solver"]: row["skill"] for row in rows if row["d"] == dimension}
        here = [(skills[name], position) for position, name in enumerate(names) if skills.get(name)]
        axis.plot(*zip(*here, strict=True), "o", label=f"{dimension:,} dimensions")
    axis.axvline(1.0, color="#c44e52", ls="--", label="μ-blind")
    axis.set(title="skill after the same time", xlabel="skill (lower is better)", xscale="log")
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.legend(fontsize=8)
    return drawn


STUDY = Study(run, figure)
