"""What `trust` says of every μ that the sliders reach: its residual on a grid, and how errors follow from it.

The grid is uniform in the coordinate of the parameters' law, in units of the box, and reaches beyond it on either side.
"""

import math
from collections.abc import Callable
from dataclasses import asdict

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.interpolate import RegularGridInterpolator

from prism.networks.model import Model
from prism.numerics.keys import Purpose, child, items, stream
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace
from prism.solution.explorer.packing import packed
from prism.solution.trust import CHUNK, Calibration, scaled_residuals

BEYOND = 0.25
"""Widths of the box by which the sliders reach beyond each of its ends."""
SPACING = {1: 1 / 32, 2: 1 / 8, 3: 1 / 4}
"""Widths between the nodes, by the number of parameters; with more than three the page has no residuals."""
TESTED = 16
"""μ of the box at which the interpolated residual is compared with the true one."""


def trained_ends(space: ParameterSpace) -> Float[np.ndarray, "2 p"]:
    """Both ends of the trained box in the uniform coordinate."""
    return np.stack([np.asarray(end, np.float64) for end in space.uniform_box()])


def slider_ends(space: ParameterSpace) -> Float[np.ndarray, "2 p"]:
    """Both ends of the sliders in the uniform coordinate."""
    low, high = trained_ends(space)
    return np.stack([low - BEYOND * (high - low), high + BEYOND * (high - low)])


def trust_map(model: Model, family: Family, calibration: Calibration, tell: Callable[[], None]) -> dict[str, object]:
    """The residual over the sliders' range, and the calibration."""
    size = family.parameters.size
    if size not in SPACING:
        return {"residual": None, "reason": f"the page has no residuals for {size} parameters; ask prism trust"}
    nodes = _nodes(size)
    fractions = np.stack(np.meshgrid(*[nodes] * size, indexing="ij"), axis=-1).reshape(-1, size)
    found = []
    for first in range(0, len(fractions), CHUNK):
        found.append(_logarithms(model, family, fractions[first : first + CHUNK]))
        tell()
    logarithms = np.concatenate(found).reshape([len(nodes)] * size)
    return {
        "residual": {"nodes": nodes.tolist(), "logarithms": packed(logarithms.astype(np.float32))},
        "residuals": list(calibration.residuals),
        "rings": [asdict(ring) for ring in calibration.rings],
        "interpolation_error": _interpolation_error(model, family, nodes, logarithms),
    }


def reports(size: int) -> int:
    """How often `trust_map` tells that it has gone on."""
    return math.ceil(len(_nodes(size)) ** size / CHUNK) if size in SPACING else 0


def _nodes(size: int) -> Float[np.ndarray, "nodes"]:
    """Along one parameter, in units of its box: the ends of the box are among them."""
    return np.arange(-BEYOND, 1.0 + BEYOND + SPACING[size] / 2, SPACING[size])


def _logarithms(model: Model, family: Family, fractions: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n"]:
    """log ρ at μ that are given in units of the box."""
    low, high = (end[None] for end in trained_ends(family.parameters))
    uniform = jnp.asarray(low + (high - low) * fractions, jnp.zeros(()).dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(scaled_residuals(model, family, family.parameters.from_uniform_coordinate(uniform)))


def _interpolation_error(
    model: Model, family: Family, nodes: Float[np.ndarray, "nodes"], logarithms: Float[np.ndarray, "..."]
) -> float:
    """The largest relative error of the interpolated residual at some μ of the box."""
    keys = items(child(stream(0, Purpose.TRUST), Purpose.CHECK), TESTED)
    random = jax.vmap(lambda key: jax.random.uniform(key, (logarithms.ndim,)))(keys)
    fractions = np.asarray(random, np.float64)
    interpolated = RegularGridInterpolator([nodes] * logarithms.ndim, logarithms)(fractions)
    return float(np.max(np.abs(np.expm1(interpolated - _logarithms(model, family, fractions)))))
