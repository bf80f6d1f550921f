"""Jets against nested `jax.jvp` in float64, for every activation and every order to 6."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import ACTIVATIONS, KEY, close, mostly_slow, taylor_coefficients
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.derivatives import taylor
from prism.derivatives.taylor import Jet, Sin, collapse, linear_jet, point_jet
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


def derivatives_of(kind, order: int):
    """Normalised derivatives 0 ... order of the product along every direction, by nested autodiff."""
    return jax.jit(jax.vmap(lambda v: taylor_coefficients(lambda t: plain(ACTIVATIONS[kind], t, v), order)))(V)


@pytest.mark.parametrize("kind", mostly_slow({kind.__name__: kind for kind in ACTIVATIONS}, "Tanh", "Swish"))
def test_jets_of_a_network_are_its_derivatives(kind):
    """At the highest order, which has those of all lower orders in it."""
    expected = derivatives_of(kind, ORDER)
    whole, collapsed = jax.jit(lambda: [by_jets(kind(), lifted(ORDER, collapsed)) for collapsed in (False, True)])()
    check_whole(whole, expected)
    check_collapsed(collapsed, expected)


def test_jets_of_every_order():
    """Truncated earlier, and collapsed earlier."""
    expected = derivatives_of(Sin, ORDER)

    @jax.jit
    def jets():
        return [[by_jets(Sin(), lifted(k, collapsed)) for k in range(1, ORDER)] for collapsed in (False, True)]

    whole, collapsed = jets()
    for order in range(1, ORDER):
        check_whole(whole[order - 1], expected[: order + 1])
        check_collapsed(collapsed[order - 1], expected[: order + 1])


def check_whole(jet: Jet, expected) -> None:
    assert jet.order == len(expected) - 1
    assert jet.top is None
    close(jet.value, expected[0][0])
    for k in range(1, jet.order + 1):
        close(jet.lower[k - 1], expected[k])
        close(jet.collapsed(k), WEIGHTS @ expected[k])


def check_collapsed(jet: Jet, expected) -> None:
    order = len(expected) - 1
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
    expected = jax.jit(jax.vmap(lambda a: taylor_coefficients(lambda t: ACTIVATIONS[kind](a + t), ORDER)))(z)
    found = kind().taylor(z, ORDER)
    close(jnp.stack(found), jnp.stack(expected))
    for order in range(ORDER):  # fewer of them are the first of them
        assert eqx.tree_equal(kind().taylor(z, order), found[: order + 1])


@pytest.mark.parametrize("kind", ACTIVATIONS, ids=lambda kind: kind.__name__)
def test_far_out_nothing_overflows(kind):
    z = jnp.asarray([-800.0, -40.0, 40.0, 800.0])
    coefficients = jnp.stack(kind().taylor(z, ORDER))
    assert jnp.all(jnp.isfinite(coefficients))
    close(coefficients[0], ACTIVATIONS[kind](z))


@pytest.mark.parametrize("collapsed", [False, True])
def test_sums_and_products(collapsed):
    """(f + g)² of two polynomials, by hand: f = 1 + 2t − t³ and g = a + bt + ct² with one (a, b, c) per direction."""
    a, b, c = jnp.asarray(0.5), random(DIRECTIONS, index=11), random(DIRECTIONS, index=12)
    ones = jnp.ones(DIRECTIONS)
    order = 4
    zeros = tuple(jnp.zeros(DIRECTIONS) for _ in range(order - collapsed))
    like = Jet(jnp.zeros(()), zeros, jnp.zeros(()) if collapsed else None, WEIGHTS)
    f = like.polynomial(jnp.asarray(1.0), (2 * ones, 0 * ones, -ones))
    g = like.polynomial(a, (b, c))
    total = (f + g) * (f + g)
    rows = np.stack([np.full(DIRECTIONS, 1 + a), 2 + b, c, -np.ones(DIRECTIONS)], axis=1)
    expected = np.stack([np.polynomial.polynomial.polymul(row, row) for row in rows], axis=1)
    close(total.value, expected[0, 0])
    for k in range(1, order + 1):
        close(total.collapsed(k), WEIGHTS @ expected[k])
    for k, coefficient in enumerate(total.lower, start=1):
        close(coefficient, expected[k])


@pytest.mark.parametrize("collapsed", [False, True], ids=["whole", "collapsed"])
def test_later_coefficients_of_fewer_directions_are_the_same(collapsed):
    """Of a network whose second direction is needed to order 2 and the third to order 1."""
    order, counts = 4, (3, 2, 1, 1)
    expected, weights = derivatives_of(Sin, order), WEIGHTS[: counts[-1]]
    whole = lifted(order, False)
    lower = tuple(own[:count] for own, count in zip(whole.lower, counts, strict=True))
    jet = Jet(whole.value, lower, None, weights)
    if collapsed:
        jet = Jet(whole.value, lower[:-1], collapse(weights, lower[-1]), weights)
    found = jax.jit(lambda: by_jets(Sin(), jet))()
    assert found.order == order
    for k, coefficient in enumerate(found.lower, start=1):
        close(coefficient, expected[k][: counts[k - 1]])
    close(found.collapsed(order), weights @ expected[order][: counts[-1]])
    for ours, like in ((found + found, 2.0), (jet.polynomial(jnp.asarray(2.0), ()) * found, 2.0)):
        jax.tree.map(close, ours.lower, tuple(like * coefficient for coefficient in found.lower))


def test_a_shift_reaches_the_value_alone_and_a_scale_every_coefficient():
    """The paper's Theorem 1 in a jet."""
    jet = Jet(random(2), (random(DIRECTIONS, 2, index=1),), random(2, index=2), WEIGHTS)
    gamma, beta = random(2, index=3), random(2, index=4)
    pushed = Modulation(gamma, beta).push(jet)
    close(pushed.value, gamma * jet.value + beta)
    close(pushed.lower[0], gamma[None] * jet.lower[0])
    close(pushed.top, gamma * jet.top)
    assert eqx.tree_equal(Modulation(None, None).push(jet), jet)


