"""What the studies over β share: Sine-Gordon in β, how long it is trained, and the errors over β as rows and curves."""

from collections.abc import Sequence

import jax.numpy as jnp
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from prism.families import SineGordonBeta
from prism.families.two_body import TwoBodyFamily
from prism.numerics.keys import EVALUATION, PROBLEM, stream
from prism.problem.family import Family
from prism.problem.parameters import LogUniform, ParameterSpace
from prism.solution.evaluation import errors_at
from prism.studies.trials import Row, Rows, Trial, averaged
from prism.training.loop import Budget

DIMENSION = 20


def budget(full: bool, share: int = 1) -> Budget:
    """The steps of one training, or so small a share of them."""
    return Budget(steps=(1_000 if full else 100) // share)


def problem(parameters: ParameterSpace | None = None, seed: int = 0) -> TwoBodyFamily:
    """Sine-Gordon whose β spans two orders of magnitude."""
    return SineGordonBeta.create(DIMENSION, stream(seed, PROBLEM), parameters=parameters)


def problem_at(beta: float, seed: int = 0) -> TwoBodyFamily:
    """The same for one β alone, as a solver for one parameter sees it."""
    return problem(LogUniform(beta=(beta * (1 - 1e-4), beta * (1 + 1e-4))), seed)


def rows_over(group: str, trial: Trial, family: Family, budget: Budget, betas: Sequence[float]) -> list[Row]:
    """The trial trained on the family, and one row for each β with its error, under the trial's name and seed."""
    seed, model = trial.settings.seed, trial.run(family, budget).solution.model
    errors = errors_at(model, family, jnp.asarray(betas)[:, None], stream(seed, EVALUATION))
    labels: Row = {group: trial.name, "seed": seed}
    return [{**labels, "β": beta, "relative L2": float(error)} for beta, error in zip(betas, errors, strict=True)]


def errors_over(rows: Rows, group: str, title: str) -> Figure:
    """Mean error over β with its deviation over seeds, one curve for each member of a group, both logarithmic."""
    drawn = Figure(figsize=(6.0, 4.0), layout="constrained")
    axis, lines = drawn.subplots(), averaged(rows, [group, "β"], ["relative L2"])
    for name in dict.fromkeys(line[group] for line in lines):
        here = [line for line in lines if line[group] == name]
        betas, errors, deviations = ([line[c] for line in here] for c in ("β", "relative L2", "± relative L2"))
        axis.errorbar(betas, errors, yerr=deviations, fmt="o-", capsize=3, label=name)
    axis.set(xscale="log", yscale="log", xlabel="β", ylabel="relative L2 error", title=title)
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.legend(fontsize=8)
    return drawn
