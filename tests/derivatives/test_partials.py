"""Series in several variables against nested `jax.jvp` in float64, and how many coefficients they have."""

import math
from collections import Counter

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from derivatives.test_moments import EQUATIONS, SETS, dense
from helpers import ACTIVATIONS, KEY, SOLITON_FAMILIES, close, mostly_slow, taylor_coefficients
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.derivatives.moments import fewest_directions
from prism.derivatives.partials import PartialJet, divisors
from prism.networks.modulation import Modulation
from prism.problem.terms import frames

WIDTH = 4
CASES = {
    "KdV2D": EQUATIONS["KdV2D"][0],
    "KP": EQUATIONS["KP"][0],
    "in three variables": ((0, 1, 2), (0, 0, 1, 2), (2, 2)),
    "a square": ((0, 0, 1, 1),),
    "a high power": ((1,) * 6,),
}
FEW = ("KdV2D", "in three variables", "a high power")
every_case = pytest.mark.parametrize("asked", mostly_slow({name: (asked,) for name, asked in CASES.items()}, *FEW))


def random(*shape, index: int = 0):
    return jax.random.normal(jax.random.fold_in(KEY, index), shape)


X, W1, W2, READOUT = random(3) / 2, random(3, WIDTH, index=1), random(WIDTH, WIDTH, index=2), random(WIDTH, index=3)
GAMMA, BETA = random(WIDTH, index=4), random(WIDTH, index=5)


def plain(sigma, x):
    """A product of two networks, one modulated."""
    z = x @ W1
    return (sigma(GAMMA * (sigma(z) @ W2) + BETA) @ READOUT) * (sigma(z) @ READOUT + 0.3)


def by_series(activation, z: PartialJet) -> PartialJet:
    """The same by the rules of series."""
    hidden = activation.push(z)
    first = activation.push(Modulation(GAMMA, BETA).push(hidden.map_linear(lambda h: h @ W2)))
    read = lambda jet: jet.map_linear(lambda h: h @ READOUT)
    return read(first) * read(hidden).shift(jnp.asarray(0.3))


def lifted(axes) -> PartialJet:
    """x W1: its gradient, and nothing beyond."""
    zero = jnp.zeros(WIDTH)
    return PartialJet(X @ W1, tuple(W1[one[0]] if len(one) == 1 else zero for one in axes), axes)


def nested(function, axes):
    """∂ᵅf at X, one `jax.jvp` inside the other."""
    for axis in axes:
        function = lambda x, f=function, axis=axis: jax.jvp(f, (x,), (jnp.eye(3)[axis],))[1]
    return function(X)


@pytest.mark.parametrize("kind", mostly_slow({kind.__name__: kind for kind in ACTIVATIONS}, "Tanh", "Swish"))
def test_series_of_a_network_are_its_derivatives(kind):
    """Of every activation, all that u_xxxy, u_ty and u_yy need."""
    axes = divisors(CASES["KdV2D"])
    found = jax.jit(lambda: by_series(kind(), lifted(axes)))()
    expected = jax.jit(lambda: [nested(lambda x: plain(ACTIVATIONS[kind], x), one) for one in axes])()
    close(jnp.stack([found.derivative(one) for one in axes]), jnp.stack(expected))
    close(found.value, plain(ACTIVATIONS[kind], X))


@every_case
def test_series_of_any_derivatives(asked):
    kind = next(iter(ACTIVATIONS))
    found = jax.jit(lambda: by_series(kind(), lifted(divisors(asked))))()
    expected = jax.jit(lambda: [nested(lambda x: plain(ACTIVATIONS[kind], x), one) for one in asked])()
    close(jnp.stack([found.derivative(one) for one in asked]), jnp.stack(expected))


@every_case
def test_jets_along_directions_become_the_same_series(asked):
    """By the moments of the directions, each up to the order that it is needed for."""
    axes, kind = divisors(asked), next(iter(ACTIVATIONS))
    moments, function = fewest_directions(axes), lambda x: plain(ACTIVATIONS[kind], x)
    order = moments.orders[0]
    along = lambda v: taylor_coefficients(lambda t: function(X + t * v), order)
    value, *coefficients = jax.jit(jax.vmap(along))(jnp.asarray(dense(moments, 3)))
    found = PartialJet.of(value[0], coefficients, axes)
    expected = jax.jit(lambda: [nested(function, one) for one in axes])()
    close(jnp.stack([found.derivative(one) for one in axes]), jnp.stack(expected), 1e-9)
    again = by_series(kind(), lifted(axes)).polynomial(value[0], coefficients)
    assert eqx.tree_equal(found, again)


