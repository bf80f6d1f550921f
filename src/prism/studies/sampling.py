"""How β in [0.1, 10] should be drawn while training: uniformly, or uniformly in its logarithm (paper, section 5.8)."""

import numpy as np
from matplotlib.figure import Figure

from prism.problem.parameters import LogUniform, Uniform
from prism.studies import over_beta
from prism.studies.trials import SEEDS, Measurement, Measurements, Study, TableRow, Tell, Trial, averaged

BETAS = tuple(float(value) for value in np.geomspace(0.1, 10.0, 9))
LAWS = {"uniform": Uniform(beta=(0.1, 10.0)), "log-uniform": LogUniform(beta=(0.1, 10.0))}


def plan(full: bool) -> list[float]:
    return [over_beta.seconds(full)] * (len(SEEDS) * len(LAWS))


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each law, seed and β."""
    measurements: list[Measurement] = []
    budget = over_beta.budget(full)
    for seed in SEEDS:
        for name, space in LAWS.items():
            tell(f"{name}, seed {seed}")
            trial, family = Trial(name, {"seed": seed}), over_beta.problem(space, seed)
            measurements += over_beta.measured_errors("law", trial, family, budget, BETAS)
    return measurements


def summary(measurements: Measurements) -> list[TableRow]:
    return averaged(measurements, ["law", "β"], ["relative L2"])


def finding(measurements: Measurements) -> str:
    parts = []
    for name, chosen in (("below 1", lambda b: b < 1.0), ("1 and above", lambda b: b >= 1.0)):
        here = [one for one in measurements if chosen(one["β"])]
        means = [f"{row['law']} {row['relative L2']:.2e}" for row in averaged(here, ["law"], ["relative L2"])]
        parts.append(f"β {name}: {', '.join(means)}")
    return f"Mean relative L2 over seeds and β. {'; '.join(parts)}."


def figure(measurements: Measurements) -> Figure:
    """Error over β under each law."""
    title = f"Error after {measurements[0]['steps']} steps by how β was drawn in training"
    return over_beta.figure_of_errors(measurements, "law", title)


STUDY = Study(run, plan, figure, summary, finding)
