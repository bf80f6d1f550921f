"""Interactions beyond the paper's chain: exact solutions against their own residual, and their invariances."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, samples

from prism.errors import InputError
from prism.families import AllenCahn
from prism.families.interactions import draw_pairs
from prism.problem.domains import Ball

D = 6
CASES = [("chain", False), ("random", False), ("random", True), ("all", False), ("all", True), ("none", False)]


@pytest.mark.parametrize(("pairs", "scaled"), CASES)
def test_the_exact_solution_solves_the_equation(pairs, scaled):
    family = AllenCahn.create(D, KEY, scaled, pairs=pairs)
    x, mu = samples(Ball(D), 3), jax.vmap(family.parameters.sample)(jax.random.split(KEY, 3))

    @jax.jit
    @jax.vmap
    def both(x, mu):
        named = family.parameters.named(mu)
        u = lambda y: family.exact(y, named)
        return jnp.trace(jax.hessian(u)(x)) + family.reaction(u(x), named), family.source(x, named)

    close(*both(x, mu))


def test_exchanged_and_turned():
    x, mu = samples(Ball(D), 1)[0], AllenCahn.box.named(jnp.asarray([0.7, 1.2]))
    exchangeable = AllenCahn.create(D, KEY, True, pairs="all")
    close(exchangeable.exact(x[::-1], mu), exchangeable.exact(x, mu))
    radial = AllenCahn.create(D, KEY, pairs="none")
    close(radial.exact(jnp.zeros(D).at[2].set(jnp.linalg.norm(x)), mu), radial.exact(x, mu))


@pytest.mark.parametrize("dimension", [2, 3, 50])
def test_pairs_are_different_and_of_different_coordinates(dimension):
    pairs = np.asarray(draw_pairs(dimension, KEY))
    assert pairs.shape == (dimension - 1, 2)
    assert len({tuple(pair) for pair in pairs.tolist()}) == dimension - 1
    assert np.all((pairs[:, 0] >= 0) & (pairs[:, 0] < pairs[:, 1]) & (pairs[:, 1] < dimension))


def test_refusals():
    with pytest.raises(InputError, match="no scaled variant"):
        AllenCahn.create(D, KEY, True, pairs="none")
    with pytest.raises(InputError, match="unknown pairs 'some'; choose chain, random, all, none"):
        AllenCahn.create(D, KEY, pairs="some")
