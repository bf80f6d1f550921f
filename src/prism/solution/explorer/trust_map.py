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
from prism.solution.explorer.packing import packed
from prism.solution.explorer.subject import BEYOND, Subject, mu_of, trained_ends
from prism.solution.trust import CHUNK, Calibration, judge, scaled_residuals

SPACING = {1: 1 / 32, 2: 1 / 8, 3: 1 / 4}
"""Widths between the nodes, by the number of parameters; with more than three the page has no residuals."""
TESTED = 16
"""μ of the box at which the interpolated residual is compared with the true one."""


def trust_map(subject: Subject, calibration: Calibration, tell: Callable[[], None]) -> dict[str, object]:
    """The residual over the sliders' range, and the calibration; of a tuned solution, what is known at its μ."""
    model, family, size = subject.model, subject.family, subject.family.parameters.size
    if subject.tuned_at is not None:
        return {"residual": None, "reason": "", "tuned": _at_one(subject, calibration)}
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


def _at_one(subject: Subject, calibration: Calibration) -> dict[str, object]:
    """What `trust` tells at the μ of a tuned solution."""
    assert subject.tuned_at is not None
    found = judge(subject.model, subject.family, jnp.asarray(subject.tuned_at, float), calibration)
    told: dict[str, object] = {"residual": found.residual, "quantile": found.quantile}
    if found.error is None or found.error_interval is None:
        return {**told, "reason": found.error_basis}
    return {**told, "error": found.error, "low": found.error_interval[0], "high": found.error_interval[1]}


def reports(subject: Subject) -> int:
    """How often `trust_map` tells that it has gone on."""
    size = subject.family.parameters.size
    return math.ceil(len(_nodes(size)) ** size / CHUNK) if size in SPACING and subject.tuned_at is None else 0


def _nodes(size: int) -> Float[np.ndarray, "nodes"]:
    """Along one parameter, in units of its box: the ends of the box are among them."""
    return np.arange(-BEYOND, 1.0 + BEYOND + SPACING[size] / 2, SPACING[size])


def _logarithms(model: Model, family: Family, fractions: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n"]:
    """log ρ at μ that are given in units of the box."""
    low, high = (end[None] for end in trained_ends(family.parameters))
    mu = mu_of(family.parameters, low + (high - low) * fractions)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(scaled_residuals(model, family, jnp.asarray(mu, float)))


def _interpolation_error(
    model: Model, family: Family, nodes: Float[np.ndarray, "nodes"], logarithms: Float[np.ndarray, "..."]
) -> float:
    """The largest relative error of the interpolated residual at some μ of the box."""
    keys = items(child(stream(0, Purpose.TRUST), Purpose.CHECK), TESTED)
    random = jax.vmap(lambda key: jax.random.uniform(key, (logarithms.ndim,)))(keys)
    fractions = np.asarray(random, np.float64)
    interpolated = RegularGridInterpolator([nodes] * logarithms.ndim, logarithms)(fractions)
    return float(np.max(np.abs(np.expm1(interpolated - _logarithms(model, family, fractions)))))
