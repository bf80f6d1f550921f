"""The functions of one coordinate: their formula, their ends, and where μ enters."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from eigen.cases import BRAIDED, CORNER, MODES, MU, SMALL, functions_formula, random_network, weights_of
from helpers import KEY, MODULATIONS, close, mostly_slow

from prism.eigen.forms import Product, Sum, Train
from prism.eigen.network import FactorArchitecture, TensorNetwork, place
from prism.families.coupled_oscillator import CoupledOscillator
from prism.networks.modulation import FILM, NONE

XI = jnp.linspace(-1.0, 1.0, 9)
ONE = jnp.asarray(1)


@pytest.mark.parametrize("modulation", mostly_slow(MODULATIONS, "film", "none"))
@pytest.mark.parametrize("form", [Product(1), Train(2)], ids=str)
def test_functions_and_derivatives_are_those_of_the_formula(form, modulation):
    """φ written out, and its derivative by nested differentiation of that."""
    tensor = random_network(MODES, form, modulation=modulation)
    known = tensor.known(MU, ONE)
    of = lambda xi: functions_formula(tensor.factors, xi, known)
    values, derivatives = tensor.factors.at_all(XI, known)
    assert values.shape == (9, form.functions)
    close(values, jax.vmap(of)(XI))
    close(derivatives, jax.vmap(jax.jacfwd(of))(XI))
    close(tensor.factors(XI[3], known), values[3])


def test_functions_vanish_at_the_ends():
    tensor = random_network(MODES, Train(2))
    values = np.asarray(tensor.factors.at_all(XI, tensor.known(MU, ONE))[0])
    assert np.all(values[[0, -1]] == 0.0)
    assert np.all(values[1:-1] != 0.0)


@pytest.mark.parametrize("shared", [True, False])
def test_mu_enters_through_the_modulation_alone(shared):
    """At the modulation of another μ the functions are those of that μ: nothing else of the network is told it."""
    tensor = random_network(MODES, Product(), shared=shared)
    network = tensor.factor(ONE)
    here, there = (network.generator(tensor.known(mu, ONE)) for mu in (MU, CORNER))
    values = network.modulated(XI, here)[0]
    close(values, network.at_all(XI, tensor.known(MU, ONE))[0])
    assert np.max(np.abs(values - network.modulated(XI, there)[0])) > 1e-3


@pytest.mark.parametrize("shared", [True, False])
def test_before_training_the_functions_are_the_same_at_every_mu(shared):
    """The modulation begins at the identity."""
    architecture = FactorArchitecture(3, 2, 3, 1, FILM, shared=shared)
    tensor = TensorNetwork.create(architecture, Product(), MODES, KEY)
    one, other = (tensor.factor(ONE)(XI[2], tensor.known(mu, ONE)) for mu in (MU, CORNER))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("shared", [True, False])
def test_a_blind_network_is_told_no_mu(shared):
    """But all that is the coordinate's own, by place or by network."""
    tensor = random_network(MODES, Product(), shared=shared, modulation=NONE)
    of = lambda mu, i: tensor.factor(jnp.asarray(i))(XI[2], tensor.known(mu, jnp.asarray(i)))
    assert tensor.blind
    assert np.array_equal(of(MU, 1), of(CORNER, 1))
    assert of(MU, 0) != of(MU, 1)


@pytest.mark.parametrize("shared", [True, False])
def test_a_network_that_is_held_is_told_one_mu(shared):
    tensor = random_network(MODES, Product(), shared=shared)
    held = tensor.held_at(MU)
    assert np.array_equal(held.known(CORNER, ONE), tensor.known(MU, ONE))
    assert not np.array_equal(tensor.known(CORNER, ONE), tensor.known(MU, ONE))
    assert np.array_equal(weights_of(held), weights_of(tensor))


def test_a_shared_network_is_told_the_place_of_the_coordinate():
    """Two numbers of mean 0 and variance 1 over many coordinates, different for each."""
    tensor = random_network(MODES, Product())
    assert tensor.known(MU, ONE).shape == (4,)
    close(tensor.known(MU, ONE)[2:], place(ONE, 3, tensor.form))
    told = jax.vmap(lambda i: place(i, 1000, tensor.form))(jnp.arange(1000))
    assert np.all(np.abs(np.mean(told, axis=0)) < 1e-12)  # it is odd about the middle
    np.testing.assert_allclose(np.var(told, axis=0), 1.0, rtol=5e-3)  # a sum over 1,000 places for an integral
    assert len(np.unique(np.asarray(told), axis=0)) == 1000


def test_the_network_of_a_chain_is_told_how_near_its_ends_are():
    """Two numbers more, of no size in the middle of a long one."""
    told = jax.vmap(lambda i: place(i, 100, Train(2)))(jnp.arange(100))
    assert told.shape == (100, 4)
    assert told[0, 2] == told[-1, 3] == 1.0
    close(told[:, 2], told[::-1, 3])
    assert np.max(told[20:80, 2:]) < 1e-4


def test_networks_of_their_own_are_different_and_told_no_place():
    tensor = TensorNetwork.create(
        FactorArchitecture(3, 2, 3, 1, shared=False), Product(), CoupledOscillator.create(4), KEY
    )
    assert tensor.known(MU, ONE).shape == (2,)
    one, other = (tensor.factor(jnp.asarray(i)) for i in (0, 3))
    assert one.entry.shape == (3,)
    assert tensor.factors.entry.shape == (4, 3)
    assert np.array_equal(other.entry, tensor.factors.entry[3])
    assert not np.any(one.entry == other.entry)


def test_weights_of_one_network_are_counted():
    """Entry, hidden matrix, biases, readout, its offset; and of the generator one layer, γ and β."""
    tensor = TensorNetwork.create(SMALL, Product(), MODES, KEY)
    assert len(weights_of(tensor)) == 3 + 9 + 6 + 6 + 2 + 12 + 3 + 36


def test_the_seed_alone_decides_the_weights():
    create = lambda key: weights_of(TensorNetwork.create(SMALL, Sum(2), BRAIDED, key))
    assert np.array_equal(create(KEY), create(KEY))
    assert not np.array_equal(create(KEY), create(jax.random.key(1)))


def test_a_network_is_a_tree_of_its_weights_alone():
    """μ that it is held at is no weight, and neither is any setting."""
    tensor = random_network(MODES, Product())
    assert sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(tensor, eqx.is_array))) == len(weights_of(tensor))
