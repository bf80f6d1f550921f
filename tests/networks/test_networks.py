"""The network: where it starts, what reaches what, and that its jets are its values."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import (
    ACTIVATIONS,
    BALL,
    CYLINDER,
    KEY,
    MODULATIONS,
    Terms,
    close,
    network_formula,
    samples,
    small_model,
)

from prism.derivatives.directions import Decomposition, Dense
from prism.derivatives.estimators import Exact
from prism.networks.lift import Lift
from prism.networks.model import Architecture, Model
from prism.networks.modulation import FILM, NONE

SPACE = Terms.parameters
X, MU = samples(BALL, 4), samples(SPACE, 3)
every_modulation = pytest.mark.parametrize("modulation", MODULATIONS.values(), ids=MODULATIONS)


def created(modulation=FILM, lift_width: int = 6, key=KEY) -> Model:
    return Model.create(Architecture(lift_width, 7, 3, 5, 2, modulation), BALL, SPACE, key)


@eqx.filter_jit
def values(model: Model, points=X, parameters=MU):
    """N at every pair."""
    return jax.vmap(lambda x: jax.vmap(lambda mu: model.point(x, mu).value)(parameters))(points)


@eqx.filter_jit
def written_out(model: Model, points=X, parameters=MU):
    return jax.vmap(lambda x: jax.vmap(lambda mu: network_formula(model, x, mu))(parameters))(points)


@every_modulation
@pytest.mark.parametrize("depth", [1, 3])
def test_values_are_those_of_the_formula(modulation, depth):
    """Three layers of widths 6, 7, 7, or the lift alone, with every array random."""
    model = small_model(BALL, modulation, depth)
    close(values(model), written_out(model))


@pytest.mark.parametrize("kind", ACTIVATIONS, ids=lambda kind: kind.__name__)
def test_every_activation(kind):
    model = eqx.tree_at(lambda m: m.manifold.activation, small_model(BALL), kind())
    close(values(model), written_out(model))


def test_a_linear_lift_is_not_bent():
    model = eqx.tree_at(lambda m: m.manifold, small_model(BALL), replace_fn=lambda m: replace(m, linear_lift=True))
    close(values(model), written_out(model))
    assert Model.create(Architecture(linear_lift=True), BALL, SPACE, KEY).manifold.linear_lift


def test_clocks_see_time_alone_and_the_others_space_alone():
    lift = Lift.create(5, 8_000, KEY, affine=1, bias_deviation=1.0, clock_deviation=30.0)
    clocks, others = lift.weight[:, :2_000], lift.weight[:, 2_000:-1]
    assert not np.any(clocks[:-1])
    assert not np.any(lift.bias[:2_000])
    assert not np.any(others[-1])
    assert float(jnp.std(clocks[-1])) == pytest.approx(30.0, rel=0.07)  # 4 standard errors of 2,000 draws
    assert float(jnp.std(others[:-1])) == pytest.approx(5**-0.5, rel=0.03)


@pytest.mark.parametrize("name", MODULATIONS)
def test_where_training_starts(name):
    """At the network blind to μ, except with concatenation."""
    start, blind = values(created(MODULATIONS[name])), values(created(NONE))
    close(blind, jnp.broadcast_to(blind[:, :1], blind.shape), 0.0)
    if name == "concat":
        assert jnp.min(jnp.std(start, axis=1)) > 1e-3
    else:
        close(start, blind)


def test_the_network_without_modulation_stays_blind():
    found = values(small_model(BALL, NONE))
    close(found, jnp.broadcast_to(found[:, :1], found.shape), 0.0)
    assert jnp.std(found) > 1e-3  # yet not constant


@pytest.mark.parametrize("name", [name for name in MODULATIONS if name != "none"])
def test_with_modulation_mu_matters(name):
    assert jnp.min(jnp.std(values(small_model(BALL, MODULATIONS[name])), axis=1)) > 1e-3


@every_modulation
def test_gradients_reach_the_heads_and_not_the_amplitude(modulation):
    """From the very start, where the heads are zero."""
    gradient = eqx.filter_jit(eqx.filter_grad(lambda model: jnp.sum(values(model) ** 2)))(created(modulation))
    assert gradient.amplitude == 0.0
    heads = {"scale": gradient.generator.scale_head, "shift": gradient.generator.shift_head}
    for name, head in heads.items():
        assert (head is not None) == getattr(modulation, name)
        if head is not None:
            layers = np.split(np.asarray(head), [6, 13], axis=1)
            assert all(np.min(np.max(np.abs(layer), axis=0)) > 0 for layer in layers)
    rest = jax.tree.leaves((gradient.lift, gradient.manifold))
    assert all(jnp.max(jnp.abs(leaf)) > 0 for leaf in rest)


@every_modulation
@pytest.mark.parametrize("domain", [BALL, CYLINDER], ids=["ball", "cylinder"])
def test_a_jet_has_the_value_of_the_point(domain, modulation):
    model, x, mu = small_model(domain, modulation), samples(domain, 1)[0], MU[0]
    decomposition = Exact().decompose(2, domain.dimension, KEY)
    for order, collapsed in ((1, False), (2, True)):
        jet = model.jet(x, mu, decomposition, order, collapsed)
        assert jet.order == order
        close(jet.value, model.point(x, mu).value)
    assert model.point(x, mu).order == 0


def test_the_amplitude_is_the_unit_of_the_output():
    model = small_model(BALL)
    louder = eqx.tree_at(lambda m: m.amplitude, model, 3 * model.amplitude)
    close(values(louder), 3 * values(model))
    assert created().amplitude == 1.0


def test_the_lift():
    """z = s·xW + b and z_1(j) = s·v_jW, with inputs of order one whatever the size of the domain."""
    lift = small_model(BALL).lift
    x, vectors, weights = X[0], jax.random.normal(KEY, (3, 5)), jnp.asarray([1.0, -2.0, 0.5])
    decomposition = Decomposition(Dense(vectors), weights)
    close(lift(x), x @ lift.weight + lift.bias)
    whole, collapsed = (lift.jet(x, decomposition, 1, collapsed) for collapsed in (False, True))
    close(whole.lower[0], vectors @ lift.weight)
    close(collapsed.top, weights @ vectors @ lift.weight)
    assert collapsed.lower == ()
    third = lift.jet(x, decomposition, 3, True)
    close(third.lower[0], whole.lower[0])
    assert not jnp.any(third.lower[1])
    assert not jnp.any(third.top)


def test_the_lift_starts_with_unit_gain():
    """Var z = E|x|²/d: unit vectors are lifted to values of variance 1/d."""
    lift = Lift.create(200, 400, KEY)
    spread = jnp.var(lift(jnp.zeros(200).at[0].set(1.0)))
    assert 0.7 < 200 * spread < 1.3  # 1 within 4 standard errors of 400 normals, ≈ 0.07 each


@pytest.mark.parametrize("lift_width", [3, 7, 12])
def test_any_width_of_the_lift(lift_width):
    model = created(lift_width=lift_width)
    assert model.lift.width == lift_width + 4
    assert model.generator.widths == (lift_width, 7, 7)
    assert [weight.shape for weight in model.manifold.weights] == [(7, lift_width), (7, 7)]
    close(values(model), written_out(model))


def test_networks_depend_on_the_key():
    first, second = (created(key=key) for key in jax.random.split(KEY))
    for a, b in ((first.lift, second.lift), (first.manifold, second.manifold)):
        assert not eqx.tree_equal(a, b)
