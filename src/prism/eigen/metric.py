"""How the functions of one coordinate change with the weights of its network, and the metric that adds up of it.

The generator works through few modulators m, so that of the changes R of all rows by (core, m) alone

    G = Tᵀ (Σ RᵀR) T,      T = (1 0; 0 ∂m/∂ψ),      ψ the generator's weights,

takes a fraction of the work and memory that the rows of all weights would take.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from prism.eigen.network import FactorNetwork
from prism.eigen.quadrature import Rule
from prism.shapes import Hidden, Scalar


class LocalMetric(eqx.Module):
    """RᵀR and Rᵀr by core and modulators, and ∂m/∂ψ, of one coordinate at one μ or of many along a first axis."""

    product: Float[Array, "*b c c"]
    pulled: Float[Array, "*b c"]
    generator: Float[Array, "*b m g"]

    @staticmethod
    def of(changes: Float[Array, "r c"], rows: Float[Array, "r"], generator: Float[Array, "m g"]) -> "LocalMetric":
        return LocalMetric(changes.T @ changes, changes.T @ rows, generator)

    def summed(self) -> tuple[Float[Array, "w"], Float[Array, "w w"]]:
        """Jᵀr and JᵀJ by all weights, summed over the first axis: those of the core, then those of the generator."""
        count, modulators, weights = self.generator.shape
        core = self.product.shape[-1] - modulators
        joined = self.generator.reshape(count * modulators, weights)
        through = jnp.einsum("bmn,bng->bmg", self.product[:, core:, core:], self.generator)
        mixed = jnp.moveaxis(self.product[:, :core, core:], 0, 1).reshape(core, count * modulators) @ joined
        inner = joined.T @ through.reshape(count * modulators, weights)
        metric = jnp.block([[jnp.sum(self.product[:, :core, :core], axis=0), mixed], [mixed.T, inner]])
        gradient = [jnp.sum(self.pulled[:, :core], axis=0), self.pulled[:, core:].reshape(-1) @ joined]
        return jnp.concatenate(gradient), metric


def flat(network: FactorNetwork) -> Float[Array, "weights"]:
    """All weights of one network, its generator's last."""
    return ravel_pytree(eqx.filter(network, eqx.is_inexact_array))[0]


def unflattened(network: FactorNetwork, weights: Float[Array, "weights"]) -> FactorNetwork:
    """The network with these weights."""
    arrays, rest = eqx.partition(network, eqx.is_inexact_array)
    return eqx.combine(ravel_pytree(arrays)[1](weights), rest)


def function_changes(
    network: FactorNetwork, known: Hidden, rule: Rule
) -> tuple[Float[Array, "q s c"], Float[Array, "q s c"]]:
    """∂φ/∂(core, m) and ∂φ'/∂(core, m) at the nodes."""
    modulators, as_modulations = ravel_pytree(network.generator(known))
    arrays, rest = eqx.partition(eqx.tree_at(lambda n: n.generator, network, None), eqx.is_inexact_array)
    core, as_core = ravel_pytree(arrays)

    def at_node(xi: Scalar) -> Float[Array, "2 s c"]:
        def functions(unknown: Float[Array, "c"]) -> Float[Array, "2 s"]:
            changed = eqx.combine(as_core(unknown[: len(core)]), rest)
            return jnp.concatenate(changed.modulated(xi[None], as_modulations(unknown[len(core) :])))

        return jax.jacrev(functions)(jnp.concatenate([core, modulators]))

    values, derivatives = jnp.moveaxis(jax.vmap(at_node)(rule.nodes), 1, 0)
    return values, derivatives


def generator_changes(network: FactorNetwork, known: Hidden) -> Float[Array, "m g"]:
    """∂m/∂ψ."""
    arrays, rest = eqx.partition(network.generator, eqx.is_inexact_array)
    weights, as_generator = ravel_pytree(arrays)
    return jax.jacrev(lambda g: ravel_pytree(eqx.combine(as_generator(g), rest)(known))[0])(weights)
