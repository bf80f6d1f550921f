"""Levels and their derivatives at any μ, bounds that they keep, and the wave function itself."""

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from eigen.cases import (
    CASES,
    CORNER,
    MODES,
    MU,
    PLAIN,
    Braided,
    D,
    dense,
    potential_at,
    random_network,
)
from helpers import close, mostly_slow, samples

from prism.eigen.forms import Product, Sum, Train
from prism.eigen.levels import derivatives, excitations, levels, log_wave
from prism.eigen.metric import flat, unflattened
from prism.eigen.quadrature import gauss
from prism.families.coupled_oscillator import CoupledOscillator, PlainCoupledOscillator
from prism.networks.modulation import NONE

RULE, FINE = gauss(12), gauss(96)


@pytest.mark.parametrize(("potential", "form"), mostly_slow(CASES, "braided, train"))
def test_the_wave_function_is_the_dense_one_of_norm_one(potential, form):
    """sign Ψ and log |Ψ| at all nodes, but for the sign of the whole."""
    tensor = random_network(potential, form)

    @jax.jit
    def both():
        oracle = dense(tensor, potential, MU, RULE)
        points = oracle.points.reshape(-1, D)[::97]
        of = lambda y: log_wave(tensor, potential, MU, y, 0, RULE, 2)
        return *jax.vmap(of)(points), oracle.wave().reshape(-1)[::97], jnp.sum(oracle.weights * oracle.wave() ** 2)

    sign, log, expected, norm = both()
    close(norm, 1.0)
    found = sign * jnp.exp(log)
    close(found * jnp.sign(found[0] * expected[0]), expected)


@functools.cache
def excited():
    return random_network(MODES, Product(1), size=0.5)


def test_excited_waves_are_orthogonal_and_have_their_levels():
    """⟨Ψ_k, Ψ_l⟩ and ⟨Ψ_k, HΨ_k⟩ over all points, of the ground level and the two above it."""
    tensor = excited()

    @jax.jit
    def waves():
        oracle = dense(tensor, MODES, MU, RULE)
        points = oracle.points.reshape(-1, D)

        def psi(y, level):
            sign, log = log_wave(tensor, MODES, MU, y, level, RULE, 2)
            return sign * jnp.exp(log)

        found = [jax.vmap(jax.value_and_grad(functools.partial(psi, level=k)))(points) for k in range(3)]
        values, slopes = (jnp.stack(parts) for parts in zip(*found, strict=True))
        weights, v = oracle.weights.reshape(-1), oracle.potential.reshape(-1)
        norms = jnp.einsum("kn,n,ln->kl", values, weights, values)
        energies = jnp.einsum("knx,n,knx->k", slopes, weights, slopes)
        return norms, energies + jnp.einsum("kn,n,kn->k", values, weights * v, values)

    norms, energies = waves()
    close(norms, jnp.eye(3))
    close(energies, jax.jit(lambda: levels(tensor, MODES, MU, 3, RULE, 2))())


@pytest.mark.parametrize("functions", [1, 2, 3])
def test_the_lowest_sums_are_found_among_all(functions):
    """With any of four coordinates excited, some of them alike: those of all combinations, and their coordinates."""
    found = np.sort(np.random.default_rng(functions).uniform(size=(4, functions)).cumsum(axis=1), axis=1)
    found[3] = found[0]
    gaps = found - found[:, :1]
    every = sorted(sum(gap) for gap in itertools.product(*gaps))[:9]
    sums, coordinates, taken = jax.jit(lambda f: excitations(f, 9))(jnp.asarray(found))
    close(sums, every)
    close(np.sum(gaps[np.asarray(coordinates), np.asarray(taken)], axis=1), every)


def test_there_is_no_wave_beyond_the_intervals():
    for level, tensor, potential in ((1, excited(), MODES), (0, random_network(PLAIN, Train(2)), PLAIN)):
        of = jax.jit(lambda y, level=level, t=tensor, p=potential: log_wave(t, p, MU, y, level, RULE, 2))
        inside, end = jnp.asarray([0.1, 0.2, 0.3]), jnp.asarray(float(potential.half_width(jnp.asarray(1))))
        assert np.isfinite(of(inside)[1])
        for y in (end, 1.5 * end, -end):
            sign, log = of(inside.at[1].set(y))
            assert (float(sign), float(log)) == (0.0, -np.inf)


# Ψ is a product


def mixed_difference(form, potential) -> float:
    """log|Ψ| of (y_1 + h, y_2 + h) and (y_1, y_2) less that of the other two, with y_3 held."""
    tensor = random_network(potential, form)
    y, one, two = jnp.asarray([0.3, -0.2, 0.4]), jnp.asarray([0.5, 0.0, 0.0]), jnp.asarray([0.0, 0.7, 0.0])
    points = jnp.stack([y + one + two, y, y + one, y + two])
    log = jax.jit(jax.vmap(lambda y: log_wave(tensor, potential, MU, y, 0, RULE, 2)[1]))(points)
    return float(jnp.abs(log @ jnp.asarray([1.0, 1.0, -1.0, -1.0])))


def test_a_product_separates_and_the_others_do_not():
    """Its logarithm is a sum over coordinates at every μ: mixed second differences vanish, to rounding."""
    assert mixed_difference(Product(), MODES) < 1e-13
    assert mixed_difference(Sum(1), PLAIN) < 1e-13
    assert mixed_difference(Sum(2), PLAIN) > 1e-3
    assert mixed_difference(Train(2), PLAIN) > 1e-3


