"""Which estimator: variance, bias, cost of a step and error after a fixed time, for each at each dimension.

Variance and bias are of the residual of a network trained with `Gram()`, in units of the residual's scale, against its
exact value there: what the noise of an estimator adds at the end of a run, when everything else has become small.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from prism.derivatives.estimators import Coordinates, Estimator, Exact, Gram, Rademacher
from prism.networks.model import Model
from prism.numerics.keys import CHECK, stream
from prism.objective.residuals import residual
from prism.problem.family import Family
from prism.solving.settings import Settings
from prism.studies.trials import Row, Study, Tell, Trial, problem
from prism.training.loop import Budget

DIMENSIONS = (100, 1_000, 10_000, 100_000)
DRAWS, POINTS = 64, 8
SECONDS, FULL_SECONDS = 10.0, 60.0
ESTIMATORS: dict[str, Estimator] = {
    "gram": Gram(),
    "gram:16": Gram(16, shared=False),
    "coordinates:16": Coordinates(16),
    "rademacher:16": Rademacher(16),
    "exact": Exact(),
}
EXACT_UP_TO = 100


def run(full: bool, tell: Tell) -> list[Row]:
    """One row for each dimension and estimator."""
    rows: list[Row] = []
    for dimension in DIMENSIONS:
        family, trained = problem(dimension), None
        for name, estimator in ESTIMATORS.items():
            if name == "exact" and dimension > EXACT_UP_TO:
                continue
            tell(f"{name} at {dimension:,} dimensions")
            outcome = Trial(name, Settings(estimator)).run(
                family, Budget(seconds_of_steps=FULL_SECONDS if full else SECONDS)
            )
            trained = trained or outcome.solution.model
            report = outcome.report()
            rows.append(
                {
                    "d": dimension,
                    "estimator": name,
                    **noise(trained, family, estimator),
                    "seconds a step": report["seconds_per_step"],
                    "steps": report["steps"],
                    "relative L2": report["relative_l2"],
                    "skill": report["skill"],
                }
            )
    return rows


def noise(model: Model, family: Family, estimator: Estimator) -> dict[str, object]:
    """Deviation of the estimated residual and its bias in standard errors, relative to the source's size."""
    keys = jax.random.split(stream(0, CHECK), POINTS)

    @eqx.filter_jit
    def look(model: Model):
        def at(key):
            x, mu = family.domain.sample(key), family.parameters.sample(key)
            one = lambda chosen, k: residual(model, family, chosen, x, mu, k)
            draws = jax.lax.map(lambda k: one(estimator, k), jax.random.split(key, DRAWS))
            silent = residual(model.constant(jnp.zeros(())), family, Gram(), x, mu, key)
            return one(Gram(), key), draws, silent

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


def figure(rows: Sequence[dict]) -> Figure:
    """Skill after the fixed time, time of a step and deviation, against the dimension."""
    drawn = Figure(figsize=(12.0, 3.8), layout="constrained")
    panels = (("skill", "skill after the same time"), ("seconds a step", "seconds a step"), ("deviation", "deviation"))
    axes = drawn.subplots(1, 3)
    for axis, (column, title) in zip(axes, panels, strict=True):
        for number, name in enumerate(ESTIMATORS):
            here = [(row["d"], row[column]) for row in rows if row["estimator"] == name and row[column]]
            if here:
                axis.plot(*zip(*here, strict=True), "o-", color=f"C{number}", label=name)
        axis.set(title=title, xlabel="dimension", xscale="log", yscale="log")
    axes[0].axhline(1.0, color="#c44e52", ls="--", label="μ-blind")
    axes[0].legend(fontsize=8)
    return drawn


STUDY = Study(run, figure)
