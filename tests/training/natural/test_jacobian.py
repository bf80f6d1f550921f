"""Weights in blocks are the model's, and a Jacobian in blocks is a matrix: above another, pulled and pushed."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, MODULATIONS, Terms, close, linear, roughened, value_of
from jax.flatten_util import ravel_pytree

import prism
from prism.networks.model import Architecture, Model
from prism.training.natural.factored import OwnBlock, SharedBlock
from prism.training.natural.jacobian import Jacobian, Weights, head_blocks, head_probes, plain_arrays, probed

D = 4
SIZES = Architecture(linear(2, 1), 3, 2, 2, 1)


def network(modulation) -> Model:
    architecture = replace(SIZES, modulation=modulation)
    return roughened(eqx.filter_eval_shape(Model.create, architecture, prism.Ball(D), Terms.parameters, KEY))


@pytest.mark.parametrize("modulation", MODULATIONS.values(), ids=MODULATIONS)
def test_weights_are_those_of_the_model(modulation):
    model = network(modulation)
    weights = Weights.of(model)
    fixed = lambda m: (m.level, m.amplitude)
    arrays = eqx.tree_at(fixed, eqx.filter(model, eqx.is_array), replace=(None, None))
    assert sum(leaf.size for leaf in jax.tree.leaves(weights)) == sum(leaf.size for leaf in jax.tree.leaves(arrays))
    assert eqx.tree_equal(weights.put(model), model)
    others = jax.tree.map(lambda leaf: leaf + 1.0, weights)
    changed = others.put(model)
    assert eqx.tree_equal(fixed(changed), fixed(model))
    trained = eqx.tree_at(fixed, eqx.filter(changed, eqx.is_array), replace=(None, None))
    jax.tree.map(lambda a, b: close(a, b + 1.0), trained, arrays)
    behind = eqx.tree_at(lambda m: m.lift.weight, arrays, None)
    close(weights.norm(), jnp.linalg.norm(ravel_pytree(behind)[0]))
    assert weights.without_lift().lift.shape == (0, weights.lift.shape[1])


@pytest.mark.parametrize("modulation", MODULATIONS.values(), ids=MODULATIONS)
def test_heads_are_rows_of_the_embedding(modulation):
    """∂N/∂[H H'] from the gradients by the heads' answers, at two μ."""
    model = network(modulation)
    x, parameters = jnp.linspace(-0.3, 0.4, D), jnp.asarray([[0.7, 1.1], [1.3, 0.6]])
    value = lambda model, mu: value_of(model, x, mu)

    @jax.jit
    def compare():
        def row(mu):
            added = lambda vectors: value(probed(model, plain_arrays(model), vectors), mu)
            return jax.grad(added)(head_probes(model))

        gradients = jax.vmap(row)(parameters)
        heads = lambda matrix, mu: value(eqx.tree_at(lambda w: w.heads, Weights.of(model), matrix).put(model), mu)
        plain = jax.vmap(jax.grad(heads), in_axes=(None, 0))(Weights.of(model).heads, parameters)
        blocks = head_blocks(model, parameters, gradients)
        return [block.pull(jnp.asarray([1.0, -2.0]), 2) for block in blocks], plain[0] - 2.0 * plain[1]

    found, expected = compare()
    assert len(found) == (1 if modulation.scale or modulation.shift else 0)
    for matrix in found:
        close(matrix, expected)


def test_one_jacobian_above_another_is_their_rows_stacked():
    random = np.random.default_rng(0)
    normal = lambda *shape: jnp.asarray(random.normal(size=shape))
    shared = normal(2, D)
    upper = Jacobian(normal(3, 5), [OwnBlock(normal(3, 1, 2), normal(3, 1, 6))], [SharedBlock(shared, normal(3, 2, 2))])
    lower = Jacobian(normal(2, 5), [OwnBlock(normal(2, 1, 2), normal(2, 1, 6))], [])
    change = Weights(normal(5), normal(2, 6), normal(D, 2))
    both, coefficients = upper.above(lower), normal(5)
    close(both.push(change), jnp.concatenate([upper.push(change), lower.push(change)]))
    add = lambda first, second: jax.tree.map(jnp.add, first, second)
    pulled = add(upper.pull(coefficients[:3], change), lower.pull(coefficients[3:], change))
    jax.tree.map(close, both.pull(coefficients, change), pulled)
    rows = jnp.stack([ravel_pytree(both.pull(unit, change))[0] for unit in jnp.eye(5)])
    close(both.kernel(), rows @ rows.T)
    without = jnp.stack([ravel_pytree(both.pull(unit, change).without_lift())[0] for unit in jnp.eye(5)])
    close(both.without_lift().kernel(), without @ without.T)
