"""Gauss and Legendre's rule, and the same rule with its nodes bent."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, uniform_distance

from prism.eigen.quadrature import MOST_BEND, gauss, random_bend
from prism.numerics.keys import items

COUNT = 5
BENDS = [-MOST_BEND, -0.1, 0.0, 0.2, MOST_BEND]


def error(rule, degree: int) -> float:
    """Of ∫ξ^n over [−1, 1]."""
    return float(jnp.sum(rule.weights * rule.nodes**degree)) - (1.0 + (-1.0) ** degree) / (degree + 1)


def test_it_is_exact_up_to_its_degree_and_no_further():
    rule = gauss(COUNT)
    assert max(abs(error(rule, degree)) for degree in range(2 * COUNT)) < 1e-15 * COUNT  # rounding
    assert abs(error(rule, 2 * COUNT)) > 1e-4


@pytest.mark.parametrize("c", BENDS)
def test_a_bent_rule_is_exact_for_half_the_degree(c):
    """A polynomial of degree n is one of degree 2n in the unbent variable, with the weight 2n + 1."""
    rule = gauss(COUNT).bent(jnp.asarray(c))
    assert max(abs(error(rule, degree)) for degree in range(COUNT)) < 1e-15 * COUNT


@pytest.mark.parametrize("c", BENDS)
def test_a_bent_rule_stays_a_rule_of_the_interval(c):
    rule = gauss(48).bent(jnp.asarray(c))
    assert np.all(np.diff(rule.nodes) > 0.0)
    assert np.all(np.abs(rule.nodes) < 1.0)
    assert np.all(rule.weights > 0.0)


def test_a_bend_moves_every_node():
    """So that what is learned between the nodes of one step is seen at the next."""
    assert np.min(np.abs(gauss(48).bent(jnp.asarray(0.01)).nodes - gauss(48).nodes)) > 1e-6


def test_a_bell_is_integrated_as_well_by_any_bend():
    """∫exp(−20ξ²): what the square of a function is before training, to 1e-9 with 48 nodes."""
    exact = np.sqrt(np.pi / 20.0)
    for c in BENDS:
        rule = gauss(48).bent(jnp.asarray(c))
        close(jnp.sum(rule.weights * jnp.exp(-20.0 * rule.nodes**2)), exact, 1e-9)


def test_bends_are_uniform():
    """Kolmogorov and Smirnov's distance is above 1.95 once in a thousand; the key is fixed."""
    bends = jax.vmap(random_bend)(items(KEY, 1000))
    assert np.max(np.abs(bends)) <= MOST_BEND
    assert uniform_distance((bends / MOST_BEND + 1.0) / 2.0) < 1.95
