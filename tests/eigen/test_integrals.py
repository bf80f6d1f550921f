"""Sums over coordinates in blocks of any size, and integrals at nodes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from eigen.cases import BRAIDED, MU, one_dimensional, random_network
from helpers import close

from prism.eigen.forms import Train
from prism.eigen.integrals import accumulate, along, at_nodes, map_blocks
from prism.eigen.quadrature import gauss

COUNT = 7
BLOCKS = [1, 3, COUNT, 20]
every_block = pytest.mark.parametrize("block", BLOCKS)
RULE = gauss(9)


def matrix(i, scale):
    return scale * jnp.sin(jnp.arange(4.0).reshape(2, 2) + i)


@every_block
def test_accumulation_goes_from_the_first_to_the_last(block):
    """Matrices do not commute; to rounding, with the derivative by what all of them share."""

    def accumulated(scale):
        return accumulate(lambda i: matrix(i, scale), lambda now, one: now @ one, jnp.eye(2), COUNT, block)

    def whole(scale):
        found = jnp.eye(2)
        for i in range(COUNT):
            found = found @ matrix(i, scale)
        return found

    scale = jnp.asarray(1.3)
    close(jax.jit(accumulated)(scale), whole(scale), 1e-14)
    close(jax.jit(jax.jacrev(accumulated))(scale), jax.jacrev(whole)(scale), 1e-13)


@every_block
def test_blocks_map_every_coordinate_once(block):
    """Also those of the last block, which is filled up with the last one: its derivative counts once."""

    def total(scale):
        found = map_blocks(lambda i: (i, matrix(i, scale)), COUNT, block)
        return jnp.sum(found[1]), found

    (_, (numbers, values)), slope = jax.jit(jax.value_and_grad(total, has_aux=True))(jnp.asarray(2.0))
    expected = jnp.stack([matrix(i, 1.0) for i in range(COUNT)])
    assert np.array_equal(numbers, np.arange(COUNT))
    close(values, 2.0 * expected, 1e-15)
    close(slope, jnp.sum(expected), 1e-14)


@pytest.fixture(scope="module")
def at_one():
    """The functions of the last coordinate of a chain, by the package and by the formula."""
    tensor, i = random_network(BRAIDED, Train(2)), jnp.asarray(2)
    ours = lambda: at_nodes(tensor.factor(i), tensor.known(MU, i), BRAIDED, i, RULE)
    return jax.jit(lambda: (ours(), one_dimensional(tensor, BRAIDED, MU, 2, RULE)))()


def test_functions_at_nodes_are_those_of_the_formula_over_the_interval(at_one):
    """dφ/dy, not dφ/dξ, and weights of ∫dy."""
    ours, (values, first, _, y, weights) = at_one
    close(ours.values, values)
    close(ours.derivatives, first)
    close(ours.positions, y)
    close(jnp.sum(ours.weights), 2.0 * BRAIDED.half_width(jnp.asarray(2)))
    close(ours.weights, weights)


def test_overlaps_and_energies_are_sums_over_nodes(at_one):
    ours, (values, first, _, y, weights) = at_one
    single = along(BRAIDED.single, y, jnp.asarray(2), BRAIDED.parameters.named(MU))
    product = lambda a, b: jnp.einsum("qs,q,qt->st", a, weights, b)
    close(ours.overlaps(), product(values, values))
    close(ours.overlaps(y), product(values, y[:, None] * values))
    close(ours.energies(single), product(first, first) + product(values, single[:, None] * values))


def test_functions_are_scaled_by_a_number_or_mixed_by_a_matrix(at_one):
    ours, (values, first, *_) = at_one
    close(ours.scaled(jnp.asarray(3.0)).derivatives, 3.0 * first)
    mixing = jnp.arange(16.0).reshape(4, 4)
    close(ours.scaled(mixing).values, values @ mixing)
    close(ours.scaled(mixing).derivatives, first @ mixing)


def test_a_function_may_give_a_plain_number():
    number: Any = lambda y, i, mu: 2.0
    found = along(number, RULE.nodes, jnp.asarray(0), BRAIDED.parameters.named(MU))
    assert np.array_equal(found, np.full(9, 2.0))
