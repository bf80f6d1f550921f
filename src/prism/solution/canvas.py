"""Empty figures; matplotlib is imported when the first is drawn, for most programs draw none."""

import importlib
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, GREY, RED, GREEN = "#2a5d9f", "#888888", "#c44e52", "#55a868"


def canvas(rows: int, columns: int, size: tuple[float, float]) -> tuple["Figure", Any]:
    """A figure and its panels."""
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns)


def png(figure: "Figure", dots_per_inch: int = 130) -> bytes:
    """The content of its file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dots_per_inch)
    return buffer.getvalue()
