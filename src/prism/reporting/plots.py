"""Pictures of a run: how it converged, where in μ it errs, and a slice of the solution beside the truth."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from matplotlib.figure import Figure

from prism.domains import Ball
from prism.evaluation import Evaluation
from prism.residuals import solution_value
from prism.solution import Solution
from prism.storage import write_file

BASELINES = (("trivial_error", "trivial", "#888888", ":"), ("mu_blind_error", "μ-blind", "#c44e52", "--"))
BLUE = "#2a5d9f"
SLICE_WORK = 3e8
"""How many coordinates a slice may compute: 101 x 101 points up to 30,000 dimensions, fewer beyond."""


def save_plots(
    solution: Solution, evaluation: Evaluation | None, metrics: Sequence[dict], directory: Path
) -> list[Path]:
    """Every picture the run allows; returns their paths."""
    figures = {"convergence": convergence(metrics, evaluation)}
    if evaluation is not None:
        figures["error_over_parameters"] = error_over_parameters(evaluation)
    if solution.family.domain.coordinates > 1:
        figures["slice"] = two_coordinate_slice(solution)
    paths = []
    for name, figure in figures.items():
        path = directory / f"{name}.png"
        write_file(path, png(figure))
        paths.append(path)
    return paths


def convergence(metrics: Sequence[dict], evaluation: Evaluation | None) -> Figure:
    """Loss and held-out error against training time, with the baselines as the lines to get below."""
    figure, (left, right) = _axes(1, 2, (10.0, 3.8))
    seconds = [record["seconds"] for record in metrics]
    left.plot(seconds, [record["loss"] for record in metrics], color=BLUE)
    left.set(title="loss (1 = predicting nothing)", xlabel="seconds of training", yscale="log")
    errors = [(record["seconds"], record["relative_l2"]) for record in metrics if record["relative_l2"] is not None]
    if errors:
        right.plot(*zip(*errors, strict=True), color=BLUE, label="held-out error, small sample")
    if evaluation is not None:
        for attribute, label, colour, style in BASELINES:
            right.axhline(getattr(evaluation, attribute), color=colour, ls=style, label=label)
        if evaluation.affine_error is not None:
            right.axhline(evaluation.affine_error, color="#55a868", ls="-.", label="affine in x")
        right.plot(
            seconds[-1:], [evaluation.relative_l2] * len(seconds[-1:]), "o", color=BLUE, label="final, full sample"
        )
    if errors or evaluation is not None:
        right.set(title="relative L2 error", xlabel="seconds of training", yscale="log")
        right.legend(fontsize=8)
    else:
        right.set_axis_off()
    return figure


def error_over_parameters(evaluation: Evaluation) -> Figure:
    """Relative L2 error at each held-out μ against each of its coordinates, with both baselines at the same μ."""
    names = list(evaluation.by_parameter[0].mu)
    figure, panels = _axes(1, len(names), (5.0 * len(names), 3.8))
    for panel, name in zip(np.atleast_1d(panels), names, strict=True):
        rows = sorted(evaluation.by_parameter, key=lambda row: row.mu[name])
        values = [row.mu[name] for row in rows]
        for attribute, label, colour, _ in BASELINES:
            panel.plot(values, [getattr(row, attribute) for row in rows], ".", ms=4, color=colour, label=label)
        panel.plot(values, [row.relative_l2 for row in rows], "o", ms=4, color=BLUE, label="this run")
        panel.set(xlabel=name, yscale="log", title=f"relative L2 error over {name}")
        if min(values) > 0 and max(values) / min(values) > 30:
            panel.set_xscale("log")
        panel.legend(fontsize=8)
    return figure


def two_coordinate_slice(solution: Solution) -> Figure:
    """Prediction, and where it is known exact solution and difference, over two coordinates at the middle μ."""
    family, space = solution.family, solution.family.parameters
    mu = space.middle()
    ticks, predicted, exact = _slice_values(solution, mu)
    fields: list[tuple[str, np.ndarray, str]] = [("prediction", predicted, "viridis")]
    if family.has_exact:
        fields += [("exact", exact, "viridis"), ("prediction − exact", predicted - exact, "RdBu_r")]
    figure, panels = _axes(1, len(fields), (4.6 * len(fields), 4.0))
    for panel, (title, values, colours) in zip(np.atleast_1d(panels), fields, strict=True):
        reference = values if colours == "RdBu_r" or not family.has_exact else exact
        largest = np.nanmax(np.abs(reference))
        limits = (-largest, largest) if colours == "RdBu_r" else (np.nanmin(reference), np.nanmax(reference))
        image = panel.pcolormesh(ticks, ticks, values.T, shading="auto", cmap=colours, vmin=limits[0], vmax=limits[1])
        panel.set(title=title, xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
        figure.colorbar(image, ax=panel, shrink=0.85)
    at = ", ".join(f"{name} = {float(value):.3g}" for name, value in zip(space.names, mu, strict=True))
    figure.suptitle(
        f"{type(family).__name__}, {family.domain.dimension:,} dimensions, {at}; the other coordinates at the centre"
    )
    return figure


def _slice_values(solution: Solution, mu: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ticks, and prediction and exact solution on their grid (NaN outside a ball), one point at a time."""
    family = solution.family
    named, centre = family.parameters.named(mu), family.domain.centre()
    size = int(np.clip((SLICE_WORK / family.domain.coordinates) ** 0.5, 15, 101))
    low, high = family.domain.bounds
    ticks = np.linspace(low, high, size)
    grid = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)

    @eqx.filter_jit
    def values(solution: Solution, pairs: Array) -> tuple[Array, Array]:
        def one(pair: Array) -> tuple[Array, Array]:
            x = centre.at[:2].set(pair)
            exact = solution.family.exact(x, named) if solution.family.has_exact else jnp.nan
            return solution_value(solution.model, solution.family, x, mu), jnp.asarray(exact)

        return jax.lax.map(one, pairs)

    predicted, exact = values(solution, jnp.asarray(grid, dtype=float))
    outside = np.sum(grid**2, axis=1) > high**2 if isinstance(family.domain, Ball) else np.zeros(len(grid), bool)
    clear = lambda column: np.where(outside, np.nan, np.asarray(column)).reshape(size, size)
    return ticks, clear(predicted), clear(exact)


def _axes(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns)


def png(figure: Figure) -> bytes:
    """The content of its file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()
