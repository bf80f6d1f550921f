"""How well the error that `trust` estimates predicts the true one: inside the trained box, near it and far from it.

Problems with one and two parameters, uniform and log-uniform, with and without time, each trained from several seeds.
The calibration draws its μ ring by ring; the queries here are uniform in the volume around the box, under other keys,
where the family has a finite solution. Beside its intervals stand those of the calibration inside the box alone.
"""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from matplotlib.figure import Figure

from prism.families import ReactionDiffusion, SineGordon, SineGordonBeta
from prism.numerics.keys import Purpose, item, stream
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace
from prism.shapes import Key
from prism.solution.evaluation import errors_at
from prism.solution.rings import sides
from prism.solution.solution import Solution
from prism.solution.trust import scaled_residuals
from prism.studies.figures import REFERENCE, legend_below, log_ticks, panels, styles
from prism.studies.trials import Measurement, Measurements, Study, TableRow, Tell, Trial, binomial_interval
from prism.training.loop import Budget

DIMENSION, IN_BETA_OR_TIME = 100, 10
SEEDS = (0, 1)
STEPS, FULL_STEPS = 100, 800
"""Of one training."""
SECONDS, BESIDE = {"sine-gordon": (0.16, 8.0), "sine-gordon-beta": (0.09, 3.0), "reaction-diffusion": (0.03, 3.5)}, 8.0
"""About what a step of each problem takes and its questions, and what is compiled and measured beside the steps."""
QUERIES, POINTS = 200, 1_000
"""Parameters asked at in each region, and points of the true error there."""
REGIONS = {"inside": (0.0, 0.0), "near": (0.0, 0.5), "far": (0.5, 1.0)}
"""Distances from the box in widths: more than the first, at most the second."""


def problems(seed: int) -> dict[str, Family]:
    key = stream(seed, Purpose.PROBLEM)
    return {
        "sine-gordon": SineGordon.create(DIMENSION, key),
        "sine-gordon-beta": SineGordonBeta.create(IN_BETA_OR_TIME, key),
        "reaction-diffusion": ReactionDiffusion.create(IN_BETA_OR_TIME, key),
    }


def plan(full: bool) -> list[float]:
    steps = FULL_STEPS if full else STEPS
    pieces = [[BESIDE + steps * step, asking] for step, asking in SECONDS.values()]
    return len(SEEDS) * [seconds for piece in pieces for seconds in piece]


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each problem, seed and queried μ."""
    measurements: list[Measurement] = []
    for seed in SEEDS:
        for name, family in problems(seed).items():
            labels: Measurement = {"problem": name, "d": family.domain.dimension, "seed": seed}
            tell(f"training {name} at {labels['d']} dimensions, seed {seed}")
            budget = Budget(steps=FULL_STEPS if full else STEPS)
            solution = Trial("default", {"seed": seed}).run(family, budget).solution
            tell(f"asking at {QUERIES} parameters inside, near and far")
            measurements += [{**labels, **found} for found in measure(solution, family)]
    return measurements


def measure(solution: Solution, family: Family) -> list[Measurement]:
    """What trust says and what is true at the queries of every region; those without a finite solution left out."""
    key, space = stream(1, Purpose.CHECK), family.parameters
    found: list[Measurement] = []
    for number, (region, (inner, outer)) in enumerate(REGIONS.items()):
        queried = queries(space, inner, outer, item(key, number))
        residuals = scaled_residuals(solution.model, family, queried)
        errors = errors_at(solution.model, family, queried, stream(2, Purpose.CHECK), POINTS)
        beyond = np.asarray(jax.vmap(lambda mu: sides(space, mu))(queried), np.float64)
        for mu, scaled, error, far in zip(np.asarray(queried), residuals, errors, beyond, strict=True):
            estimate = solution.calibration.estimate(float(scaled), far)
            from_box = solution.calibration.estimate(float(scaled), np.zeros_like(far)).interval
            if np.isfinite(error) and estimate.error is not None and estimate.interval is not None and from_box:
                found.append(
                    {
                        "region": region,
                        "mu": mu.tolist(),
                        "residual": float(scaled),
                        "estimated": estimate.error,
                        "low": estimate.interval[0],
                        "high": estimate.interval[1],
                        "low from the box": from_box[0],
                        "high from the box": from_box[1],
                        "error": float(error),
                    }
                )
    return found


def queries(space: ParameterSpace, inner: float, outer: float, key: Key) -> Float[Array, "queries p"]:
    """Uniform in the volume of the box enlarged by `outer` of its widths on every side, without the box enlarged by
    `inner`; for the box itself, in that."""
    low, high = space.uniform_box()
    places = np.asarray(jax.random.uniform(key, (16 * QUERIES, space.size), minval=-outer, maxval=1.0 + outer))
    distances = np.max(np.maximum(-places, places - 1.0), axis=1)
    chosen = places[distances > inner][:QUERIES] if outer else places[:QUERIES]
    return space.from_uniform_coordinate(low[None] + (high - low)[None] * jnp.asarray(chosen))


def summary(measurements: Measurements) -> list[TableRow]:
    """For each problem and region: how often the interval holds the true error, over all seeds and in the worst one."""
    table: list[TableRow] = []
    for (name, region), here in _grouped(measurements, "problem", "region").items():
        estimated, true = (np.asarray([one[column] for one in here]) for column in ("estimated", "error"))
        held = _held(here)
        low, high = binomial_interval(sum(held), len(held))
        by_seed = [np.mean(_held(seeded)) for seeded in _grouped(here, "seed").values()]
        table.append(
            {
                "problem": f"{name}, {here[0]['d']}",
                "queried μ": region,
                "number": len(here),
                "true within the interval": float(np.mean(held)),
                "binomial 95 %": f"{low:.3f} to {high:.3f}",
                "worst seed": float(min(by_seed)),
                "calibrated in the box alone": float(np.mean(_held(here, " from the box"))),
                "median high / low": float(np.median([one["high"] / one["low"] for one in here])),
                "median true / estimated": float(np.median(true / estimated)),
                "rank correlation": rank_correlation(estimated, true),
                "largest true error": float(true.max()),
            }
        )
    return table


def _grouped(measurements: Measurements, *columns: str) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Those that agree in some columns, in the order in which they come."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for one in measurements:
        groups.setdefault(tuple(one[column] for column in columns), []).append(one)
    return groups


def _held(measurements: Measurements, kind: str = "") -> list[bool]:
    """Of each, whether the interval holds the true error; `kind` ends the names of its columns."""
    return [one[f"low{kind}"] <= one["error"] <= one[f"high{kind}"] for one in measurements]


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's: the correlation of the ranks (no ties among continuous values)."""
    rank = lambda values: np.argsort(np.argsort(values))
    return float(np.corrcoef(rank(first), rank(second))[0, 1])


