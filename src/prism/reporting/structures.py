"""A picture of which coordinates interact."""

import io

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from prism.problem.structure import Structure


def structure_picture(structure: Structure, title: str) -> bytes:
    """The matrix of mixed second derivatives where it was kept, beside how far interacting coordinates lie apart."""
    figure = Figure(figsize=(9.5, 4.2), layout="constrained")
    matrix, apart = figure.subplots(1, 2)
    figure.suptitle(f"{title} in {structure.dimension:,} dimensions: {structure.kind.value}")
    if structure.matrix is None:
        matrix.text(0.5, 0.5, _reason(structure), ha="center", va="center", wrap=True)
        matrix.set_axis_off()
    else:
        sizes = structure.matrix
        largest = sizes.max() or 1.0
        shown = matrix.imshow(
            np.maximum(sizes, 1e-6 * largest),
            norm=LogNorm(1e-4 * largest, largest),
            cmap="viridis",
            interpolation="nearest",
        )
        figure.colorbar(shown, ax=matrix, label="root mean square of ∂²r/∂x_i∂x_j")
        matrix.set(xlabel="coordinate i", ylabel="coordinate j", title="mixed second derivatives of the residual")
    distances = np.asarray([second - first for first, second in structure.pairs])
    if len(distances):
        apart.hist(distances, bins=min(50, max(2, structure.dimension // 2)), color="#0072b2")
        apart.set(xlabel="|i − j|", ylabel="pairs", title=f"{len(distances):,} pairs that stand out")
        apart.set_yscale("log")
    else:
        apart.text(0.5, 0.5, "no pair stands out", ha="center", va="center")
        apart.set_axis_off()
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=120)
    return content.getvalue()


def _reason(structure: Structure) -> str:
    if structure.probed in (0, structure.dimension) and structure.dimension <= 1_000:
        return structure.describe()[0]
    return f"{structure.probed:,} coordinates probed;\ntoo many to draw"
