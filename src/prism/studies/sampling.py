"""How β in [0.1, 10] should be drawn while training: uniformly, or uniformly in its logarithm (paper, section 5.8)."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from prism.evaluation import errors_at
from prism.parameters import LogUniform, Uniform
from prism.settings import Settings
from prism.streams import EVALUATION, stream
from prism.studies.trials import SEEDS, Row, Study, Tell, Trial, averaged, curves, problem_in_beta
from prism.training.loop import Budget

DIMENSION = 20
STEPS, FULL_STEPS = 100, 1_000
BETAS = tuple(float(value) for value in np.geomspace(0.1, 10.0, 9))
LAWS = {"uniform": Uniform(beta=(0.1, 10.0)), "log-uniform": LogUniform(beta=(0.1, 10.0))}


def run(full: bool, tell: Tell) -> list[Row]:
    """One row for each law, seed and β."""
    rows: list[Row] = []
    for seed in SEEDS:
        for name, space in LAWS.items():
            tell(f"{name}, seed {seed}")
            family = problem_in_beta(DIMENSION, space, seed)
            solution = (
                Trial(name, Settings(seed=seed)).run(family, Budget(steps=FULL_STEPS if full else STEPS)).solution
            )
            errors = errors_at(solution.model, family, jnp.asarray(BETAS)[:, None], stream(seed, EVALUATION))
            rows += [
                {"law": name, "seed": seed, "β": beta, "relative L2": float(error)}
                for beta, error in zip(BETAS, errors, strict=True)
            ]
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


def figure(rows: Sequence[Row]) -> Figure:
    """Error over β under each law."""
    drawn = curves(summary(rows), "law", "β", "relative L2")
    drawn.axes[0].set_title("how β is drawn while training")
    return drawn


STUDY = Study(run, figure, summary, finding)
