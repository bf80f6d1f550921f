"""What `trust` says of every μ that the page can ask for: its residual on a grid, and how errors follow from it.

The grid is uniform in the coordinate of the parameters' law, in units of the box, and reaches beyond it on either side.
"""

from collections.abc import Callable
from dataclasses import asdict

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from prism.networks.model import Model
from prism.numerics.keys import Purpose, child, items, stream
from prism.problem.family import Family
from prism.solution.explorer.packing import packed
from prism.solution.trust import CHUNK, Calibration, scaled_residuals

BEYOND = 0.25
"""Widths of the box by which the sliders reach beyond each of its ends."""
STEPS = {1: 1 / 32, 2: 1 / 8, 3: 1 / 4}
"""Between the nodes, by the number of parameters; of more parameters there is no grid."""
CHECKED = 16
"""μ of the box at which the interpolated residual is compared with the true one."""


def trust_map(model: Model, family: Family, calibration: Calibration, tell: Callable[[], None]) -> dict[str, object]:
    """The residual over the sliders' range, and the calibration."""
    size = family.parameters.size
    if size not in STEPS:
        return {"residual": None, "reason": f"the page has no residuals for {size} parameters; ask prism trust"}
    nodes = np.arange(-BEYOND, 1.0 + BEYOND + STEPS[size] / 2, STEPS[size])
    grid = np.stack(np.meshgrid(*[nodes] * size, indexing="ij"), axis=-1).reshape(-1, size)
    logarithms = []
    for first in range(0, len(grid), CHUNK):
        logarithms.append(_logarithms(model, family, grid[first : first + CHUNK]))
        tell()
    return {
        "residual": {"nodes": nodes.tolist(), "logarithms": packed(np.concatenate(logarithms).astype(np.float32))},
        "residuals": sorted(calibration.residuals),
        "rings": [asdict(ring) for ring in calibration.rings],
        "interpolation_error": _interpolation_error(model, family, nodes, np.concatenate(logarithms)),
    }


def steps(size: int) -> int:
    """How often `trust_map` tells that it has gone on."""
    return 0 if size not in STEPS else -(-(round((1.0 + 2.0 * BEYOND) / STEPS[size] + 1) ** size) // CHUNK)


def _logarithms(model: Model, family: Family, places: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n"]:
    """log ρ at μ that are given in units of the box."""
    low, high = family.parameters.uniform_box()
    parameters = family.parameters.from_uniform_coordinate(
        low[None] + (high - low)[None] * jnp.asarray(places, low.dtype)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(scaled_residuals(model, family, parameters))


def _interpolation_error(
    model: Model, family: Family, nodes: Float[np.ndarray, "nodes"], logarithms: Float[np.ndarray, "grid"]
) -> float:
    """The largest relative error of the interpolated residual at some μ of the box."""
    size = family.parameters.size
    keys = items(child(stream(0, Purpose.TRUST), Purpose.CHECK), CHECKED)
    places = np.asarray(jax.vmap(lambda key: jax.random.uniform(key, (size,)))(keys), np.float64)
    true = _logarithms(model, family, places)
    axes, table = (places - nodes[0]) / (nodes[1] - nodes[0]), logarithms.reshape([len(nodes)] * size)
    for axis in range(size):
        first = np.minimum(np.floor(axes[:, axis]).astype(int), len(nodes) - 2)
        part = (axes[:, axis] - first).reshape(-1, *[1] * (size - axis - 1))
        low, high = ((table[k] if axis == 0 else table[np.arange(CHECKED), k]) for k in (first, first + 1))
        table = (1.0 - part) * low + part * high
    return float(np.max(np.abs(np.expm1(table - true))))
