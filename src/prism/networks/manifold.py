"""The manifold: modulated layers  h = σ(γ(μ) ⊙ z + β(μ)),  z' = W h + b,  on jets whose size knows no dimension.

With a linear lift the first of them is  h = γ(μ) ⊙ z + β(μ): weights of the coordinates that move with μ.
"""

import itertools
from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.expansion import AnyExpansion
from prism.derivatives.taylor import Activation
from prism.networks.modulation import Modulation, glorot
from prism.numerics.keys import Purpose, child, items
from prism.shapes import Hidden, Key, Matrices, Vectors


class Manifold(eqx.Module):
    """From the lifted jet to the jet of the scalar N; one modulation before each activation."""

    weights: Matrices
    biases: Vectors
    readout: Hidden
    offset: Float[Array, ""]
    activation: Activation
    linear_lift: bool = eqx.field(static=True, default=False)

    @staticmethod
    def create(widths: Sequence[int], activation: Activation, key: Key, linear_lift: bool = False) -> "Manifold":
        """`widths` of the activated layers, the lift's width first."""
        keys, sizes = items(child(key, Purpose.WEIGHTS), len(widths) - 1), itertools.pairwise(widths)
        weights = tuple(glorot(k, b, a) for k, (a, b) in zip(keys, sizes, strict=True))
        biases = tuple(jnp.zeros(width) for width in widths[1:])
        readout = glorot(child(key, Purpose.READOUT), widths[-1], 1)[:, 0]
        return Manifold(weights, biases, readout, jnp.zeros(()), activation, linear_lift)

    def __call__(self, jet: AnyExpansion, modulations: Sequence[Modulation]) -> AnyExpansion:
        jet = modulations[0].push(jet)
        if not self.linear_lift:
            jet = self.activation.push(jet)
        for weight, bias, modulation in zip(self.weights, self.biases, modulations[1:], strict=True):
            jet = jet.map_linear(lambda h, weight=weight: h @ weight.T).shift(bias)
            jet = self.activation.push(modulation.push(jet))
        return jet.map_linear(lambda h: h @ self.readout).shift(self.offset)
