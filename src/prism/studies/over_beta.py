"""What the studies over β share: Sine-Gordon in β, how long it is trained, and its errors over β with their figure."""

from collections.abc import Sequence

import jax.numpy as jnp
from matplotlib.figure import Figure

from prism.families import SineGordonBeta
from prism.families.two_body import TwoBodyFamily
from prism.networks.modulation import ModulationSettings
from prism.numerics.keys import Purpose, stream
from prism.problem.family import Family
from prism.problem.parameters import LogUniform, ParameterSpace
from prism.solution.evaluation import errors_at
from prism.studies.figures import legend_below, log_ticks, panels, styles
from prism.studies.trials import Measurement, Measurements, Trial, averaged, changed, without_affine
from prism.training.loop import Budget

DIMENSION = 20
STEPS, FULL_STEPS = 100, 1_000
SECONDS_PER_STEP, SECONDS_BESIDE = 0.17, 4.0
"""Of a step, and of compilation and evaluation, as measured on two cores."""


def budget(full: bool, parts: int = 1) -> Budget:
    """The steps of one training, or one of so many equal parts of them."""
    return Budget(steps=(FULL_STEPS if full else STEPS) // parts)


def seconds(full: bool, parts: int = 1) -> float:
    """About how long such a training takes."""
    return SECONDS_BESIDE + SECONDS_PER_STEP * (budget(full, parts).steps or 0)


def problem(parameters: ParameterSpace | None = None, seed: int = 0) -> TwoBodyFamily:
    """Sine-Gordon whose β spans two orders of magnitude."""
    return SineGordonBeta.create(DIMENSION, stream(seed, Purpose.PROBLEM), parameters=parameters)


def problem_at(beta: float, seed: int = 0) -> TwoBodyFamily:
    """The same for one β alone, as a solver for one parameter sees it."""
    return problem(LogUniform(beta=(beta * (1 - 1e-4), beta * (1 + 1e-4))), seed)


def modulated(name: str, modulation: ModulationSettings, family: Family, seed: int) -> Trial:
    """The default network with this modulation alone to bring μ in: no affine part."""
    return Trial(name, changed(family, seed, modulation=modulation, lift=without_affine(family)))


def measured_errors(
    group: str, trial: Trial, family: Family, budget: Budget, betas: Sequence[float]
) -> list[Measurement]:
    """The trial trained on the family, then its error at each β; `group` is the column of the trial's name."""
    seed, model = trial.choices.get("seed", 0), trial.run(family, budget).solution.model
    errors = errors_at(model, family, jnp.asarray(betas)[:, None], stream(seed, Purpose.EVALUATION))
    labels: Measurement = {group: trial.name, "d": family.domain.dimension, "steps": budget.steps, "seed": seed}
    return [{**labels, "β": beta, "relative L2": float(error)} for beta, error in zip(betas, errors, strict=True)]


def figure_of_errors(measurements: Measurements, group: str, title: str) -> Figure:
    """Mean error over β with its deviation over seeds, one curve for each member of a group, both logarithmic."""
    figure, ((axes,),) = panels(1, 1, (7.0, 4.8))
    rows = averaged(measurements, [group, "β"], ["relative L2"])
    for name, style in styles(row[group] for row in rows).items():
        here = [row for row in rows if row[group] == name]
        betas, errors, deviations = ([row[c] for row in here] for c in ("β", "relative L2", "± relative L2"))
        axes.errorbar(betas, errors, yerr=deviations, ls="-", capsize=3, label=name, **style)
    dimension, seeds = measurements[0]["d"], rows[0]["seeds"]
    axes.set(xscale="log", yscale="log", xlabel="β", ylabel=f"relative L2 error (mean ± deviation, {seeds} seeds)")
    axes.set_title(f"{title}\nSine-Gordon in β, {dimension:,} dimensions")
    for axis in (axes.xaxis, axes.yaxis):
        log_ticks(axis, (1.0, 2.0, 5.0))
    legend_below(figure, axes)
    return figure
