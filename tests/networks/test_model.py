"""The network: its values are those of its formula, and its jets those of its values."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from helpers import (
    ACTIVATIONS,
    BALL,
    CYLINDER,
    KEY,
    MODULATIONS,
    Terms,
    close,
    decomposed,
    jet_of,
    linear,
    network_formula,
    samples,
    small_model,
    value_of,
)

from prism.derivatives.estimators import Exact
from prism.networks.model import Architecture, Model

SPACE = Terms.parameters
X, MU = samples(BALL, 4), samples(SPACE, 3)


def check_values(models) -> None:
    """N of each model at every pair is what the formula says."""
    one = lambda model, x, mu: (value_of(model, x, mu), network_formula(model, x, mu))
    at_pairs = lambda model: jax.vmap(lambda x: jax.vmap(lambda mu: one(model, x, mu))(MU))(X)
    pairs = eqx.filter_jit(lambda: {name: at_pairs(model) for name, model in models.items()})()
    for name, (found, expected) in pairs.items():
        close(found, expected, name=name)


@pytest.mark.parametrize("depth", [1, 3])
def test_values_are_those_of_the_formula(depth):
    """Three layers of widths 3, 5, 5, or the lift alone, with every array random."""
    check_values(
        {name: small_model(BALL, modulation, depth, lift=linear(3, 1)) for name, modulation in MODULATIONS.items()}
    )


def test_every_activation():
    model = small_model(BALL)
    check_values({k.__name__: eqx.tree_at(lambda m: m.manifold.activation, model, k()) for k in ACTIVATIONS})


def test_a_linear_lift_is_not_bent():
    model = eqx.tree_at(lambda m: m.manifold, small_model(BALL), replace_fn=lambda m: replace(m, linear_lift=True))
    check_values({"linear": model})
    architecture = Architecture(linear(4), 4, 2, 4, 1, linear_lift=True)
    assert eqx.filter_eval_shape(Model.create, architecture, BALL, SPACE, KEY).manifold.linear_lift


def created(lift_width: int = 6, key=KEY) -> Model:
    return Model.create(Architecture(linear(lift_width), 7, 3, 5, 2), BALL, SPACE, key)


@pytest.mark.parametrize("lift_width", [3, 7, 12])
def test_any_width_of_the_lift(lift_width):
    model = created(lift_width)
    assert model.lift.width == lift_width + 4
    assert model.generator.widths == (lift_width, 7, 7)
    assert [weight.shape for weight in model.manifold.weights] == [(7, lift_width), (7, 7)]
    check_values({"created": model})


@pytest.mark.parametrize("domain", [BALL, CYLINDER], ids=["ball", "cylinder"])
def test_a_jet_has_the_value_of_the_point(domain):
    x, mu = samples(domain, 1)[0], MU[0]
    decomposition = decomposed(Exact(), 2, domain.dimension, KEY)

    @eqx.filter_jit
    def jets():
        models = [small_model(domain, modulation) for modulation in MODULATIONS.values()]
        orders = ((1, False), (2, True))
        return [([jet_of(m, x, mu, decomposition, *order) for order in orders], value_of(m, x, mu)) for m in models]

    for (first, second), value in jets():
        assert (first.order, second.order) == (1, 2)
        close(first.value, value)
        close(second.value, value)


def test_the_output_is_measured_from_the_level_in_units_of_the_amplitude():
    model = small_model(BALL)
    louder = eqx.tree_at(lambda m: m.amplitude, model, 3 * model.amplitude)
    one, three = jax.jit(lambda: [value_of(m, X[0], MU[0]) for m in (model, louder)])()
    close(three - model.level, 3 * (one - model.level))
    assert eqx.filter_eval_shape(created).amplitude.shape == ()
    assert (created().level, created().amplitude) == (0.0, 1.0)


@pytest.mark.parametrize("affine", [0, 2])
def test_a_network_that_is_constant(affine):
    """Whatever else its weights are, with affine channels or without."""
    model = small_model(BALL, lift=linear(2, affine))

    @jax.jit
    def jet():
        constant, decomposition = model.constant(jnp.asarray(0.7)), decomposed(Exact(), 2, 5, KEY)
        return jet_of(constant, X[0], MU[0], decomposition, 2, collapsed=True)

    close(jet().value, 0.7 * model.amplitude)
    assert not jnp.any(jet().lower[0])
    assert jet().top == 0.0


def test_networks_depend_on_the_key():
    first, second = (created(key=key) for key in jax.random.split(KEY))
    for a, b in ((first.lift, second.lift), (first.manifold, second.manifold)):
        assert not eqx.tree_equal(a, b)
