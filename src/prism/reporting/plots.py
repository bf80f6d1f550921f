"""Pictures of a run: how it converged, where in μ it errs, and a slice of the solution beside the truth."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from matplotlib.figure import Figure

from prism.files.storage import write_file
from prism.objective.residuals import solution_value
from prism.problem.domains import Domain
from prism.solution.evaluation import Evaluation
from prism.solution.solution import Solution

BASELINES = (("trivial_error", "trivial", "#888888", ":"), ("mu_blind_error", "μ-blind", "#c44e52", "--"))
BLUE = "#2a5d9f"
SLICE_WORK = 3e8
"""How many coordinates a slice may compute: 101 x 101 points up to 30,000 dimensions, fewer beyond."""
SLICE_REACH = 4.0
"""How many deviations of a coordinate a slice reaches to either side. Farther out a ball of many dimensions has no
points to speak of, and nothing is trained."""


def save_plots(
    solution: Solution, evaluation: Evaluation | None, metrics: Sequence[dict], directory: Path
) -> list[Path]:
    """Every picture the run allows; returns their paths."""
    figures = {"convergence": convergence(metrics, evaluation)}
    if evaluation is not None:
        figures["error_over_parameters"] = error_over_parameters(evaluation)
    for name, axes in slice_axes(solution.family.domain).items():
        figures[name] = two_coordinate_slice(solution, *axes)
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


@dataclass(frozen=True)
class Axis:
    """One coordinate of a point and where a slice shows it."""

    index: int
    low: float
    high: float
    label: str

    def ticks(self, size: int) -> np.ndarray:
        return np.linspace(self.low, self.high, size)


def two_coordinate_slice(solution: Solution, across: Axis, up: Axis) -> Figure:
    """Prediction, and where it is known exact solution and difference, over two coordinates, a row for each μ."""
    family, space = solution.family, solution.family.parameters
    rows = _shown_parameters(solution)
    columns = 3 if family.has_exact else 1
    figure, panels = _axes(len(rows), columns, (4.6 * columns, 0.4 + 3.6 * len(rows)))
    for line, mu in zip(np.reshape(panels, (len(rows), columns)), rows, strict=True):
        predicted, exact = _slice_values(solution, mu, across, up)
        fields = [("prediction", predicted, "viridis"), ("exact", exact, "viridis")]
        fields.append(("prediction − exact", predicted - exact, "RdBu_r"))
        at = ", ".join(f"{name} = {float(value):.3g}" for name, value in zip(space.names, mu, strict=True))
        for panel, (title, values, colours) in zip(line, fields, strict=False):
            reference = values if colours == "RdBu_r" or not family.has_exact else exact
            largest = np.nanmax(np.abs(reference))
            limits = (-largest, largest) if colours == "RdBu_r" else (np.nanmin(reference), np.nanmax(reference))
            ticks = across.ticks(len(values)), up.ticks(len(values))
            image = panel.pcolormesh(*ticks, values.T, shading="auto", cmap=colours, vmin=limits[0], vmax=limits[1])
            panel.set(title=f"{title}, {at}", xlabel=across.label, ylabel=up.label, box_aspect=1)
            figure.colorbar(image, ax=panel, shrink=0.85)
    figure.suptitle(f"{type(family).__name__}, {family.domain.dimension:,} dimensions; other coordinates at the centre")
    return figure


def slice_axes(domain: Domain) -> dict[str, tuple[Axis, Axis]]:
    """The slices that are shown: (x₁, x₂), and before it (x₁, t) where there is time; as far as points are found."""
    (low, high), reach = domain.bounds, SLICE_REACH * domain.spread
    middle = (low + high) / 2
    ends = max(low, middle - reach), min(high, middle + reach)
    first, second = (Axis(index, *ends, f"$x_{index + 1}$") for index in (0, 1))
    if domain.time_horizon is None:
        return {"slice": (first, second)} if domain.dimension > 1 else {}
    time = Axis(domain.coordinates - 1, 0.0, domain.time_horizon, "$t$")
    return {"slice": (first, time)} | ({"space_slice": (first, second)} if domain.dimension > 1 else {})


def _shown_parameters(solution: Solution) -> list[Array]:
    """The middle μ; with time the ends of the box too, between which a solution runs slow and fast."""
    space = solution.family.parameters
    if solution.family.domain.time_horizon is None:
        return [space.middle()]
    return [jnp.asarray(space.lows, float), space.middle(), jnp.asarray(space.highs, float)]


def _slice_values(solution: Solution, mu: Array, across: Axis, up: Axis) -> tuple[np.ndarray, np.ndarray]:
    """Prediction and exact solution on the grid of a slice (NaN outside a ball), one point at a time."""
    domain = solution.family.domain
    named, centre = solution.family.parameters.named(mu), domain.centre()
    size = int(np.clip((SLICE_WORK / domain.coordinates) ** 0.5, 15, 101))
    grid = np.stack(np.meshgrid(across.ticks(size), up.ticks(size), indexing="ij"), axis=-1).reshape(-1, 2)
    places = jnp.asarray([across.index, up.index])

    @eqx.filter_jit
    def values(solution: Solution, pairs: Array) -> tuple[Array, Array]:
        def one(pair: Array) -> tuple[Array, Array]:
            x = centre.at[places].set(pair)
            exact = solution.family.exact(x, named) if solution.family.has_exact else jnp.nan
            return solution_value(solution.model, solution.family, x, mu), jnp.asarray(exact)

        return jax.lax.map(one, pairs)

    predicted, exact = values(solution, jnp.asarray(grid, dtype=float))
    outside = np.zeros(len(grid), bool)
    if domain.ball_radius is not None:
        outside = np.sum(grid**2, axis=1) > domain.ball_radius**2
    clear = lambda column: np.where(outside, np.nan, np.asarray(column)).reshape(size, size)
    return clear(predicted), clear(exact)


def _axes(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns)


def png(figure: Figure) -> bytes:
    """The content of its file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()
