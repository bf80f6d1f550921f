"""How far Ψ is from an eigenfunction: the standard deviation σ of its local energy.

    σ² = ⟨(H − λ)Ψ, (H − λ)Ψ⟩ / ⟨Ψ, Ψ⟩

Some eigenvalue lies within σ of λ (Weinstein); and where λ_1 is the next level, λ − σ²/(λ_1 − λ) ≤ λ_0 ≤ λ (Temple).

H of a chain is an automaton that reads the coordinates from left to right: it has not begun, waits for the second
function of a pair, or is done. HΨ is a tensor network whose bond is that of Ψ times these states.
"""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.eigen.chain import pencil, scaled_functions
from prism.eigen.forms import Form, Product
from prism.eigen.integrals import accumulate, along, map_blocks
from prism.eigen.network import TensorNetwork
from prism.eigen.quadrature import Rule
from prism.eigen.separable import one_coordinate
from prism.problem.potential import Index, Potential
from prism.shapes import Parameter, Scalar

BEFORE, DONE = 0, 1
"""States of the automaton; those of pairs that wait come behind."""
KEPT, ENERGY = 0, 1
"""Operators of one coordinate: 1, and −d²/dy² + v_i; the functions of pairs come behind."""
Move = tuple[int, int, int]
"""From a state to a state by an operator."""


def deviation(tensor: TensorNetwork, potential: Potential, mu: Parameter, rule: Rule, block: int) -> Scalar:
    """σ of the lowest level."""
    squared = _of_product if isinstance(tensor.form, Product) else _of_chain
    return jnp.sqrt(jnp.maximum(squared(tensor, potential, mu, rule, block), 0.0))


def second_derivatives(
    tensor: TensorNetwork, potential: Potential, mu: Parameter, i: Index, rule: Rule
) -> Float[Array, "q s"]:
    """d²φ_s/dy² at the nodes of a coordinate."""
    network, known = tensor.factor(i), tensor.known(mu, i)
    first = lambda xi: network.at_all(xi, known)[1]
    return jax.jvp(first, (rule.nodes,), (jnp.ones_like(rule.nodes),))[1] / potential.half_width(i) ** 2


def coordinate_deviations(
    tensor: TensorNetwork, potential: Potential, mu: Parameter, rule: Rule, block: int
) -> tuple[Float[Array, "d s"], Float[Array, "d s"]]:
    """σ² of every level of each coordinate of a product, and these levels."""

    def one(i: Index) -> tuple[Float[Array, "s"], Float[Array, "s"]]:
        solved = one_coordinate(tensor.factor(i), tensor.known(mu, i), potential, mu, i, rule)
        found, vectors = jnp.linalg.eigh(solved.energies)
        second = second_derivatives(tensor, potential, mu, i, rule) @ solved.inverse
        values = solved.functions.values @ vectors
        local = -second @ vectors + solved.potential[:, None] * values - found * values
        return solved.functions.weights @ local**2, found

    return map_blocks(one, potential.dimension, block)


def _of_product(tensor: TensorNetwork, potential: Potential, mu: Parameter, rule: Rule, block: int) -> Scalar:
    return jnp.sum(coordinate_deviations(tensor, potential, mu, rule, block)[0][:, 0])


def moves(potential: Potential) -> Iterator[Move]:
    """Every move of the automaton of H."""
    yield BEFORE, BEFORE, KEPT
    yield BEFORE, DONE, ENERGY
    yield DONE, DONE, KEPT
    state = DONE
    for number, pair in enumerate(potential.pairs):
        left, right = 2 + 2 * number, 3 + 2 * number
        yield BEFORE, state + 1, left
        for _ in range(pair.offset - 1):
            state += 1
            yield state, state + 1, KEPT
        state += 1
        yield state, DONE, right


def _of_chain(tensor: TensorNetwork, potential: Potential, mu: Parameter, rule: Rule, block: int) -> Scalar:
    form, all_moves = tensor.form, tuple(moves(potential))
    energy, alpha = pencil(tensor, potential, mu, rule, block).lowest
    states = 1 + max(to for _, to, _ in all_moves)
    grams = lambda i: _grams(tensor, potential, mu, i, rule, energy / potential.dimension)
    begun = jnp.zeros((states, states, *form.start.shape)).at[BEFORE, BEFORE].set(form.start)
    end = accumulate(
        grams, lambda carried, one: _over(form, all_moves, carried, one), begun, potential.dimension, block
    )
    return alpha @ end[DONE, DONE] @ alpha / (alpha @ end[BEFORE, BEFORE] @ alpha)


def _grams(
    tensor: TensorNetwork, potential: Potential, mu: Parameter, i: Index, rule: Rule, shift: Scalar
) -> Float[Array, "o o s s"]:
    """⟨X φ_s, Y φ_t⟩ for all operators X and Y of a coordinate, the energy less its share of λ."""
    functions, scales = scaled_functions(tensor, potential, mu, i, rule)
    named = potential.parameters.named(mu)
    of = lambda function: along(function, functions.positions, i, named)[:, None] * functions.values
    second = second_derivatives(tensor, potential, mu, i, rule) * scales
    energy = of(potential.single) - shift * functions.values - second
    paired = [of(function) for pair in potential.pairs for function in (pair.left, pair.right)]
    applied = jnp.stack([functions.values, energy, *paired])
    return jnp.einsum("xqs,q,yqt->xyst", applied, functions.weights, applied)


def _over(form: Form, all_moves: tuple[Move, ...], carried: Array, grams: Array) -> Array:
    """The bonds of (HΨ, HΨ) behind one coordinate more."""
    behind = jnp.zeros_like(carried)
    for a, to_a, x in all_moves:
        for b, to_b, y in all_moves:
            behind = behind.at[to_a, to_b].add(form.carried(carried[a, b], grams[x, y]))
    return behind / jnp.trace(behind[BEFORE, BEFORE])
