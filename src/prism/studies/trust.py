"""How well the error that `trust` estimates predicts the true one, inside the trained box and outside.

Sine-Gordon at 100 dimensions, trained for μ in [0.5, 1.5]² and asked at μ of [0.25, 2.5]². The calibration has seen
held-out μ of the box alone.
"""

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from prism.numerics.keys import Purpose, child, items, stream
from prism.shapes import Key
from prism.solution.evaluation import errors_at
from prism.solution.trust import scaled_residuals
from prism.studies.figures import REFERENCE, SHADE, legend_below, log_ticks, panels, styles
from prism.studies.trials import Measurement, Measurements, Study, TableRow, Tell, Trial, problem
from prism.training.loop import Budget

DIMENSION = 100
SECONDS, FULL_SECONDS = 50.0, 300.0
SECONDS_BESIDE, CALIBRATION_SECONDS, QUERY_SECONDS = 6.0, 4.0, 4.0
"""Of compilation and evaluation, of the calibration and of all queries, as measured on two cores."""
QUERIES = 200
LOW, HIGH = 0.25, 2.5


def plan(full: bool) -> list[float]:
    return [(FULL_SECONDS if full else SECONDS) + SECONDS_BESIDE, CALIBRATION_SECONDS, QUERY_SECONDS]


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each queried μ: half of them inside the box, half outside."""
    family = problem(DIMENSION)
    tell(f"training at {DIMENSION} dimensions")
    budget = Budget(minutes=(FULL_SECONDS if full else SECONDS) / 60.0)
    solution = Trial("default").run(family, budget).solution
    tell("calibrating on held-out parameters of the box")
    calibration = solution.calibration
    queried = queries(stream(0, Purpose.CHECK))
    tell(f"asking at {QUERIES} parameters")
    residuals = scaled_residuals(solution.model, family, queried)
    errors = errors_at(solution.model, family, queried, stream(1, Purpose.CHECK), 1_000)
    measurements: list[Measurement] = []
    for mu, scaled, error in zip(np.asarray(queried), residuals, errors, strict=True):
        estimate = calibration.error(float(scaled))
        assert estimate is not None
        measurements.append(
            {
                "d": DIMENSION,
                "mu": mu.tolist(),
                "inside": not solution.outside(**dict(zip(family.parameters.names, mu.tolist(), strict=True))),
                "residual": float(scaled),
                "estimated": estimate[0],
                "low": estimate[1],
                "high": estimate[2],
                "error": float(error),
            }
        )
    return measurements


def queries(key: Key) -> jax.Array:
    """Uniform in the box, and uniform in the larger one without the box."""
    half, space = QUERIES // 2, problem(2).parameters
    inside = jax.vmap(space.sample)(items(key, half))
    wide = jax.random.uniform(child(key, Purpose.QUERIES), (8 * half, space.size), minval=LOW, maxval=HIGH)
    lows, highs = jnp.asarray(space.lows), jnp.asarray(space.highs)
    outside = wide[jnp.any((wide < lows[None]) | (wide > highs[None]), axis=1)]
    return jnp.concatenate([inside, outside[: QUERIES - half]])


def summary(measurements: Measurements) -> list[TableRow]:
    """Spearman's rank correlation of estimated and true error, and how far apart they are."""
    inside = [one for one in measurements if one["inside"]]
    outside = [one for one in measurements if not one["inside"]]
    table: list[TableRow] = []
    for name, here in (("inside", inside), ("outside", outside), ("all", measurements)):
        estimated, true = (np.asarray([one[column] for one in here]) for column in ("estimated", "error"))
        table.append(
            {
                "queried μ": name,
                "number": len(here),
                "rank correlation": rank_correlation(estimated, true),
                "median true / estimated": float(np.median(true / estimated)),
                "true within the interval": float(np.mean([one["low"] <= one["error"] <= one["high"] for one in here])),
                "largest true error": float(true.max()),
            }
        )
    return table


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's: the correlation of the ranks (no ties among continuous values)."""
    rank = lambda values: np.argsort(np.argsort(values))
    return float(np.corrcoef(rank(first), rank(second))[0, 1])


def figure(measurements: Measurements) -> Figure:
    """True error against estimated, both logarithmic, with the interval that is given beside the estimate."""
    drawn, ((axes,),) = panels(1, 1, (6.2, 5.8))
    regions = {"inside the box": True, "outside the box": False}
    for (name, inside), look in zip(regions.items(), styles(regions).values(), strict=True):
        here = [one for one in measurements if one["inside"] == inside]
        axes.plot(
            [one["estimated"] for one in here], [one["error"] for one in here], ls="none", ms=4, label=name, **look
        )
    columns = ("estimated", "low", "high")
    estimated, low, high = np.sort(np.asarray([[one[c] for c in columns] for one in measurements]), axis=0).T
    axes.fill_between(estimated, low, high, color=SHADE, zorder=0, label="interval given with the estimate")
    axes.plot(estimated, estimated, color=REFERENCE, ls="--", label="true = estimated")
    axes.set(xscale="log", yscale="log", xlabel="estimated relative L2 error", ylabel="true relative L2 error")
    for axis in (axes.xaxis, axes.yaxis):
        log_ticks(axis, (1.0, 2.0, 5.0))
    axes.set_title(
        f"True error over the one that trust estimates\n{len(measurements)} μ, {measurements[0]['d']} dimensions"
    )
    legend_below(drawn, axes, 2)
    return drawn


def finding(measurements: Measurements) -> str:
    parts = [f"{row['queried μ']} {row['rank correlation']:.2f}" for row in summary(measurements)]
    return f"Rank correlation of estimated and true error: {', '.join(parts)}."


STUDY = Study(run, plan, figure, summary, finding)
