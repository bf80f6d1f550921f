"""One PRISM against solvers trained at one β, asked at β they have and have not seen, between and beyond."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from prism.networks.modulation import NONE
from prism.problem.parameters import LogUniform
from prism.solving.settings import Settings
from prism.studies import in_beta
from prism.studies.trials import SEEDS, Row, Study, Tell, Trial, averaged, changed

LOW, HIGH = 0.3, 3.0
FIXED = (0.5, 2.0)
BETAS = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 4.5, 10.0)


def run(full: bool, tell: Tell) -> list[Row]:
    """One row for each solver, seed and β it is asked at."""
    rows: list[Row] = []
    budget = in_beta.budget(full)
    for seed in SEEDS:
        family = in_beta.problem(LogUniform(beta=(LOW, HIGH)), seed)
        solvers = [("PRISM", family, Settings(seed=seed))]
        for beta in FIXED:
            alone = in_beta.problem_at(beta, seed)
            solvers.append((f"fixed at {beta:g}", alone, changed(alone, seed, modulation=NONE)))
        for name, trained, settings in solvers:
            tell(f"{name}, seed {seed}")
            rows += in_beta.rows_over("solver", Trial(name, settings), trained, budget, BETAS)
    return [{**row, "region": region(row["β"])} for row in rows]


def region(beta: float) -> str:
    """Where β lies as PRISM sees it."""
    return "between" if LOW <= beta <= HIGH else "beyond"


def summary(rows: Sequence[Row]) -> list[Row]:
    return averaged(rows, ["solver", "β", "region"], ["relative L2"])


def finding(rows: Sequence[Row]) -> str:
    lines = averaged(rows, ["solver", "region"], ["relative L2"])
    parts = [f"{line['solver']} {line['region']} {line['relative L2']:.2e}" for line in lines]
    return f"Mean relative L2 over seeds and β, between {LOW:g} and {HIGH:g} and beyond: {'; '.join(parts)}."


def figure(rows: Sequence[Row]) -> Figure:
    """Error over β of each solver; the space that PRISM was trained on is shaded."""
    drawn = in_beta.errors_over(rows, "solver", "zero-shot transfer")
    drawn.axes[0].axvspan(LOW, HIGH, color="#dddddd", zorder=0)
    return drawn


STUDY = Study(run, figure, summary, finding)
