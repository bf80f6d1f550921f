"""Why a family: one PRISM, one naive concatenation, and a network retrained for every β, each with the same steps.

All three take as many steps in total, so that retraining has a share of them for each β. Preparation (compilation) is
left out, which spares retraining most.
"""

from collections.abc import Sequence

import numpy as np

from prism.networks.modulation import CONCAT, NONE
from prism.solving.settings import Settings
from prism.studies import in_beta
from prism.studies.trials import SEEDS, Row, Study, Tell, Trial, averaged, changed

BETAS = tuple(float(value) for value in np.geomspace(0.15, 8.0, 4))
METHODS = ("PRISM", "concat", "retrain")


def run(full: bool, tell: Tell) -> list[Row]:
    """One row for each method, seed and β."""
    rows: list[Row] = []
    for seed in SEEDS:
        tell(f"seed {seed}")
        rows += _methods(seed, full)
    return rows


def _methods(seed: int, full: bool) -> list[Row]:
    """Both networks in β at every β, and one for each."""
    family = in_beta.problem(seed=seed)
    concat = changed(family, seed, modulation=CONCAT, affine=0)
    rows: list[Row] = []
    for trial in (Trial("PRISM", Settings(seed=seed)), Trial("concat", concat)):
        rows += in_beta.rows_over("method", trial, family, in_beta.budget(full), BETAS)
    for beta in BETAS:
        alone = in_beta.problem_at(beta, seed)
        trial = Trial("retrain", changed(alone, seed, modulation=NONE))
        rows += in_beta.rows_over("method", trial, alone, in_beta.budget(full, len(BETAS)), (beta,))
    return rows


def summary(rows: Sequence[Row]) -> list[Row]:
    return averaged(rows, ["method", "β"], ["relative L2"])


def finding(rows: Sequence[Row]) -> str:
    means = {str(line["method"]): line["relative L2"] for line in averaged(rows, ["method"], ["relative L2"])}
    parts = ", ".join(f"{name} {means[name]:.2e}" for name in METHODS)
    return f"Mean relative L2 over {len(BETAS)} β and seeds, as many steps in total: {parts}."


STUDY = Study(run, lambda rows: in_beta.errors_over(rows, "method", "as many steps for each method"), summary, finding)
