"""Adam, and what an optimiser says of itself."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import close
from training.states import Fragile, bare_state

import prism
from prism.objective.rows import Slopes


@eqx.filter_jit
def step(optimiser, objective, model, state, batch, decay):
    return optimiser.step(objective, model, state, batch, decay)


def test_adams_first_step_goes_against_the_sign_of_the_gradient():
    state, adam = bare_state(Fragile(prism.Cube(2), 2.0)), prism.Adam(0.01)
    batch = state.next_batch(adam)
    after, _, info = step(adam, state.objective, state.model, adam.init(state.model), batch, jnp.asarray(0.5))
    loss, gradient = eqx.filter_value_and_grad(lambda model: state.objective.loss(model, batch))(state.model)
    close(info.loss, loss)
    assert info.finite
    moves = jax.tree.map(lambda new, old: new - old, *(eqx.filter(m, eqx.is_array) for m in (after, state.model)))
    for move, slope in zip(jax.tree.leaves(moves), jax.tree.leaves(gradient), strict=True):
        large = np.abs(slope) > 1e-4  # beside Adam's 1e-8
        np.testing.assert_allclose(np.asarray(move)[large], -0.005 * np.sign(slope)[large], rtol=1e-3)


@pytest.mark.parametrize("edge", [2.0, -1.0], ids=["finite", "not finite"])
def test_a_step_says_whether_it_was_finite(edge):
    state, adam = bare_state(Fragile(prism.Cube(2), edge)), prism.Adam()
    *_, info = step(adam, state.objective, state.model, adam.init(state.model), state.next_batch(adam), jnp.ones(()))
    assert bool(info.finite) is (edge > 1.0)


def test_adam_takes_every_loss_and_is_no_natural_gradient():
    for slopes in (None, Slopes(), Slopes(3)):
        prism.Adam().check(slopes)
    assert not prism.Adam.natural
    assert prism.Spring.natural
