"""The functions of one coordinate at the nodes of a rule, and sums over all coordinates in blocks.

    map_blocks(f, d, block)                      f(i) for every coordinate i
    accumulate(prepare, step, start, d, block)   start ← step(start, prepare(i)) from the first to the last

Each block is worked out again for its part of a gradient, so that what is kept does not grow with their number but for
what is carried from one to the next.
"""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.eigen.network import FactorNetwork
from prism.eigen.quadrature import Rule
from prism.problem.potential import AtCoordinate, Index, Potential
from prism.shapes import Hidden, Named

Carried = TypeVar("Carried")
Found = TypeVar("Found")
Prepared = TypeVar("Prepared")


class AtNodes(eqx.Module):
    """φ_s and dφ_s/dy of one coordinate at nodes y, with the weights of ∫dy."""

    values: Float[Array, "q s"]
    derivatives: Float[Array, "q s"]
    positions: Float[Array, "q"]
    weights: Float[Array, "q"]

    def scaled(self, factor: Array) -> "AtNodes":
        """The functions times a number, each times one of its own, or times a matrix from the right."""
        product = (lambda a: a @ factor) if factor.ndim == 2 else (lambda a: a * factor)
        return AtNodes(product(self.values), product(self.derivatives), self.positions, self.weights)

    def overlaps(self, operator: Float[Array, "q"] | None = None) -> Float[Array, "s s"]:
        """⟨φ_s, X φ_t⟩ of a function X of y, 1 unless given."""
        weights = self.weights if operator is None else self.weights * operator
        return self.values.T @ (weights[:, None] * self.values)

    def energies(self, potential: Float[Array, "q"]) -> Float[Array, "s s"]:
        """⟨φ_s', φ_t'⟩ + ⟨φ_s, v φ_t⟩."""
        return self.derivatives.T @ (self.weights[:, None] * self.derivatives) + self.overlaps(potential)


def at_nodes(network: FactorNetwork, known: Hidden, potential: Potential, i: Index, rule: Rule) -> AtNodes:
    """The functions of coordinate i."""
    half_width = jnp.asarray(potential.half_width(i), rule.nodes.dtype)
    values, derivatives = network.at_all(rule.nodes, known)
    return AtNodes(values, derivatives / half_width, half_width * rule.nodes, half_width * rule.weights)


def along(function: AtCoordinate, positions: Float[Array, "q"], i: Index, mu: Named) -> Float[Array, "q"]:
    """A function of one coordinate at many positions."""
    return jax.vmap(lambda y: jnp.asarray(function(y, i, mu), positions.dtype))(positions)


def accumulate(
    prepare: Callable[[Index], Prepared],
    step: Callable[[Carried, Prepared], Carried],
    start: Carried,
    count: int,
    block: int,
) -> Carried:
    """The end of start ← step(start, prepare(i)) for i = 0 ... count − 1; a block is prepared at once."""
    block = min(block, count)
    whole, rest = divmod(count, block)

    @jax.checkpoint
    def inner(carried: Carried, indices: Array) -> Carried:
        prepared = jax.vmap(prepare)(indices)
        return jax.lax.scan(lambda now, one: (step(now, one), None), carried, prepared)[0]

    indices = jnp.arange(whole * block).reshape(whole, block)
    carried = jax.lax.scan(lambda now, some: (inner(now, some), None), start, indices)[0]
    return inner(carried, jnp.arange(whole * block, count)) if rest else carried


def map_blocks(function: Callable[[Index], Found], count: int, block: int) -> Found:
    """function(i) for i = 0 ... count − 1, all of a block at once."""
    block = min(block, count)
    blocks = -(-count // block)
    indices = jnp.minimum(jnp.arange(blocks * block), count - 1).reshape(blocks, block)
    found = jax.lax.map(jax.checkpoint(jax.vmap(function)), indices)
    return jax.tree.map(lambda leaf: leaf.reshape(blocks * block, *leaf.shape[2:])[:count], found)
