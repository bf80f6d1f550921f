"""A solution over two of its coordinates, beside the truth where that is known."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from prism.errors import InputError
from prism.networks.model import Model
from prism.numerics.arguments import shown
from prism.numerics.texts import counted
from prism.problem.domains import Domain
from prism.problem.family import Family
from prism.shapes import Parameter
from prism.solution.canvas import canvas
from prism.solution.prediction import at_places, exact, value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SLICE_WORK = 3e8
"""How many coordinates a slice may compute: 101 x 101 points up to 30,000 dimensions, fewer beyond."""
SLICE_REACH = 4.0
"""How many deviations of a coordinate a slice reaches to either side. Farther out a ball of many dimensions has no
points to speak of, and nothing is trained."""

THUMBNAIL = 31
"""Points along a side of a small picture."""


@dataclass(frozen=True)
class Axis:
    """One coordinate of a point and where a slice shows it."""

    index: int
    low: float
    high: float
    label: str

    def ticks(self, size: int) -> np.ndarray:
        return np.linspace(self.low, self.high, size)


def axis_of(domain: Domain, name: str) -> Axis:
    """The coordinate that people call `x1`, `x2`, ... or `t`, as far as points are found."""
    if name == "t" and domain.time_horizon is not None:
        return Axis(domain.coordinates - 1, 0.0, domain.time_horizon, "$t$")
    number = re.fullmatch(r"x([1-9]\d{0,17})", name)
    if number is None or int(number[1]) > domain.dimension:
        time = ", and t" if domain.time_horizon is not None else ""
        raise InputError(f"there is no coordinate {shown(name)}; they are x1 to x{domain.dimension}{time}")
    index = int(number[1]) - 1
    (low, high), reach = domain.interval(index), SLICE_REACH * domain.spread
    if domain.region.side is None:
        middle = (low + high) / 2
        low, high = max(low, middle - reach), min(high, middle + reach)
    return Axis(index, low, high, f"$x_{{{number[1]}}}$")


def usual_slices(domain: Domain) -> dict[str, tuple[Axis, Axis]]:
    """The slices that a run shows: (x₁, x₂), and before it (x₁, t) where there is time."""
    named = [("x1", "t")] if domain.time_horizon is not None else []
    named += [("x1", "x2")] if domain.dimension > 1 else []
    axes = [(axis_of(domain, across), axis_of(domain, up)) for across, up in named]
    return dict(zip(("slice", "space_slice"), axes, strict=False))


def usual_parameters(family: Family) -> list[Parameter]:
    """The middle μ; with time the ends of the box too, between which a solution runs slow and fast."""
    space = family.parameters
    if family.domain.time_horizon is None:
        return [space.middle()]
    return [jnp.asarray(space.lows, float), space.middle(), jnp.asarray(space.highs, float)]


def slice_figure(
    model: Model, family: Family, across: Axis, up: Axis, parameters: Sequence[Parameter] | None = None
) -> "Figure":
    """Prediction, and where it is known exact solution and difference, over two coordinates, a row for each μ."""
    rows = usual_parameters(family) if parameters is None else parameters
    columns = 3 if family.has_exact else 1
    figure, panels = canvas(len(rows), columns, (4.6 * columns, 0.4 + 3.6 * len(rows)))
    for line, mu in zip(np.reshape(panels, (len(rows), columns)), rows, strict=True):
        predicted, truth = slice_values(model, family, mu, across, up)
        fields = [("prediction", predicted, "viridis"), ("exact", truth, "viridis")]
        fields.append(("prediction − exact", predicted - truth, "RdBu_r"))
        at = ", ".join(f"{name} = {float(v):.3g}" for name, v in zip(family.parameters.names, mu, strict=True))
        for panel, (title, values, colours) in zip(line, fields, strict=False):
            reference = values if colours == "RdBu_r" or not family.has_exact else truth
            largest = np.nanmax(np.abs(reference))
            limits = (-largest, largest) if colours == "RdBu_r" else (np.nanmin(reference), np.nanmax(reference))
            ticks = across.ticks(len(values)), up.ticks(len(values))
            image = panel.pcolormesh(*ticks, values.T, shading="auto", cmap=colours, vmin=limits[0], vmax=limits[1])
            panel.set(title=f"{title}, {at}", xlabel=across.label, ylabel=up.label, box_aspect=1)
            figure.colorbar(image, ax=panel, shrink=0.85)
    separator = "; " if columns > 1 else "\n"  # one panel is too narrow for both in a line
    what = f"{type(family).__name__}, {counted(family.domain.dimension, 'dimension')}"
    others = f"{separator}other coordinates at the centre" if family.domain.coordinates > 2 else ""
    figure.suptitle(what + others)
    return figure


def thumbnail(model: Model, family: Family) -> "Figure":
    """A small picture of the first usual slice at the middle μ; of a line, its curve."""
    figure, panel = canvas(1, 1, (2.6, 2.3))
    slices, middle = usual_slices(family.domain), family.parameters.middle()
    if not slices:
        line = axis_of(family.domain, "x1")
        ticks, mu = line.ticks(THUMBNAIL)[:, None], np.repeat(np.asarray(middle)[None], THUMBNAIL, axis=0)
        u = eqx.Partial(value, model, family)
        panel.plot(ticks, at_places(u, family.domain, np.full((THUMBNAIL, 1), line.index), ticks, mu))
        panel.set(xlabel=line.label, ylabel="u")
        return figure
    across, up = next(iter(slices.values()))
    size = min(THUMBNAIL, grid_size(family.domain))
    values = slice_values(model, family, middle, across, up, size, with_exact=False)[0]
    panel.pcolormesh(across.ticks(size), up.ticks(size), values.T, shading="auto", cmap="viridis")
    panel.set(xlabel=across.label, ylabel=up.label, box_aspect=1)
    return figure


def grid_size(domain: Domain) -> int:
    """Points along a side of a slice."""
    return int(np.clip((SLICE_WORK / domain.coordinates) ** 0.5, 15, 101))


def slice_values(
    model: Model,
    family: Family,
    mu: Parameter,
    across: Axis,
    up: Axis,
    size: int | None = None,
    with_exact: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Prediction and exact solution on the grid of a slice, NaN outside a ball and where nothing is known."""
    domain = family.domain
    size = grid_size(domain) if size is None else size
    grid = np.stack(np.meshgrid(across.ticks(size), up.ticks(size), indexing="ij"), axis=-1).reshape(-1, 2)
    every = lambda row: np.repeat(np.asarray(row)[None], len(grid), axis=0)
    at = lambda function: at_places(function, domain, every([across.index, up.index]), grid, every(mu))
    outside = np.zeros(len(grid), bool)
    if domain.ball_radius is not None:
        outside = np.sum(grid**2, axis=1) > domain.ball_radius**2
    clear = lambda column: np.where(outside, np.nan, column).reshape(size, size)
    predicted = at(eqx.Partial(value, model, family))
    return clear(predicted), clear(at(eqx.Partial(exact, family)) if with_exact and family.has_exact else np.nan)
