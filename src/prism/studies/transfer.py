"""One PRISM against solvers trained at one β, asked at β they have and have not seen, inside its box and outside."""

from matplotlib.figure import Figure

from prism.families.two_body import TwoBodyFamily
from prism.networks.modulation import NONE
from prism.problem.parameters import LogUniform
from prism.studies import over_beta
from prism.studies.figures import SHADE
from prism.studies.trials import (
    SEEDS,
    Choices,
    Measurement,
    Measurements,
    Study,
    TableRow,
    Tell,
    Trial,
    averaged,
    changed,
)

LOW, HIGH = 0.3, 3.0
FIXED = (0.5, 2.0)
BETAS = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 4.5, 10.0)


def plan(full: bool) -> list[float]:
    return [over_beta.seconds(full)] * (len(SEEDS) * (1 + len(FIXED)))


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each solver, seed and β it is asked at; with the box that PRISM was trained on."""
    measurements: list[Measurement] = []
    budget = over_beta.budget(full)
    for seed in SEEDS:
        family = over_beta.problem(LogUniform(beta=(LOW, HIGH)), seed)
        solvers: list[tuple[str, TwoBodyFamily, Choices]] = [("PRISM", family, {"seed": seed})]
        for beta in FIXED:
            alone = over_beta.problem_at(beta, seed)
            solvers.append((f"fixed at {beta:g}", alone, changed(alone, seed, modulation=NONE)))
        for name, trained, settings in solvers:
            tell(f"{name}, seed {seed}")
            measurements += over_beta.measured_errors("solver", Trial(name, settings), trained, budget, BETAS)
    return [{**one, "box": [LOW, HIGH], "region": region(one["β"])} for one in measurements]


def region(beta: float) -> str:
    """Where β lies as PRISM sees it."""
    return "inside" if LOW <= beta <= HIGH else "outside"


def summary(measurements: Measurements) -> list[TableRow]:
    return averaged(measurements, ["solver", "β", "region"], ["relative L2"])


def finding(measurements: Measurements) -> str:
    low, high = measurements[0]["box"]
    rows = averaged(measurements, ["solver", "region"], ["relative L2"])
    parts = [f"{row['solver']} {row['region']} {row['relative L2']:.2e}" for row in rows]
    return f"Mean relative L2 over seeds and β, inside [{low:g}, {high:g}] and outside: {'; '.join(parts)}."


def figure(measurements: Measurements) -> Figure:
    """Error over β of each solver; the box that PRISM was trained on is shaded."""
    title = f"Zero-shot error after {measurements[0]['steps']} steps; shaded: β that PRISM was trained on"
    drawn = over_beta.figure_of_errors(measurements, "solver", title)
    drawn.axes[0].axvspan(*measurements[0]["box"], color=SHADE, zorder=0)
    return drawn


STUDY = Study(run, plan, figure, summary, finding)
