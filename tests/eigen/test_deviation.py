"""The standard deviation of the local energy against dense quadrature, and the bounds that rest on it."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from eigen.cases import BRAIDED, CASES, MODES, MU, PLAIN, D, dense, one_dimensional, random_network
from helpers import close, mostly_slow

from prism.eigen.deviation import BEFORE, DONE, coordinate_deviations, deviation, moves, second_derivatives
from prism.eigen.forms import Product, Sum
from prism.eigen.levels import levels
from prism.eigen.quadrature import gauss

RULE = gauss(26)
"""So many that ∫φ'² is −∫φφ'', which the variance of a product rests on, to 1e-9 of it."""


@pytest.mark.parametrize(("potential", "form"), mostly_slow(CASES, "braided, train"))
def test_the_variance_is_that_of_dense_quadrature(potential, form):
    """⟨(H − λ)Ψ, (H − λ)Ψ⟩ with every second derivative by nested differentiation of the formula, to 1e-9."""
    tensor = random_network(potential, form, size=0.1)

    @jax.jit
    def both():
        return deviation(tensor, potential, MU, RULE, 2) ** 2, dense(tensor, potential, MU, RULE).variance()

    found, expected = both()
    assert expected > 1e-3
    close(found, expected, 1e-9)


def test_second_derivatives_are_those_of_the_formula():
    tensor = random_network(BRAIDED, Sum(2))
    at = jnp.asarray(2)
    found = jax.jit(lambda: second_derivatives(tensor, BRAIDED, MU, at, RULE))()
    close(found, jax.jit(lambda: one_dimensional(tensor, BRAIDED, MU, 2, RULE)[2])())


def test_the_variance_of_a_product_is_the_sum_over_its_coordinates():
    """The same by the automaton, for which a product is a sum of one term."""
    one, other = (random_network(MODES, form, size=0.1) for form in (Product(), Sum(1)))
    # With the weights of the product, and none of what a sum is told of the ends of a chain.
    entered = one.factors.generator.weights[0]
    blank = jnp.zeros_like(other.factors.generator.weights[0]).at[: len(entered)].set(entered)
    factors = eqx.tree_at(lambda f: f.generator.weights, one.factors, (blank,))
    other = eqx.tree_at(lambda t: t.factors, other, factors)
    parts, found = jax.jit(lambda: coordinate_deviations(one, MODES, MU, RULE, 2))()
    close(jnp.sqrt(jnp.sum(parts[:, 0])), jax.jit(lambda: deviation(one, MODES, MU, RULE, 3))())
    close(jnp.sum(found[:, 0]), jax.jit(lambda: levels(one, MODES, MU, 1, RULE, 3))()[0])
    close(jnp.sum(parts[:, 0]), jax.jit(lambda: deviation(other, MODES, MU, RULE, 3))() ** 2, 1e-9)  # ∫φ'² = −∫φφ''


def test_some_eigenvalue_lies_within_a_deviation():
    """Weinstein's bound, with all eigenvalues Σ ω_k (2n_k + 1) known."""
    omega = np.asarray(MODES.frequencies(MODES.parameters.named(MU)))
    numbers = np.stack(list(itertools.product(range(8), repeat=D)))
    exact = (2 * numbers + 1) @ omega

    @eqx.filter_jit
    def both(tensor):
        return levels(tensor, MODES, MU, 1, gauss(48), 3), deviation(tensor, MODES, MU, gauss(48), 3)

    for seed in range(5):
        found, sigma = both(random_network(MODES, Product(), seed, size=0.4))
        assert np.min(np.abs(exact - found[0])) < sigma


def routes(potential) -> list[tuple[int, ...]]:
    """The operators along every way of the automaton over three coordinates, from its beginning to its end."""
    found, all_moves = [], list(moves(potential))
    for way in itertools.product(all_moves, repeat=D):
        starts, ends, operators = zip(*way, strict=True)
        if starts[0] == BEFORE and ends[-1] == DONE and starts[1:] == ends[:-1]:
            found.append(operators)
    return found


@pytest.mark.parametrize(
    ("potential", "pairs"),
    [
        (MODES, []),
        (PLAIN, [(2, 3, 0), (0, 2, 3)]),
        (BRAIDED, [(2, 3, 0), (0, 2, 3), (4, 0, 5)]),
    ],
    ids=["modes", "plain", "braided"],
)
def test_every_term_of_the_operator_is_one_way_of_the_automaton(potential, pairs):
    """0 is the identity, 1 the energy of a coordinate, 2 and 3 the functions of the first pair, 4 and 5 of the next."""
    assert sorted(routes(potential)) == sorted([(1, 0, 0), (0, 1, 0), (0, 0, 1), *pairs])