# Which derivatives there are


@pytest.mark.parametrize("asked", SETS.values(), ids=SETS)
def test_all_that_divides_is_there_and_nothing_else(asked):
    axes = divisors(asked)
    assert len(set(axes)) == len(axes)
    divides = lambda a, b: not Counter(a) - Counter(b)
    for one in axes:
        assert one == tuple(sorted(one))
        assert any(divides(one, whole) for whole in asked)
        for axis in set(one):
            rest = list(one)
            rest.remove(axis)
            assert not rest or tuple(rest) in axes


@pytest.mark.parametrize("asked", SETS.values(), ids=SETS)
def test_what_divides_needs_no_further_direction(asked):
    """Contracting Σ_j w_j v_j ⊗ ... ⊗ v_j gives the divisors from the same v_j."""
    few, whole = fewest_directions(asked), fewest_directions(divisors(asked))
    assert few.orders == whole.orders
    size = max(map(max, asked)) + 1
    assert {tuple(v) for v in dense(few, size)} == {tuple(v) for v in dense(whole, size)}


def test_the_waves_take_fewer_coefficients_than_jets():
    """Beside the value: kdv2d ten where its six directions have seventeen, the highest of them summed."""
    counts = {}
    for family in SOLITON_FAMILIES:
        (frame,) = frames(family)
        below = sum(min(order, frame.order - 1) for order in frame.moments.orders)
        counts[type(family).__name__] = (len(frame.every), below + 1)
    assert counts == {"KdV2D": (10, 17), "KP": (8, 10), "GKdV": (4, 4)}


# Arithmetic


SERIES = st.lists(st.integers(-5, 5), min_size=11, max_size=11)


def series(numbers) -> PartialJet:
    """With small whole numbers, whose sums and products are exact."""
    value, *coefficients = (jnp.asarray(float(number)) for number in numbers)
    return PartialJet(value, tuple(coefficients), divisors(CASES["KdV2D"]))


@settings(max_examples=30)
@given(SERIES, SERIES, SERIES)
def test_series_form_a_commutative_ring(first, second, third):
    a, b, c = map(series, (first, second, third))
    one = a.polynomial(jnp.asarray(1.0), ())
    same = lambda left, right: jax.tree.map(np.testing.assert_array_equal, left, right)
    same(a + b, b + a)
    same(a * b, b * a)
    same((a * b) * c, a * (b * c))
    same(a * (b + c), a * b + a * c)
    same(a * one, a)
    same(a.shift(jnp.asarray(2.0)), a + one + one)


def test_powers_are_compositions():
    """(f_0 + s)³ = f_0³ + 3 f_0² s + 3 f_0 s² + s³."""
    f = series([2, -1, 3, 1, 4, -2, 5, 1, -3, 2, 1])
    f0 = f.value
    outer = [f0**3, 3 * f0**2, 3 * f0, jnp.ones(()), jnp.zeros(())]
    jax.tree.map(np.testing.assert_allclose, f.composed(outer), f * f * f)


def test_more_first_derivatives_change_no_other():
    """They are those of a function along directions of their own."""
    kind = next(iter(ACTIVATIONS))
    z, more = lifted(divisors(CASES["KP"])), random(2, 3, index=6)
    wide, first = by_series(kind(), z.widened(more @ W1)).narrowed(2)
    assert eqx.tree_equal(wide, by_series(kind(), z))
    gradient = jax.grad(lambda x: plain(ACTIVATIONS[kind], x))(X)
    close(first, more @ gradient)


def test_derivatives_are_read_in_any_order_of_their_axes():
    f = series(range(11))
    assert f.derivative((2, 1)) == f.derivative((1, 2))
    highest = f.coefficients[-1] * math.factorial(3)
    assert f.derivative((0, 1, 0, 0)) == f.derivative((0, 0, 0, 1)) == highest