@pytest.mark.parametrize(("potential", "form"), [(MODES, Product()), (PLAIN, Train(1))], ids=["product", "train"])
def test_a_network_that_is_blind_has_one_wave_for_every_mu(potential, form):
    """Its level still changes with μ, for H does. Two terms or more are mixed anew at each μ; one is not."""
    tensor, y = random_network(potential, form, modulation=NONE), jnp.asarray([0.3, -0.2, 0.4])
    wave = jax.jit(lambda mu: log_wave(tensor, potential, mu, y, 0, RULE, 2))
    level = jax.jit(lambda mu: levels(tensor, potential, mu, 1, RULE, 2))
    assert [float(part) for part in wave(MU)] == [float(part) for part in wave(CORNER)]
    assert abs(level(MU) - level(CORNER)) > 1e-3


# Blocks


BLOCKED = {
    "product": (CoupledOscillator.create(5), Product(1)),
    "sum": (Braided(5), Sum(2)),
    "train": (Braided(5), Train(2)),
}


@pytest.mark.parametrize(("potential", "form"), mostly_slow(BLOCKED, "train"))
def test_blocks_of_any_size_give_the_same_levels_and_gradient(potential, form):
    """Of five coordinates one, three (the rest a block of its own) or all at once: to rounding, which at a random N
    is some hundred times larger in α, and so in the gradient, than in λ."""
    tensor = random_network(potential, form)

    def found(block):
        def total(weights, mu):
            put = eqx.tree_at(lambda t: t.factors, tensor, unflattened(tensor.factors, weights))
            return jnp.sum(levels(put, potential, mu, 1, RULE, block))

        return jax.jit(jax.value_and_grad(total, argnums=(0, 1)))(flat(tensor.factors), MU)

    whole, (by_weights, by_mu) = found(5)
    for block in (1, 3):
        level, (weights, mu) = found(block)
        close(level, whole, 1e-13)
        close(weights, by_weights, 1e-11)
        close(mu, by_mu, 1e-11)


# Derivatives by μ


@pytest.mark.parametrize(("potential", "form"), mostly_slow(CASES, "plain, sum"))
def test_derivatives_by_hellmann_and_feynman_are_those_at_a_wave_that_is_held(potential, form):
    """⟨Ψ, ∂v/∂μ Ψ⟩ over all points; and the derivative of the quotient of a network that is held at this μ. That of λ
    as it is differs, for no network here is a solution."""
    tensor = random_network(potential, form)

    @jax.jit
    def found():
        oracle = dense(tensor, potential, MU, RULE)
        points = oracle.points.reshape(-1, D)
        slope = jax.vmap(jax.jacrev(lambda mu, y: potential_at(potential, mu, y)), in_axes=(None, 0))(MU, points)
        expected = jnp.stack([oracle.mean(one.reshape(oracle.weights.shape)) for one in slope.T])
        around = MU[None] + 1e-5 * jnp.concatenate([jnp.eye(2), -jnp.eye(2)])
        held = jax.vmap(lambda mu: levels(tensor.held_at(MU), potential, mu, 1, RULE, 2)[0])(around)
        return derivatives(tensor, potential, MU, 1, RULE, 2), expected, held

    (formula, whole), expected, held = found()
    close(formula[0], expected)
    close(formula[0], (held[:2] - held[2:]) / 2e-5, 1e-8)  # differences of 1e-5: 1e-10 of the third derivative
    assert np.max(np.abs(whole[0] - formula[0])) > 1e-4


@pytest.mark.slow
def test_excited_levels_have_derivatives_of_their_own():
    """By differences of 1e-5, whose own error is 1e-10 times a third derivative, and 1e-11 of rounding."""
    step, tensor = 1e-5, excited()
    of = jax.jit(lambda mu: levels(tensor, MODES, mu, 3, RULE, 3))
    found = jax.jit(lambda: derivatives(tensor, MODES, MU, 3, RULE, 3))()
    assert found[0].shape == (3, 2)
    for axis in range(2):
        by = step * jnp.eye(2)[axis]
        close(found[1][:, axis], (of(MU + by) - of(MU - by)) / (2.0 * step), 1e-6)


# Bounds


RANDOM = {
    "modes, product": (CoupledOscillator.create(4), Product()),
    "modes, train": (CoupledOscillator.create(4), Train(2)),
    "plain, sum": (PlainCoupledOscillator.create(4), Sum(2)),
    "plain, train": (PlainCoupledOscillator.create(4), Train(2)),
}


@pytest.mark.parametrize(("potential", "form"), mostly_slow(RANDOM, "modes, product", "plain, train"))
def test_no_network_lies_below_the_ground_state(potential, form):
    """Random untrained ones at random μ: the quotient is above the lowest eigenvalue, and the ends of the intervals
    raise it. 1e-10 of the level is left for what 96 nodes miss of integrals of these functions."""
    mus, exact = samples(potential.parameters, 5), lambda mu: potential.exact(potential.parameters.named(mu), 1)
    networks = [random_network(potential, form, seed, size=1.0) for seed in range(6)]
    static = eqx.partition(networks[0], eqx.is_array)[1]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(eqx.filter(one, eqx.is_array) for one in networks))

    @jax.jit
    @jax.vmap
    def excess(arrays):
        tensor = eqx.combine(arrays, static)
        of = lambda mu: levels(tensor, potential, mu, 1, FINE, 4)[0] / exact(mu)[0] - 1.0
        return jax.vmap(of)(mus)

    found = np.asarray(excess(stacked))
    assert found.shape == (6, 5)
    assert np.min(found) > -1e-10
    assert np.max(found) > 1e-2, "they are no solutions"
