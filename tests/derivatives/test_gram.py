"""Gram: derivatives through the Gram matrix of the lift, against nested automatic differentiation."""

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import (
    BALL,
    KEY,
    OPERATORS,
    Case,
    D,
    Terms,
    close,
    name_of,
    oracle,
    roughened,
    samples,
    small_model,
    solution_formula,
)

import prism
from prism.derivatives.estimators import Exact, Gram, Rademacher, View, inverse_root
from prism.networks.model import Architecture, Model
from prism.objective.residuals import derivatives
from prism.problem.constraints import Free

CASES = [case for case in OPERATORS if case.domain is BALL and case.isotropic and case.operator.order <= 2]


class FreeTerms(Terms):
    """The same operators where the network itself is the solution."""

    def constraint(self) -> prism.Constraint:
        return Free()


CYLINDER = prism.TimeCylinder(prism.Ball(D), 2.0)
FREE_CASES = [Case(case.operator, CYLINDER, D) for case in CASES if case.isotropic == D]


@functools.cache
def narrow_model(domain) -> Model:
    """A lift of two channels, one of them affine: fewer than any of the dimensions."""
    shapes = eqx.filter_eval_shape(Model.create, Architecture(1, 7, 2, 5, 2, affine=1), domain, Terms.parameters, KEY)
    return roughened(shapes)


def values(model: Model, family: Terms, estimator, x, mu, keys):
    one = lambda x, mu, key: vars(derivatives(model, family, estimator, x, mu, key))
    return eqx.filter_jit(jax.vmap(one))(x, mu, keys)


def oracles(model: Model, family: Terms, x, mu) -> dict:
    if isinstance(family, FreeTerms):
        solution = lambda y, m: model.point(y, m).value
    else:
        solution = solution_formula(model, family)

    @jax.jit
    @jax.vmap
    def terms(x, mu):
        u = lambda y: solution(y, mu)
        named = family.parameters.named(mu)
        return {name: oracle(operator, family.domain, u, x, named) for name, operator in family.terms.items()}

    return terms(x, mu)


@pytest.mark.parametrize("kind", [Terms, FreeTerms])
def test_gram_is_exact(kind):
    domain, cases = (BALL, CASES) if kind is Terms else (CYLINDER, FREE_CASES)
    family = kind(domain, {name_of(case.operator): case.operator for case in cases})
    x, mu = samples(domain, 3), samples(Terms.parameters, 3)
    found = values(narrow_model(domain), family, Gram(), x, mu, jax.random.split(KEY, 3))
    for name, expected in oracles(narrow_model(domain), family, x, mu).items():
        close(found[name], expected, name=name)


def test_sampled_gram_is_right_in_the_mean():
    family = Terms(BALL, {name_of(case.operator): case.operator for case in CASES})
    x, mu = samples(BALL, 1), samples(Terms.parameters, 1)
    keys = jax.random.split(KEY, 20_000)
    tile = lambda array: jnp.tile(array, (len(keys), 1))
    found = values(narrow_model(BALL), family, Gram(2), tile(x), tile(mu), keys)
    for name, expected in oracles(narrow_model(BALL), family, x, mu).items():
        draws = np.asarray(found[name])
        error = draws.std() / math.sqrt(len(draws))
        assert abs(draws.mean() - expected[0]) < 4 * error + 1e-9 * abs(expected[0]), name


def test_gradients_by_weights_and_point_are_those_of_exact():
    """The basis is frozen, which must change no derivative."""
    family, model = Terms(BALL, {"lap": prism.Laplacian()}), narrow_model(BALL)
    x, mu = samples(BALL, 1)[0], samples(Terms.parameters, 1)[0]

    def slopes(estimator):
        def value(model, x):
            u = derivatives(model, family, estimator, x, mu, KEY)
            return jnp.sin(u.lap)

        by_model = eqx.filter_jit(eqx.filter_grad(lambda m: value(m, x)))(model)
        return jax.tree.leaves(by_model), jax.jit(jax.grad(lambda y: value(model, y)))(x)

    (weights, point), (exact_weights, exact_point) = slopes(Gram()), slopes(Exact())
    for found, expected in zip([*weights, point], [*exact_weights, exact_point], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10 * float(jnp.max(jnp.abs(expected))) + 1e-14)


def test_a_lift_wider_than_the_space_needs_the_coordinates_only():
    view = View(small_model(BALL).lift.weight, jnp.zeros(D))
    assert eqx.tree_equal(Gram().decompose(2, D, KEY, view), Exact().decompose(2, D, KEY))
    assert eqx.tree_equal(Gram(3).decompose(2, D, KEY, view), Rademacher(3).decompose(2, D, KEY))


def test_a_vanishing_channel_does_no_harm():
    weight = np.random.default_rng(0).normal(size=(9, 4))
    weight[:, 1], weight[:, 3] = 0.0, weight[:, 0]
    inverse = np.asarray(inverse_root(jnp.asarray(weight.T @ weight)))
    basis = weight @ inverse
    projector = basis @ basis.T
    close(jnp.asarray(projector @ weight), weight, tolerance=1e-6)


def test_what_gram_cannot_do_is_said():
    with pytest.raises(prism.InputError, match="biased"):
        Gram().decompose(4, D, KEY)
    with pytest.raises(prism.InputError, match="looks at the network's lift"):
        Gram().decompose(2, D, KEY)
    with pytest.raises(prism.InputError, match="give a whole number"):
        Gram(0)
    wide = prism.TimeCylinder(prism.Ball(D), 2.0)
    x, mu = samples(wide, 1)[0], samples(Terms.parameters, 1)[0]
    with pytest.raises(prism.InputError, match="constraint in closed form"):
        derivatives(narrow_model(wide), Terms(wide, {"lap": prism.Laplacian()}), Gram(), x, mu, KEY)
