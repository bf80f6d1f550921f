"""How the functions of one coordinate change with the weights of its network, and the metric that adds up of it.

The generator works through few modulators m, linear in an embedding e, m = e·H. So of the changes R of all rows by
(core, m) alone

    G = Σ Tᵀ RᵀR T,      T = (1 0 0; 0 Hᵀ ∂e/∂ψ  1⊗e),      of the weights (core, ψ below the heads, H),

takes a fraction of the work and memory that the rows of all weights would take.
"""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from prism.eigen.network import FactorNetwork
from prism.eigen.quadrature import Rule
from prism.networks.modulation import HyperGenerator
from prism.shapes import Hidden, Scalar


class GeneratorChange(eqx.Module):
    """∂m/∂(ψ, H) of one coordinate at one μ, or of many along a first axis, by its parts."""

    embedding: Float[Array, "*b e"]
    below: Float[Array, "*b e l"]
    """∂e/∂ψ."""
    heads: Float[Array, "*b m e"]
    """∂m/∂e."""
    widths: tuple[int, ...] = eqx.field(static=True)
    """Columns of each head."""

    @staticmethod
    def of(generator: HyperGenerator, known: Hidden) -> "GeneratorChange":
        lower, as_lower = ravel_pytree((generator.weights, generator.biases))
        put = lambda w: eqx.tree_at(lambda g: (g.weights, g.biases), generator, as_lower(w))
        below = jax.jacrev(lambda w: put(w).embed(known))(lower)
        heads = jnp.concatenate(generator.heads, axis=1)
        return GeneratorChange(generator.embed(known), below, heads.T, tuple(head.shape[1] for head in generator.heads))

    def pulled(self, by_modulators: Float[Array, "b m"]) -> Float[Array, "b g"]:
        """A derivative by m as one by (ψ, H), of every pair."""
        below = jnp.einsum("bm,bme,bel->bl", by_modulators, self.heads, self.below)
        by_heads = self.embedding[:, :, None] * by_modulators[:, None, :]
        return jnp.concatenate([below, by_heads.reshape(len(below), -1)[:, self.order]], axis=-1)

    @property
    def order(self) -> np.ndarray:
        """Where the weights of one head after the other stand among those of all heads beside each other."""
        places = np.arange(self.embedding.shape[-1] * sum(self.widths)).reshape(-1, sum(self.widths))
        ends = list(itertools.accumulate(self.widths))[:-1]
        return np.concatenate([part.ravel() for part in np.split(places, ends, axis=1)])


class LocalRows(eqx.Module):
    """Rows r, their changes R by (core, m), and what m changes with: of one coordinate at one μ, or of many along a
    first axis."""

    rows: Float[Array, "*b r"]
    changes: Float[Array, "*b r c"]
    generator: GeneratorChange

    @property
    def core(self) -> int:
        """How many weights the core has."""
        return self.changes.shape[-1] - sum(self.generator.widths)

    def gradient(self) -> Float[Array, "w"]:
        """Jᵀr by all weights, summed over the first axis."""
        pulled = jnp.einsum("br,brc->bc", self.rows, self.changes)
        through = self.generator.pulled(pulled[:, self.core :])
        return jnp.concatenate([pulled[:, : self.core].sum(0), through.sum(0)])

    def metric(self) -> Float[Array, "w w"]:
        """JᵀJ by all weights, summed over the first axis."""
        # A sum over the first axis takes XLA's CPU thirty times as long as the product of stacked rows.
        core = _stacked(self.changes[:, :, : self.core])
        product = jnp.swapaxes(self.changes, 1, 2) @ self.changes[:, :, self.core :]
        mixed = _core_by_generator(product[:, : self.core], self.generator)
        inner = _inner(product[:, self.core :], self.generator)
        return jnp.block([[core.T @ core, mixed], [mixed.T, inner]])


def _core_by_generator(product: Float[Array, "b c m"], change: GeneratorChange) -> Float[Array, "c g"]:
    """Σ P ∂m/∂(ψ, H)."""
    count, core, _ = product.shape
    below = jnp.moveaxis(product @ change.heads, 0, 1).reshape(core, -1) @ _stacked(change.below)
    heads = jnp.moveaxis((change.embedding.T @ product.reshape(count, -1)).reshape(-1, *product.shape[1:]), 0, 1)
    return jnp.concatenate([below, heads.reshape(core, -1)[:, change.order]], axis=1)


def _inner(product: Float[Array, "b m m"], change: GeneratorChange) -> Float[Array, "g g"]:
    """Σ (∂m/∂(ψ, H))ᵀ P ∂m/∂(ψ, H)."""
    below, e, order = change.below, change.embedding, change.order
    (count, modulators, _), (_, width, weights) = product.shape, below.shape
    through = product @ change.heads
    lower = _stacked(below).T @ _stacked(jnp.swapaxes(change.heads, 1, 2) @ through @ below)
    mixed = jnp.swapaxes(below, 1, 2) @ jnp.swapaxes(through, 1, 2)
    mixed = (e.T @ mixed.reshape(count, -1)).reshape(width, weights, modulators)
    mixed = jnp.swapaxes(mixed, 0, 1).reshape(weights, -1)[:, order]
    both = (e[:, :, None] * e[:, None, :]).reshape(count, -1).T @ product.reshape(count, -1)
    both = both.reshape(width, width, modulators, modulators).transpose(0, 2, 1, 3).reshape(len(order), -1)
    return jnp.block([[lower, mixed], [mixed.T, both[order][:, order]]])


def _stacked(one: Float[Array, "b r l"]) -> Float[Array, "k l"]:
    """One row below the other."""
    return one.reshape(-1, one.shape[-1])


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
    generator = network.generator
    embedding = generator.embed(known)
    modulators, as_columns = ravel_pytree([embedding @ head for head in generator.heads])
    arrays, rest = eqx.partition(eqx.tree_at(lambda n: n.generator, network, None), eqx.is_inexact_array)
    core, as_core = ravel_pytree(arrays)

    def at_node(xi: Scalar) -> Float[Array, "2 s c"]:
        def functions(unknown: Float[Array, "c"]) -> Float[Array, "2 s"]:
            changed = eqx.combine(as_core(unknown[: len(core)]), rest)
            modulations = generator.modulations(as_columns(unknown[len(core) :]))
            return jnp.concatenate(changed.modulated(xi[None], modulations))

        return jax.jacrev(functions)(jnp.concatenate([core, modulators]))

    values, derivatives = jnp.moveaxis(jax.vmap(at_node)(rule.nodes), 1, 0)
    return values, derivatives
