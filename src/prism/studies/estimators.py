"""Which estimator: variance, bias, cost per step and error after a fixed time, for each at each dimension.

Variance and bias are of the residual of a network trained with `Gram()`, in units of the residual's scale, against its
exact value there: what the noise of an estimator adds at the end of a run, when everything else has become small.
"""

from collections.abc import Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prism.derivatives.estimators import Coordinates, Estimator, Exact, Gram, Rademacher
from prism.networks.model import Model
from prism.numerics.keys import Purpose, child, items, stream
from prism.objective.residuals import place_of, residual
from prism.problem.family import Family
from prism.problem.terms import draw_directions, sample_pair
from prism.shapes import Key
from prism.studies.figures import REFERENCE, legend_below, log_ticks, offsets, panels, styles
from prism.studies.trials import Measurement, Measurements, Study, Tell, Trial, problem
from prism.training.loop import Budget

DIMENSIONS = (100, 1_000, 10_000, 100_000)
DRAWS, POINTS = 64, 8
SECONDS, FULL_SECONDS = 10.0, 60.0
SECONDS_BESIDE = 10.0
"""Seconds of a piece besides its steps: compilation and evaluation, as measured on two cores."""
ESTIMATORS: dict[str, Estimator] = {
    "gram": Gram(),
    "gram:16": Gram(16, shared=False),
    "coordinates:16": Coordinates(16),
    "rademacher:16": Rademacher(16),
    "exact": Exact(),
}
EXACT_UP_TO = 100
NO_DEVIATION = 1e-9
"""Below it, in units of the residual's scale, draws differ by nothing but rounding."""
MU_BLIND = 1.0
"""The skill of the best answer that ignores μ."""


def plan(full: bool) -> list[float]:
    whole = (FULL_SECONDS if full else SECONDS) + SECONDS_BESIDE
    return [whole for dimension in DIMENSIONS for _ in compared(dimension)]


def compared(dimension: int) -> dict[str, Estimator]:
    """The estimators at a dimension; every coordinate direction only where they are few."""
    return {name: one for name, one in ESTIMATORS.items() if name != "exact" or dimension <= EXACT_UP_TO}


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each dimension and estimator."""
    measurements: list[Measurement] = []
    seconds = FULL_SECONDS if full else SECONDS
    for dimension in DIMENSIONS:
        family, trained = problem(dimension), None
        for name, estimator in compared(dimension).items():
            tell(f"{name} at {dimension:,} dimensions")
            outcome = Trial(name, {"estimator": estimator}).run(family, Budget(minutes=seconds / 60.0))
            trained = trained or outcome.solution.model
            report = outcome.report()
            measurements.append(
                {
                    "d": dimension,
                    "estimator": name,
                    **noise(trained, family, estimator),
                    "seconds": seconds,
                    "seconds per step": report["seconds_per_step"],
                    "steps": report["steps"],
                    "relative L2": report["relative_l2"],
                    "skill": report["skill"],
                }
            )
    return measurements


def noise(model: Model, family: Family, estimator: Estimator) -> dict[str, object]:
    """Deviation of the estimated residual and its bias in standard errors, relative to the source's size."""
    keys = items(stream(0, Purpose.CHECK), POINTS)

    @eqx.filter_jit
    def look(model: Model):
        def at(key: Key):
            (x, mu), directions = sample_pair(family, key), child(key, Purpose.DIRECTIONS)
            place = place_of(model, family, x, mu)
            one = lambda chosen, k: residual(model, family, draw_directions(family, chosen, place, k), x, mu)
            estimates = jax.lax.map(lambda k: one(estimator, k), items(directions, DRAWS))
            exact = draw_directions(family, Gram(), place, directions)
            silent = residual(model.constant(jnp.zeros(())), family, exact, x, mu)
            return residual(model, family, exact, x, mu), estimates, silent

        return jax.lax.map(at, keys)

    exact, draws, silent = (np.asarray(part, np.float64) for part in look(model))
    scale = np.sqrt(np.mean(silent**2))
    deviation = draws.std(axis=1)
    rounding = 1e-5 * scale
    errors = (draws.mean(axis=1) - exact) / (deviation / np.sqrt(DRAWS) + rounding)
    return {
        "deviation": float(np.sqrt(np.mean(deviation**2)) / scale),
        "bias (standard errors)": float(np.abs(errors).max()),
    }


def figure(measurements: Measurements) -> Figure:
    """Skill after the fixed time, seconds per step and deviation of the residual, over the dimension."""
    looks, floor = styles(one["estimator"] for one in measurements), _floor(measurements)
    drawn, (axes,) = panels(1, 3, (13.0, 4.6))
    for name, offset in zip(looks, offsets(len(looks), 0.03), strict=True):
        here = [one for one in measurements if one["estimator"] == name]
        dimensions = [one["d"] * 10.0**offset for one in here]
        for panel, column in zip(axes, ("skill", "seconds per step"), strict=False):
            panel.plot(dimensions, [one[column] for one in here], ls="-", label=name, **looks[name])
        _plot_deviations(axes[2], dimensions, here, looks[name], floor)
    axes[0].axhline(MU_BLIND, color=REFERENCE, ls="--", label="best answer that ignores μ")
    axes[0].set(title=f"skill after {measurements[0]['seconds']:g} s of steps", ylabel="skill (lower is better)")
    axes[1].set(title="cost of a step", ylabel="seconds per step")
    axes[2].set(title="noise at the same network and points", ylabel="deviation of the residual / its scale")
    axes[2].axhline(floor, color=REFERENCE, ls=":")
    axes[2].text(0.98, floor * 1.4, "no deviation: 0", transform=axes[2].get_yaxis_transform(), ha="right", fontsize=9)
    for panel in axes:
        panel.set(xlabel="dimension", xscale="log", yscale="log")
        log_ticks(panel.xaxis)
    log_ticks(axes[1].yaxis, (1.0, 2.0, 5.0))
    legend_below(drawn, axes[0], 6)
    return drawn


def _floor(measurements: Measurements) -> float:
    """Where a logarithmic axis shows a deviation of zero: below every other."""
    return min([one["deviation"] for one in measurements if one["deviation"] > NO_DEVIATION], default=1.0) / 30.0


def _plot_deviations(
    axes: Axes, dimensions: Sequence[float], here: Measurements, look: Mapping[str, str], floor: float
) -> None:
    """Deviations as filled markers on a line, those of zero as hollow ones on the floor."""
    deviations = np.asarray([one["deviation"] for one in here])
    none = deviations <= NO_DEVIATION
    axes.plot(dimensions, np.where(none, np.nan, deviations), ls="-", color=look["color"], marker=look["marker"])
    hollow = np.where(none, floor, np.nan)
    axes.plot(dimensions, hollow, ls="none", mfc="none", mew=1.5, color=look["color"], marker=look["marker"])


STUDY = Study(run, plan, figure)
