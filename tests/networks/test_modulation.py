"""How μ enters: where training starts, and what reaches what."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import BALL, KEY, MODULATIONS, Terms, close, linear, samples, small_model, value_of

from prism.networks.model import Architecture, Model
from prism.networks.modulation import NONE

SPACE = Terms.parameters
X, MU = samples(BALL, 4), samples(SPACE, 3)


def values(model: Model):
    """N at every pair."""
    return jax.vmap(lambda x: jax.vmap(lambda mu: value_of(model, x, mu))(MU))(X)


@pytest.fixture(scope="module")
def starts() -> dict[str, tuple[jax.Array, Model]]:
    """Before training, under every setting: N at every pair, and the gradient of Σ N² by everything."""

    @eqx.filter_jit
    def one(model: Model):
        return values(model), eqx.filter_grad(lambda m: jnp.sum(values(m) ** 2))(model)

    architectures = {name: Architecture(linear(6), 7, 3, 5, 2, modulation) for name, modulation in MODULATIONS.items()}
    return {name: one(Model.create(architecture, BALL, SPACE, KEY)) for name, architecture in architectures.items()}


@pytest.mark.parametrize("name", MODULATIONS)
def test_where_training_starts(name, starts):
    """At the network blind to μ, except with concatenation."""
    start, blind = starts[name][0], starts["none"][0]
    close(blind, jnp.broadcast_to(blind[:, :1], blind.shape), 0.0)
    if name == "concat":
        assert jnp.min(jnp.std(start, axis=1)) > 1e-3
    else:
        close(start, blind)


@pytest.mark.parametrize("name", MODULATIONS)
def test_gradients_reach_the_heads_and_not_the_amplitude(name, starts):
    """From the very start, where the heads are zero."""
    gradient, modulation = starts[name][1], MODULATIONS[name]
    assert gradient.amplitude == 0.0
    heads = {"scale": gradient.generator.scale_head, "shift": gradient.generator.shift_head}
    for part, head in heads.items():
        assert (head is not None) == getattr(modulation, part)
        if head is not None:
            layers = np.split(np.asarray(head), [6, 13], axis=1)
            assert all(np.min(np.max(np.abs(layer), axis=0)) > 0 for layer in layers)
    rest = jax.tree.leaves((gradient.lift, gradient.manifold))
    assert all(jnp.max(jnp.abs(leaf)) > 0 for leaf in rest)


def test_the_network_without_modulation_stays_blind():
    found = jax.jit(lambda: values(small_model(BALL, NONE)))()
    close(found, jnp.broadcast_to(found[:, :1], found.shape), 0.0)
    assert jnp.std(found) > 1e-3  # yet not constant


def test_with_modulation_mu_matters():
    names = [name for name in MODULATIONS if name != "none"]
    found = jax.jit(lambda: {name: values(small_model(BALL, MODULATIONS[name])) for name in names})()
    for name in names:
        assert jnp.min(jnp.std(found[name], axis=1)) > 1e-3, name
