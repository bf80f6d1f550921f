"""The energy of a product in a separable potential: a sum of quotients of one coordinate each.

    λ(μ) = Σ_i E_i(μ),     E_i = min ⟨φ, (−d²/dy² + v_i) φ⟩ / ⟨φ, φ⟩  over the span of φ_i0, φ_i1, ...

With orthonormal q = φR⁻¹ the sum of the first energies is a sum of squares, of the rows

    r = (√w q',  √(w (v_i − min v_i)) q),      Σ_k E_ik = |r|² + const,

whose Jacobian J gives half the gradient, Jᵀr, and JᵀJ = ⟨∂q, (H − min v_i) ∂q⟩, for ∂q orthogonal to all q: near the
minimum its Hessian but for the eigenvalue itself.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.eigen.integrals import AtNodes, along, at_nodes
from prism.eigen.network import FactorNetwork, TensorNetwork
from prism.eigen.quadrature import Rule
from prism.problem.potential import Index, Potential
from prism.shapes import Hidden, Parameter, Scalar


class OneCoordinate(eqx.Module):
    """Orthonormal functions of one coordinate, v_i at the nodes, and R⁻¹."""

    functions: AtNodes
    potential: Float[Array, "q"]
    inverse: Float[Array, "s s"]

    @property
    def energies(self) -> Float[Array, "s s"]:
        """⟨q_s, H q_t⟩."""
        return self.functions.energies(self.potential)

    @property
    def levels(self) -> Float[Array, "s"]:
        """Its lowest levels within the span, from below."""
        return self.energies[0] if self.energies.shape == (1, 1) else jnp.linalg.eigvalsh(self.energies)

    @property
    def above_bottom(self) -> Scalar:
        """Σ_k E_ik, measured from the bottom of v_i: positive."""
        return jnp.trace(self.functions.energies(self.potential - jnp.min(self.potential)))

    @property
    def rows(self) -> Float[Array, "2 q s"]:
        """r."""
        return jnp.stack([self.functions.derivatives, self.functions.values]) * self.row_weights

    @property
    def row_weights(self) -> Float[Array, "2 q 1"]:
        """√w and √(w (v − min v))."""
        weights = self.functions.weights
        bottom = jnp.maximum(self.potential - jnp.min(self.potential), 0.0)  # rounding must not make a root of less
        return jnp.sqrt(jnp.stack([weights, weights * bottom]))[:, :, None]


def one_coordinate(
    network: FactorNetwork, known: Hidden, potential: Potential, mu: Parameter, i: Index, rule: Rule
) -> OneCoordinate:
    """Its functions, made orthonormal one after the other."""
    raw = at_nodes(network, known, potential, i, rule)
    size = jnp.sqrt(jnp.trace(raw.overlaps()))
    raw = raw.scaled(1.0 / size)
    inverse = orthonormalising(raw.overlaps())
    named = potential.parameters.named(mu)
    found = along(potential.single, raw.positions, i, named)
    return OneCoordinate(raw.scaled(inverse), found, inverse / size)


def orthonormalising(overlaps: Float[Array, "s s"]) -> Float[Array, "s s"]:
    """R⁻¹ with R⁻ᵀ⟨φ, φ⟩R⁻¹ = 1, each function made orthogonal to those before it (Gram and Schmidt). Written out, for
    it is of few functions: many small calls of LAPACK inside a step make its threads wait for each other."""
    columns: list[Array] = []
    for k in range(len(overlaps)):
        column = jnp.eye(1, len(overlaps), k)[0]
        for other in columns:
            column = column - (other @ overlaps @ column) * other
        columns.append(column / jnp.sqrt(column @ overlaps @ column))
    return jnp.stack(columns, axis=1)


def coordinate_levels(
    tensor: TensorNetwork, potential: Potential, mu: Parameter, i: Index, rule: Rule
) -> Float[Array, "s"]:
    """The levels of one coordinate."""
    return one_coordinate(tensor.factor(i), tensor.known(mu, i), potential, mu, i, rule).levels
