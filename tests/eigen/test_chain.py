"""The energy carried over the coordinates against dense quadrature, with all its derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from eigen.cases import BRAIDED, CASES, MU, PLAIN, D, dense, growth, random_network
from helpers import close, mostly_slow

from prism.eigen.chain import bonds, densities, operators, pencil, scaled_functions
from prism.eigen.forms import Sum, Train
from prism.eigen.levels import levels, log_wave
from prism.eigen.metric import flat, unflattened
from prism.eigen.quadrature import gauss
from prism.families.coupled_oscillator import PlainCoupledOscillator

RULE, FINE = gauss(12), gauss(32)
"""Too few nodes for an integral, and as good as any for two ways to the same sums; and enough of them."""
TRAIN, TERMS = random_network(BRAIDED, Train(2)), random_network(BRAIDED, Sum(2))


@pytest.mark.parametrize(("potential", "form"), mostly_slow(CASES, "plain, sum", "braided, train"))
def test_the_quotient_and_its_gradient_are_those_of_dense_quadrature(potential, form):
    """By μ and by all weights, to 1e-10: the same sums in another order, and of the dense ones the derivative of the
    generalised eigenvalue as it is, without the theorem that lets α be held fixed."""
    tensor = random_network(potential, form)

    def put(weights):
        return eqx.tree_at(lambda t: t.factors, tensor, unflattened(tensor.factors, weights))

    @jax.jit
    def both(weights, mu):
        whole = lambda weights, mu: dense(put(weights), potential, mu, RULE).level()
        ours = lambda weights, mu: levels(put(weights), potential, mu, 1, RULE, 2)[0]
        return [jax.value_and_grad(of, argnums=(0, 1))(weights, mu) for of in (whole, ours)]

    (expected, (by_weights, by_mu)), (found, (our_weights, our_mu)) = both(flat(tensor.factors), MU)
    close(found, expected)
    close(our_weights, by_weights)
    close(our_mu, by_mu)
    assert np.all(np.abs(by_mu) > 1e-4)


@pytest.mark.parametrize("tensor", [TERMS, TRAIN], ids=["sum", "train"])
def test_matrices_and_norm_are_those_of_dense_quadrature(tensor):
    """E and N of functions that are scaled, times what both were divided by, whose logarithm is kept. Each term of a
    sum has scales of its own, all functions of a coordinate of a train have one."""

    @jax.jit
    def both():
        at = [scaled_functions(tensor, BRAIDED, MU, jnp.asarray(i), RULE)[1] for i in range(D)]
        return pencil(tensor, BRAIDED, MU, RULE, 2), dense(tensor, BRAIDED, MU, RULE).pencil(), jnp.stack(at)

    ours, (energy, norm), scales = both()
    whole = jnp.prod(scales[:, :2], axis=0)
    if isinstance(tensor.form, Train):
        assert np.all(scales == scales[:, :1])
    close(ours.energy * jnp.exp(ours.log_norm), energy * jnp.outer(whole, whole))
    close(ours.norm * jnp.exp(ours.log_norm), norm * jnp.outer(whole, whole))
    level, alpha = ours.lowest
    close(alpha @ ours.norm @ alpha, 1.0)
    close(ours.energy @ alpha, level * (ours.norm @ alpha))


@pytest.mark.parametrize("tensor", mostly_slow({"sum": TERMS, "train": TRAIN}, "train"))
def test_densities_are_those_of_dense_quadrature(tensor):
    """∫Ψ² over the other two coordinates, at the nodes of each."""

    @jax.jit
    def both():
        oracle = dense(tensor, BRAIDED, MU, RULE)
        share = oracle.weights * oracle.wave() ** 2
        along = [jnp.sum(share, axis=tuple({0, 1, 2} - {i})) for i in range(D)]
        ours = [densities(tensor, BRAIDED, MU, jnp.asarray(i), RULE, 2) for i in range(D)]
        return ours, along, bonds(tensor, BRAIDED, MU, RULE, 2)

    ours, expected, around = both()
    for i, ((positions, density), share) in enumerate(zip(ours, expected, strict=True)):
        length = BRAIDED.half_width(jnp.asarray(i))
        close(positions, length * RULE.nodes)
        close(density * length * RULE.weights, share)
    for side in (around.before, around.behind):
        close(jnp.trace(side, axis1=1, axis2=2), jnp.ones(D))
        close(side, jnp.swapaxes(side, 1, 2))


def test_functions_are_scaled_so_that_what_is_carried_stays_of_the_same_size():
    """Those of a train to a squared norm for each row, those of a sum one by one."""
    train, terms = (jax.jit(lambda t=t: operators(t, BRAIDED, MU, jnp.asarray(1), RULE))() for t in (TRAIN, TERMS))
    close(jnp.trace(train.overlap), 2.0)
    close(jnp.diagonal(terms.overlap), jnp.ones(2))
    assert [matrix.shape for matrix in (*train.left, *train.right)] == [(4, 4)] * 4


def test_terms_that_are_equal_cost_nothing():
    """N of rank one: the level is that of one term, and its gradient is finite."""
    single = random_network(PLAIN, Sum(1))
    twice = lambda a: jnp.concatenate([a, a[..., 1:]], axis=-1)
    joined = eqx.tree_at(lambda n: (n.readout, n.offset), single.factors, replace_fn=twice)
    double = eqx.tree_at(lambda t: t.factors, random_network(PLAIN, Sum(2)), joined)
    level = lambda weights, tensor: levels(
        eqx.tree_at(lambda t: t.factors, tensor, unflattened(tensor.factors, weights)), PLAIN, MU, 1, RULE, 2
    )[0]
    expected = jax.jit(lambda: level(flat(single.factors), single))()
    found, gradient = jax.jit(lambda: jax.value_and_grad(level)(flat(double.factors), double))()
    close(found, expected)
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("form", mostly_slow({"sum": Sum(2), "train": Train(2)}, "train"))
def test_many_coordinates_neither_overflow_nor_vanish(form):
    """Ψ of 2,000 coordinates has no number in the middle, where it is largest: its logarithm does."""
    potential = PlainCoupledOscillator.create(2000)
    tensor = random_network(potential, form, size=0.05)

    @jax.jit
    def found():
        wave = log_wave(tensor, potential, MU, jnp.zeros(2000), 0, FINE, 64)
        return levels(tensor, potential, MU, 1, FINE, 64)[0], wave[1]

    level, log = found()
    assert 0.9 < level / 2000.0 < 1.5
    assert np.isfinite(log)
    assert log < -350.0  # a factor (ω/π)^¼ for each coordinate, e^−580 of all


KILOBYTE = 1024.0


@pytest.mark.parametrize("form", mostly_slow({"sum": Sum(2), "train": Train(2)}, "train"))
def test_memory_does_not_grow_with_the_number_of_blocks(form):
    """But for the bonds that are carried, 3 matrices of 4 numbers beside the log-norm and as many for the gradient:
    1 kB for each block more, where the functions of a block at the nodes take 100 kB."""
    less, more, blocks = growth(PlainCoupledOscillator, form)
    assert more - less < 0.1 * less + KILOBYTE * blocks
    assert more < 1.5 * less


@pytest.mark.slow
def test_a_block_that_is_kept_would_be_noticed(monkeypatch):
    monkeypatch.setattr(jax, "checkpoint", lambda function: function)
    less, more, _ = growth(PlainCoupledOscillator, Train(2))
    assert more > 4.0 * less
