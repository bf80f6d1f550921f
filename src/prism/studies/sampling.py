"""How β in [0.1, 10] should be drawn while training: uniformly, or uniformly in its logarithm (paper, section 5.8)."""

from collections.abc import Sequence

import numpy as np

from prism.problem.parameters import LogUniform, Uniform
from prism.solving.settings import Settings
from prism.studies import in_beta
from prism.studies.trials import SEEDS, Row, Study, Tell, Trial, averaged

BETAS = tuple(float(value) for value in np.geomspace(0.1, 10.0, 9))
LAWS = {"uniform": Uniform(beta=(0.1, 10.0)), "log-uniform": LogUniform(beta=(0.1, 10.0))}


def run(full: bool, tell: Tell) -> list[Row]:
    """One row for each law, seed and β."""
    rows: list[Row] = []
    budget = in_beta.budget(full)
    for seed in SEEDS:
        for name, space in LAWS.items():
            tell(f"{name}, seed {seed}")
            trial, family = Trial(name, Settings(seed=seed)), in_beta.problem(space, seed)
            rows += in_beta.rows_over("law", trial, family, budget, BETAS)
    return rows


def summary(rows: Sequence[Row]) -> list[Row]:
    return averaged(rows, ["law", "β"], ["relative L2"])


def finding(rows: Sequence[Row]) -> str:
    parts = []
    for name, chosen in (("below 1", lambda b: b < 1.0), ("1 and above", lambda b: b >= 1.0)):
        here = [row for row in rows if chosen(row["β"])]
        means = {line["law"]: line["relative L2"] for line in averaged(here, ["law"], ["relative L2"])}
        parts.append(f"β {name}: uniform {means['uniform']:.2e}, log-uniform {means['log-uniform']:.2e}")
    return f"Mean relative L2 over seeds and β. {'; '.join(parts)}."


STUDY = Study(run, lambda rows: in_beta.errors_over(rows, "law", "how β is drawn while training"), summary, finding)