def figure(measurements: Measurements) -> Figure:
    """True error against estimated, both logarithmic, with the interval of each; one row per problem, one column per
    region."""
    problems = _grouped(measurements, "problem")
    regions = list(dict.fromkeys(one["region"] for one in measurements))
    size = (3.6 * len(regions), 3.4 * len(problems) + 0.6)
    drawn, grid = panels(len(problems), len(regions), size)
    looks = styles(f"seed {one['seed']}" for one in measurements)
    for row, ((name,), of_problem) in zip(grid, problems.items(), strict=True):
        for axes, region in zip(row, regions, strict=True):
            here = [one for one in of_problem if one["region"] == region]
            for (seed,), seeded in _grouped(here, "seed").items():
                columns = ("estimated", "error", "low", "high")
                estimated, true, low, high = np.asarray([[one[c] for c in columns] for one in seeded]).T
                look = looks[f"seed {seed}"]
                axes.vlines(estimated, low, high, color=look["color"], alpha=0.15, lw=1.0)
                axes.plot(estimated, true, ls="none", ms=3, label=f"seed {seed}", **look)
            ends = [f([one["estimated"] for one in here]) for f in (min, max)] if here else [1.0, 1.0]
            axes.plot(ends, ends, color=REFERENCE, ls="--", label="true = estimated")
            share = f"{100 * np.mean(_held(here)):.0f} % held" if here else "none"
            axes.set(xscale="log", yscale="log", xlabel="estimated error", ylabel="true error")
            axes.set_title(f"{name}, {region}: {share}", fontsize=9)
            for axis in (axes.xaxis, axes.yaxis):
                log_ticks(axis)
    drawn.suptitle("True relative L2 error over the one that trust estimates; bars: its 95 % intervals")
    legend_below(drawn, grid[0, 0], 3)
    return drawn


def finding(measurements: Measurements) -> str:
    rows = summary(measurements)
    parts = []
    for region in dict.fromkeys(row["queried μ"] for row in rows):
        shares = [100.0 * row["true within the interval"] for row in rows if row["queried μ"] == region]
        parts.append(f"{region} {min(shares):.0f} to {max(shares):.0f} %")
    worst = min(rows, key=lambda row: row["worst seed"])
    return (
        f"Over the problems, the 95 % interval holds the true error at this share of the μ: {', '.join(parts)}. "
        f"The least is one seed of {worst['problem']}, {worst['queried μ']}: {100 * worst['worst seed']:.0f} %."
    )


STUDY = Study(run, plan, figure, summary, finding)
