"""How well the error that `trust` estimates predicts the true one, inside the trained box and outside.

Sine-Gordon at 100 dimensions, trained for μ in [0.5, 1.5]² and asked at μ of [0.25, 2.5]². The calibration has seen
held-out μ of the box alone.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from prism.numerics.keys import CHECK, stream
from prism.solution.evaluation import errors_at
from prism.solution.trust import calibrate, scaled_residuals
from prism.solving.settings import Settings
from prism.studies.trials import Row, Study, Tell, Trial, problem
from prism.training.loop import Budget

DIMENSION = 100
SECONDS, FULL_SECONDS = 50.0, 300.0
QUERIES = 200
LOW, HIGH = 0.25, 2.5
SETTINGS = Settings()


def run(full: bool, tell: Tell) -> list[Row]:
    """One row for each queried μ: half of them inside the box, half outside."""
    family = problem(DIMENSION)
    tell(f"training at {DIMENSION} dimensions")
    solution = (
        Trial("default", SETTINGS).run(family, Budget(seconds_of_steps=FULL_SECONDS if full else SECONDS)).solution
    )
    tell("calibrating on held-out parameters of the box")
    calibration = calibrate(solution)
    queried = queries(stream(0, CHECK))
    tell(f"asking at {QUERIES} parameters")
    residuals = scaled_residuals(solution.model, family, queried)
    errors = errors_at(solution.model, family, queried, stream(1, CHECK), 1_000)
    rows: list[Row] = []
    for mu, scaled, error in zip(np.asarray(queried), residuals, errors, strict=True):
        estimate = calibration.error(float(scaled))
        assert estimate is not None
        rows.append(
            {
                "mu": mu.tolist(),
                "inside": not solution.outside(**dict(zip(family.parameters.names, mu.tolist(), strict=True))),
                "residual": float(scaled),
                "estimated": estimate[0],
                "low": estimate[1],
                "high": estimate[2],
                "error": float(error),
            }
        )
    return rows


def queries(key) -> jax.Array:
    """Uniform in the box, and uniform in the larger one without the box."""
    half, space = QUERIES // 2, problem(2).parameters
    inside = jax.vmap(space.sample)(jax.random.split(key, half))
    wide = jax.random.uniform(jax.random.fold_in(key, 1), (8 * half, space.size), minval=LOW, maxval=HIGH)
    lows, highs = jnp.asarray(space.lows), jnp.asarray(space.highs)
    outside = wide[jnp.any((wide < lows[None]) | (wide > highs[None]), axis=1)]
    return jnp.concatenate([inside, outside[: QUERIES - half]])


def summary(rows: Sequence[Row]) -> list[Row]:
    """Spearman's rank correlation of estimated and true error, and how far apart they are."""
    regions = {"inside": [r for r in rows if r["inside"]], "outside": [r for r in rows if not r["inside"]], "all": rows}
    lines: list[Row] = []
    for name, here in regions.items():
        estimated, true = (np.asarray([row[column] for row in here]) for column in ("estimated", "error"))
        lines.append(
            {
                "queried μ": name,
                "number": len(here),
                "rank correlation": rank_correlation(estimated, true),
                "median true / estimated": float(np.median(true / estimated)),
                "true within the interval": float(np.mean([row["low"] <= row["error"] <= row["high"] for row in here])),
                "largest true error": float(true.max()),
            }
        )
    return lines


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's: the correlation of the ranks (no ties among continuous values)."""
    rank = lambda values: np.argsort(np.argsort(values))
    return float(np.corrcoef(rank(first), rank(second))[0, 1])


def figure(rows: Sequence[Row]) -> Figure:
    """True error against estimated, both logarithmic."""
    drawn = Figure(figsize=(5.6, 5.0), layout="constrained")
    axis = drawn.subplots()
    for inside, name, colour in ((True, "inside the box", "#2a5d9f"), (False, "outside", "#c44e52")):
        here = [row for row in rows if row["inside"] == inside]
        axis.plot([r["estimated"] for r in here], [r["error"] for r in here], "o", ms=4, color=colour, label=name)
    ends = [min(row["estimated"] for row in rows), max(row["estimated"] for row in rows)]
    axis.plot(ends, ends, color="#888888", ls="--", label="as estimated")
    axis.set(xscale="log", yscale="log", xlabel="estimated relative L2 error", ylabel="true relative L2 error")
    axis.set_title(f"trust at {len(rows)} queried μ, {DIMENSION} dimensions")
    axis.legend(fontsize=8)
    return drawn


def finding(rows: Sequence[Row]) -> str:
    parts = [f"{line['queried μ']} {line['rank correlation']:.2f}" for line in summary(rows)]
    return f"Rank correlation of estimated and true error: {', '.join(parts)}."


STUDY = Study(run, figure, summary, finding)
