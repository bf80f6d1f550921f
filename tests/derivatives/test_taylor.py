"""Jets against nested `jax.jvp` in float64, for every activation and every order to 6."""

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import ACTIVATIONS, KEY, close

from prism.derivatives.taylor import Jet, collapse, polynomial_jet
from prism.networks.modulation import Modulation

ORDER = 6
WIDTH, DIRECTIONS = 4, 3


def random(*shape, index: int = 0):
    return jax.random.normal(jax.random.fold_in(KEY, index), shape)


W1, W2 = random(3, WIDTH, index=1), random(WIDTH, WIDTH, index=2)
GAMMA, BETA, READOUT = (random(WIDTH, index=i) for i in (3, 4, 5))
X, V = random(3, index=6) / 2, random(DIRECTIONS, 3, index=7)
WEIGHTS = random(DIRECTIONS, index=8)


def plain(sigma, t, v):
    """A product of two modulated networks along x + t v."""
    z = (X + t * v) @ W1
    first = sigma(GAMMA * (sigma(z) @ W2) + BETA) @ READOUT
    return first * (sigma(z - BETA) @ READOUT + 0.3)


def lifted(order: int, collapsed: bool) -> Jet:
    """The jet of x W1, as the lift makes it."""
    first = V @ W1
    lower = (first, *[jnp.zeros_like(first)] * (order - 1))
    top = None
    if collapsed:
        top = collapse(WEIGHTS, lower[-1])
        lower = lower[:-1]
    return Jet(X @ W1, lower, top, WEIGHTS)


def by_jets(activation, jet: Jet) -> Jet:
    """The same product by the rules of jets."""
    first = Modulation(GAMMA, BETA).push(activation.push(jet).map_linear(lambda h: h @ W2))
    second = activation.push(Modulation(None, -BETA).push(jet)).map_linear(lambda h: h @ READOUT)
    return activation.push(first).map_linear(lambda h: h @ READOUT) * second.shift(jnp.asarray(0.3))


def nested(function, order: int):
    """Normalised derivatives 0 ... order of a function of t, at 0."""
    values = [function]
    for _ in range(order):
        values.append(functools.partial(lambda t, f: jax.jvp(f, (t,), (jnp.ones_like(t),))[1], f=values[-1]))
    return [f(jnp.zeros(())) / math.factorial(k) for k, f in enumerate(values)]


@pytest.mark.parametrize("kind", ACTIVATIONS, ids=lambda kind: kind.__name__)
def test_jets_of_a_network_are_its_derivatives(kind):
    sigma = ACTIVATIONS[kind]
    expected = jax.jit(jax.vmap(lambda v: nested(lambda t: plain(sigma, t, v), ORDER)))(V)

    @jax.jit
    def jets():
        return [[by_jets(kind(), lifted(k, collapsed)) for k in range(1, ORDER + 1)] for collapsed in (False, True)]

    whole, collapsed = jets()
    for order in range(1, ORDER + 1):
        jet = whole[order - 1]
        assert jet.order == order
        assert jet.top is None
        close(jet.value, expected[0][0])
        for k in range(1, order + 1):
            close(jet.lower[k - 1], expected[k])
            close(jet.collapsed(k), WEIGHTS @ expected[k])
        jet = collapsed[order - 1]
        assert jet.order == order
        assert len(jet.lower) == order - 1
        close(jet.value, expected[0][0])
        for k in range(1, order):
            close(jet.lower[k - 1], expected[k])
        close(jet.top, WEIGHTS @ expected[order])
        close(jet.collapsed(order), jet.top, 0.0)


@pytest.mark.parametrize("kind", ACTIVATIONS, ids=lambda kind: kind.__name__)
def test_taylor_coefficients_of_an_activation(kind):
    z = jnp.linspace(-3.0, 3.0, 13)
    expected = jax.jit(jax.vmap(lambda a: nested(lambda t: ACTIVATIONS[kind](a + t), ORDER)))(z)
    close(jnp.stack(kind().taylor(z, ORDER)), jnp.stack(expected))


@pytest.mark.parametrize("kind", ACTIVATIONS, ids=lambda kind: kind.__name__)
def test_far_out_nothing_overflows(kind):
    z = jnp.asarray([-800.0, -40.0, 40.0, 800.0])
    coefficients = jnp.stack(kind().taylor(z, ORDER))
    assert jnp.all(jnp.isfinite(coefficients))
    close(coefficients[0], ACTIVATIONS[kind](z))


@pytest.mark.parametrize("collapsed", [False, True])
def test_sums_and_products(collapsed):
    """(f + g)² of two polynomials, by hand: f = 1 + 2t − t³ and g = a + bt + ct² with one (a, b, c) a direction."""
    a, b, c = jnp.asarray(0.5), random(DIRECTIONS, index=11), random(DIRECTIONS, index=12)
    ones = jnp.ones(DIRECTIONS)
    order = 4
    zeros = tuple(jnp.zeros(DIRECTIONS) for _ in range(order - collapsed))
    like = Jet(jnp.zeros(()), zeros, jnp.zeros(()) if collapsed else None, WEIGHTS)
    f = polynomial_jet(jnp.asarray(1.0), (2 * ones, 0 * ones, -ones), like)
    g = polynomial_jet(a, (b, c), like)
    total = (f + g) * (f + g)
    rows = np.stack([np.full(DIRECTIONS, 1 + a), 2 + b, c, -np.ones(DIRECTIONS)], axis=1)
    expected = np.stack([np.polynomial.polynomial.polymul(row, row) for row in rows], axis=1)
    close(total.value, expected[0, 0])
    for k in range(1, order + 1):
        close(total.collapsed(k), WEIGHTS @ expected[k])
    for k, coefficient in enumerate(total.lower, start=1):
        close(coefficient, expected[k])


def test_a_shift_reaches_the_value_alone_and_a_scale_every_coefficient():
    """The paper's Theorem 1 in a jet."""
    jet = Jet(random(2), (random(DIRECTIONS, 2, index=1),), random(2, index=2), WEIGHTS)
    gamma, beta = random(2, index=3), random(2, index=4)
    pushed = Modulation(gamma, beta).push(jet)
    close(pushed.value, gamma * jet.value + beta)
    close(pushed.lower[0], gamma[None] * jet.lower[0])
    close(pushed.top, gamma * jet.top)
    assert eqx.tree_equal(Modulation(None, None).push(jet), jet)
