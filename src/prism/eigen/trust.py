"""How far to trust levels at a queried μ: from the network alone, without knowing them.

    λ_0 ≤ λ    (Rayleigh and Ritz),      some eigenvalue in [λ − σ, λ + σ]    (Weinstein)
    λ − σ²/gap ≤ λ_0                     (Temple, with a gap to the next level that is not too large)

The next level lies within its own σ_1 of the network's, so that E_1 − σ_1 − E_0 is taken for the gap. Of a product
Temple's bound holds for every coordinate by itself, Σ_i σ_i²/gap_i, which stays small in many dimensions.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float

from prism.eigen.deviation import coordinate_deviations, deviation
from prism.eigen.forms import Product
from prism.eigen.network import TensorNetwork
from prism.eigen.precise import FEWER_NODES, NODES, derivatives_at, doubled, levels_at
from prism.eigen.quadrature import BLOCK, gauss
from prism.problem.potential import Potential
from prism.shapes import Parameter

CONDITION = "Temple's, if no coordinate has a second level below that of the network less its deviation"


@dataclass(frozen=True)
class LevelTrust:
    """What speaks for and against the lowest level at one μ."""

    mu: dict[str, float]
    outside: tuple[str, ...]
    """The parameters that lie outside the trained box."""
    level: float
    deviation: float
    """σ of the local energy."""
    lower_bound: float
    """Below which the exact level does not lie, on the condition that is told."""
    condition: str
    quadrature_error: float
    """The relative change of λ with fewer nodes."""
    derivative_mismatch: float
    """How far ∂λ/∂μ by Hellmann and Feynman's formula is from that of λ as it is, relative to its size."""

    def describe(self) -> list[str]:
        """For a reader."""
        where = f"outside the trained box in {', '.join(self.outside)}" if self.outside else "inside the trained box"
        return [
            f"{', '.join(f'{name} = {value:g}' for name, value in self.mu.items())}: {where}",
            f"λ                 {self.level:.9g}   an upper bound of the lowest level",
            f"lower bound       {self.lower_bound:.9g}   {self.condition}",
            f"local energy      varies by {self.deviation:.2e}, {self.deviation / abs(self.level):.1e} of λ",
            f"quadrature        {self.quadrature_error:.1e}   the relative change of λ with fewer nodes",
            f"derivatives       {self.derivative_mismatch:.1e}   between Hellmann and Feynman's ∂λ/∂μ and that of λ",
        ]


def judge_levels(
    tensor: TensorNetwork, potential: Potential, mu: Float[np.ndarray, "p"], outside: tuple[str, ...]
) -> LevelTrust:
    """Everything that can be said at one μ."""
    level = float(levels_at(tensor, potential, mu[None], 1)[0, 0])
    fewer = float(levels_at(tensor, potential, mu[None], 1, FEWER_NODES)[0, 0])
    sigma, lower, condition = _bound(tensor, potential, mu, level)
    formula, whole = (found[0] for found in derivatives_at(tensor, potential, mu, 1))
    names = potential.parameters.names
    return LevelTrust(
        dict(zip(names, map(float, mu), strict=True)),
        outside,
        level,
        sigma,
        lower,
        condition,
        abs(level - fewer) / abs(level),
        float(np.max(np.abs(formula - whole)) / max(float(np.max(np.abs(whole))), 1e-300)),
    )


def _deviation_at(tensor: TensorNetwork, potential: Potential, mu: Parameter) -> Array:
    return deviation(tensor, potential, mu, gauss(NODES), BLOCK)


def _deviations_at(tensor: TensorNetwork, potential: Potential, mu: Parameter) -> tuple[Array, Array]:
    return coordinate_deviations(tensor, potential, mu, gauss(NODES), BLOCK)


def _bound(
    tensor: TensorNetwork, potential: Potential, mu: Float[np.ndarray, "p"], level: float
) -> tuple[float, float, str]:
    """σ, the lower bound, and its condition."""
    if isinstance(tensor.form, Product) and tensor.form.excited:
        squared, found = doubled(_deviations_at, tensor, potential, mu)
        gaps = found[:, 1] - np.sqrt(squared[:, 1]) - found[:, 0]
        if np.all(gaps > 0.0):
            sigma = float(np.sqrt(np.sum(squared[:, 0])))
            below = float(np.sum(squared[:, 0] / gaps))
            return (
                sigma,
                level - below,
                CONDITION,
            )
    sigma = float(doubled(_deviation_at, tensor, potential, mu))
    return sigma, level - sigma, "Weinstein's, if no other level is nearer to λ"
