"""How the figures of the studies look: one palette, one colour and marker per series, legends beside the data."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, which the colour-blind can tell apart."""
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
REFERENCE, SHADE = "#444444", "#ececec"
"""Lines to compare with, and regions to point out."""
LEGEND_SIZE = 9


def panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, np.ndarray]:
    """A figure of some inches and its axes as a matrix; `options` are those of `Figure.subplots`."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def styles(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Colour and marker of each distinct name, as keywords of `plot` and `errorbar`."""
    looks = [{"color": colour, "marker": marker} for colour, marker in zip(PALETTE, MARKERS, strict=True)]
    return {name: looks[place % len(looks)] for place, name in enumerate(dict.fromkeys(names))}


def offsets(count: int, width: float) -> list[float]:
    """Places of so many series beside each other around zero, so that none hides another."""
    return [width * (place - (count - 1) / 2.0) for place in range(count)]


def legend_below(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """The legend of one panel under the whole figure, where it covers nothing."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(columns, len(labels)), fontsize=LEGEND_SIZE)


def log_ticks(axis: Axis, subdivisions: Sequence[float] = (1.0,)) -> None:
    """Plain numbers (0.1, 1, 1,000) at these multiples of the powers of ten; call it once the scale is logarithmic."""
    axis.set_major_locator(LogLocator(subs=subdivisions, numticks=20))
    axis.set_major_formatter("{x:,g}")
    axis.set_minor_formatter(NullFormatter())
