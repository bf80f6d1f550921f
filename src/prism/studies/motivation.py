"""Why a family: one PRISM, one naive concatenation, and a network retrained for every β, each with the same steps.

All three take as many steps in total, so that retraining has an equal part of them for each β. All three are without
the affine part, and so differ in nothing but how β enters: by scale and shift, added to the hidden layers, or not at
all. Preparation (compilation) is left out, which spares retraining most.
"""

import numpy as np
from matplotlib.figure import Figure

from prism.networks.modulation import CONCAT, FILM, NONE
from prism.studies import over_beta
from prism.studies.trials import SEEDS, Measurement, Measurements, Study, TableRow, Tell, averaged

BETAS = tuple(float(value) for value in np.geomspace(0.15, 8.0, 4))
SHARED = {"PRISM": FILM, "concat": CONCAT}
"""One network for every β."""


def plan(full: bool) -> list[float]:
    retrained = over_beta.seconds(full, len(BETAS))
    return [*[over_beta.seconds(full)] * len(SHARED), *[retrained] * len(BETAS)] * len(SEEDS)


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each method, seed and β."""
    measurements: list[Measurement] = []
    for seed in SEEDS:
        measurements += _methods(seed, full, tell)
    return measurements


def _methods(seed: int, full: bool, tell: Tell) -> list[Measurement]:
    """Both networks in β at every β, and one for each."""
    family = over_beta.problem(seed=seed)
    measurements: list[Measurement] = []
    for name, modulation in SHARED.items():
        tell(f"{name}, seed {seed}")
        one = over_beta.modulated(name, modulation, family, seed)
        measurements += over_beta.measured_errors("method", one, family, over_beta.budget(full), BETAS)
    for beta in BETAS:
        tell(f"retrained for β = {beta:.3g}, seed {seed}")
        alone = over_beta.problem_at(beta, seed)
        part = over_beta.budget(full, len(BETAS))
        retrained = over_beta.modulated("retrain", NONE, alone, seed)
        measurements += over_beta.measured_errors("method", retrained, alone, part, (beta,))
    return measurements


def summary(measurements: Measurements) -> list[TableRow]:
    return averaged(measurements, ["method", "steps", "β"], ["relative L2"])


def finding(measurements: Measurements) -> str:
    rows = averaged(measurements, ["method"], ["relative L2"])
    parts = ", ".join(f"{row['method']} {row['relative L2']:.2e}" for row in rows)
    betas = len({one["β"] for one in measurements})
    return f"Mean relative L2 over {betas} β and seeds, {_steps(measurements)} steps in total each: {parts}."


def figure(measurements: Measurements) -> Figure:
    """Error over β of each method."""
    title = f"Error of each method after {_steps(measurements)} steps in total, none with an affine part"
    return over_beta.figure_of_errors(measurements, "method", title)


def _steps(measurements: Measurements) -> int:
    """Of a method in total, all of which the networks for every β take at once."""
    return max(one["steps"] for one in measurements)


STUDY = Study(run, plan, figure, summary, finding)