# The ring of jets. Coefficients are whole numbers, so that sums and products are exact and laws hold to the last bit.

NUMBERS = st.lists(st.integers(-9, 9), min_size=57, max_size=57)
SHAPES = st.tuples(st.integers(1, 5), st.sampled_from([1, 3]), st.booleans(), NUMBERS)
"""The order, the number of directions, whether the highest coefficient is collapsed, and numbers for three jets."""


def jets_of(shape) -> list[tuple[Jet, np.ndarray]]:
    """Three scalar jets of one shape, each with its coefficients 0 ... order for every direction."""
    order, count, collapsed, numbers = shape
    weights, *coefficients = np.asarray(numbers, dtype=float).reshape(19, 3)[:, :count]
    jets = []
    for start in (0, 6, 12):
        own = np.stack(coefficients[start : start + order + 1])
        own[0] = own[0, 0]
        lower = tuple(map(jnp.asarray, own[1 : order + 1 - collapsed]))
        top = jnp.asarray(weights @ own[order]) if collapsed else None
        jets.append((Jet(jnp.asarray(own[0, 0]), lower, top, jnp.asarray(weights)), own))
    return jets


def same(first: Jet, second: Jet) -> None:
    assert eqx.tree_equal(first, second)


@settings(max_examples=50)
@given(SHAPES)
def test_jets_form_a_commutative_ring(shape):
    a, b, c = (jet for jet, _ in jets_of(shape))
    zero, one = (a.polynomial(jnp.asarray(v), ()) for v in (0.0, 1.0))
    minus = a.map_linear(lambda value: -value)
    same(a + b, b + a)
    same((a + b) + c, a + (b + c))
    same(a + zero, a)
    same(a + minus, zero)
    same(a * b, b * a)
    same((a * b) * c, a * (b * c))
    same(a * one, a)
    same(a * (b + c), a * b + a * c)
    same(minus * b, (a * b).map_linear(lambda value: -value))


@given(SHAPES)
def test_the_arithmetic_of_jets_is_that_of_polynomials(shape):
    (a, first), (b, second), _ = jets_of(shape)
    order, count = a.order, first.shape[1]
    product = [np.polynomial.polynomial.polymul(first[:, j], second[:, j])[: order + 1] for j in range(count)]
    padded = np.stack([np.pad(row, (0, order + 1 - len(row))) for row in product], axis=1)
    for found, expected in ((a + b, first + second), (a * b, padded)):
        assert found.value == expected[0, 0]
        for coefficient, row in zip(found.lower, expected[1:], strict=False):
            np.testing.assert_array_equal(coefficient, row)
        assert found.collapsed(order) == np.asarray(a.weights) @ expected[order]


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize("collapsed", [False, True], ids=["whole", "collapsed"])
def test_linear_maps_of_jets_of_any_shape(shape, collapsed):
    """L(f + g) = L f + L g, on the jets of linear functions; a constant is one without slope."""
    f, g = (
        linear_jet(random(*shape, index=i), random(DIRECTIONS, *shape, index=i + 9), 3, collapsed, WEIGHTS)
        for i in (1, 2)
    )
    linear = lambda value: 2.0 * value
    jax.tree.map(close, (f + g).map_linear(linear), f.map_linear(linear) + g.map_linear(linear))
    jax.tree.map(close, (f + g).value, f.value + g.value)
    constant = linear_jet(f.value, jnp.zeros((DIRECTIONS, *shape)), 3, collapsed, WEIGHTS)
    jax.tree.map(close, f + constant, f.shift(f.value))
    assert point_jet(f.value).order == 0


def test_every_activation_is_listed():
    assert set(ACTIVATIONS) == set(taylor.ACTIVATIONS.values())
