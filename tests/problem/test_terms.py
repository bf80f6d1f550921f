"""The terms of a family at one point: which of them share a jet, and how their directions are drawn."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import (
    BALL,
    CYLINDER,
    FAMILIES,
    KEY,
    D,
    Terms,
    close,
    name_of,
    samples,
    small_model,
    solution_formula,
    term_values,
    value_of,
)

from prism.derivatives.directions import Gradients
from prism.derivatives.estimators import Coordinates, Exact, Gaussian, Gram
from prism.derivatives.operators import GradientNormSquared, Laplacian, Partial, TimeDerivative, WeightedTrace
from prism.objective.residuals import residual
from prism.problem.terms import (
    constant_residual,
    constrained_value,
    draw_directions,
    frames,
    place_at,
    sample_pair,
)

GROUPS = (
    {"lap": Laplacian(), "slope": GradientNormSquared()},
    {"u_x": Partial(0), "u_xxx": Partial(0, 0, 0), "u_xx": Partial(0, 0), "u_tt": TimeDerivative(2)}
    | {"u_t": TimeDerivative(), "u_xy": Partial(0, 1)},
)
TERMS = {name: operator for group in GROUPS for name, operator in group.items()}


def place(domain):
    return samples(domain, 1)[0], samples(Terms.parameters, 1)[0]


def test_terms_that_share_directions_make_a_frame():
    found = frames(Terms(CYLINDER, TERMS))
    assert [list(frame.operators) for frame in found] == [list(group) for group in GROUPS]
    assert [frame.order for frame in found] == [2, 3]
    assert [frame.collapsed for frame in found] == [True, False], "partial derivatives have a sum each"
    assert not frames(Terms(CYLINDER, {"slope": GradientNormSquared()}))[0].collapsed
    assert [frame.is_shared(Gaussian(2)) for frame in found] == [False, True]
    assert all(frame.is_shared(estimator) for frame in found for estimator in (Exact(), Gram(), Coordinates(2, True)))


@pytest.mark.parametrize("estimator", [Exact(), Gaussian(2)], ids=name_of)
def test_terms_that_share_a_frame_are_read_off_one_jet(estimator):
    """Those of lower order, and that which sets the order."""
    names, model, (x, mu) = ("lap", "slope", "u_x", "u_t"), small_model(CYLINDER), place(CYLINDER)

    @eqx.filter_jit
    def together_and_alone():
        families = {name: Terms(CYLINDER, {"term": TERMS[name]}) for name in names}
        alone = {name: term_values(model, family, estimator, x, mu, KEY) for name, family in families.items()}
        return term_values(model, Terms(CYLINDER, TERMS), estimator, x, mu, KEY), alone

    together, alone = together_and_alone()
    for name in names:
        close(together[name], alone[name]["term"], name=name)
        close(together["value"], alone[name]["value"], name=name)


def test_without_terms_there_is_the_value():
    family, (x, mu) = Terms(BALL, {}), place(BALL)
    model = small_model(BALL)
    found, value = jax.jit(lambda: (term_values(model, family, Exact(), x, mu, KEY), value_of(model, x, mu)))()
    assert list(found) == ["value"]
    close(found["value"], solution_formula(model, family)(x, mu))
    close(constrained_value(family, value, x, mu), found["value"])


def test_two_traces_have_directions_of_their_own():
    """σ and 2σ must not be read off the same directions, nor be drawn with the same key."""
    terms = {"one": WeightedTrace(lambda x, mu: jnp.ones(D)), "two": WeightedTrace(lambda x, mu: jnp.full(D, 2.0))}
    family, model, (x, mu) = Terms(BALL, terms), small_model(BALL), place(BALL)
    exact, drawn = jax.jit(lambda: [term_values(model, family, e, x, mu, KEY) for e in (Exact(), Gaussian(1))])()
    close(exact["two"], 4 * exact["one"])
    assert abs(drawn["two"] - 4 * drawn["one"]) > 1e-3 * abs(exact["one"])


def test_draws_know_neither_the_point_nor_the_weights():
    """One draw, made anywhere, serves at every place of the same shapes."""
    family = Terms(BALL, {"trace": WeightedTrace(lambda x, mu: 1.0 + x**2)})
    x, mu = place(BALL)
    here, there = (place_at(family, y, mu, Gradients(jnp.full((D, 2), y[0]), y[:, None])) for y in (x, 2 * x))
    for estimator in (Gaussian(2), Gram()):
        first, second = (draw_directions(family, estimator, where, KEY) for where in (here, there))
        assert eqx.tree_equal(first, second)


CONSTANTS = {"radial": (FAMILIES[1], Gram()), "ones own": (FAMILIES[-1], Exact())}


@pytest.mark.parametrize(("family", "estimator"), CONSTANTS.values(), ids=CONSTANTS)
def test_a_constant_needs_no_network(family, estimator):
    """Its residual is that of a network whose outputs are zero but for the offset."""
    model = small_model(family.domain, parameters=family.parameters)

    @jax.jit
    def residuals(level):
        x, mu = sample_pair(family, KEY)
        lifts = [Gradients.unknown(x.shape[0], width) for width in (1, model.lift.width)]
        draws = [draw_directions(family, estimator, place_at(family, x, mu, lift), KEY) for lift in lifts]
        constant = model.constant(level / model.amplitude)
        return constant_residual(family, draws[0], x, mu, level), residual(constant, family, draws[1], x, mu)

    for level in (0.0, 0.7):
        close(*residuals(jnp.asarray(level)))


def test_points_and_parameters_of_a_pair_are_independent():
    """|x| and the place of μ₁ in its interval are uniform: equal, digit for digit, if both came from one key."""
    x, mu = jax.jit(jax.vmap(lambda key: sample_pair(Terms(BALL, {}), key)))(jax.random.split(KEY, 4_000))
    radius, where = np.linalg.norm(x, axis=1) / BALL.radius, np.asarray(mu) - 0.5
    for column in where.T:
        assert abs(np.corrcoef(radius, column)[0, 1]) < 4 / np.sqrt(4_000)
