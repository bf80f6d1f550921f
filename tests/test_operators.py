"""Every operator under every estimator against nested automatic differentiation of the written-out solution."""

import functools
import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import (
    BALL,
    CYLINDER,
    ESTIMATORS,
    KEY,
    OPERATORS,
    Case,
    D,
    Terms,
    close,
    name_of,
    oracle,
    samples,
    small_model,
    solution_formula,
)

from prism import Ball, InputError
from prism.estimators import Coordinates, Exact, Gaussian, Rademacher
from prism.operators import (
    Biharmonic,
    GradientNormSquared,
    Laplacian,
    Partial,
    TimeDerivative,
    WeightedTrace,
    polarise,
)
from prism.residuals import derivatives, frames

every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)


def family_of(case: Case) -> Terms:
    return Terms(case.domain, {"term": case.operator})


@functools.cache
def places(domain, count: int = 3):
    return samples(domain, count), samples(Terms.parameters, count)


@functools.cache
def expected(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """u and the term at the places."""
    u = solution_formula(small_model(case.domain), family_of(case))

    @jax.jit
    @jax.vmap
    def both(x, mu):
        named = Terms.parameters.named(mu)
        return u(x, mu), oracle(case.operator, case.domain, lambda y: u(y, mu), x, named)

    return tuple(np.asarray(values) for values in both(*places(case.domain)))


def computed(family: Terms, estimator, x, mu, keys) -> dict:
    """u and the terms at one place for every key, or at several places with one key each."""
    return _computed(small_model(family.domain), family, estimator, x, mu, keys)


@eqx.filter_jit
def _computed(model, family: Terms, estimator, x, mu, keys) -> dict:
    one = lambda x, mu, key: vars(derivatives(model, family, estimator, x, mu, key))
    place = 0 if x.ndim == 2 else None
    return jax.vmap(one, in_axes=(place, place, 0))(x, mu, keys)


def assert_exact(case: Case, estimator) -> None:
    found = computed(family_of(case), estimator, *places(case.domain), jax.random.split(KEY, 3))
    value, term = expected(case)
    close(found["value"], value)
    close(found["term"], term)


def assert_unbiased(case: Case, estimator) -> None:
    """The mean over many keys within 4 of its standard errors, under a fixed key; each at most 1.5 % of the value,
    so that an error of 6 % in the weights shows (d or n off by one is 20 % and more)."""
    count = 40_000 if case.operator.order == 4 else 10_000
    terms = expected(case)[1]
    best = np.argmax(np.abs(terms))  # where cancellations between coordinates matter least
    x, mu = (several[best] for several in places(case.domain))
    draws = np.asarray(computed(family_of(case), estimator, x, mu, jax.random.split(KEY, count))["term"])
    error = draws.std() / math.sqrt(count)
    assert error < 0.015 * abs(terms[best])
    assert abs(draws.mean() - terms[best]) < 4 * error


def decomposed(case: Case, estimator):
    x, mu = (several[0] for several in places(case.domain))
    return case.operator.decompose(estimator, case.domain, x, Terms.parameters.named(mu), KEY)


@every_estimator
@pytest.mark.parametrize("case", OPERATORS, ids=name_of)
def test_every_operator_under_every_estimator(case, estimator):
    if isinstance(estimator, Exact):
        assert_exact(case, estimator)
    elif case.isotropic is None:  # nothing is drawn: what has been shown under Exact holds
        assert eqx.tree_equal(decomposed(case, estimator), decomposed(case, Exact()))
    elif max(case.operator.order, 2) in estimator.unbiased_orders:
        assert_unbiased(case, estimator)
    else:
        with pytest.raises(InputError, match="biased"):
            decomposed(case, estimator)


@pytest.mark.parametrize("case", [case for case in OPERATORS if case.isotropic and case.domain is BALL], ids=name_of)
def test_all_coordinates_are_exact(case):
    assert_exact(case, Coordinates(case.isotropic))


BIHARMONIC = Case(Biharmonic(), BALL, D)


@pytest.mark.parametrize("estimator", [Rademacher(8), Coordinates(1)], ids=name_of)
def test_a_biased_estimator_refuses_and_names_unbiased_ones(estimator):
    with pytest.raises(InputError, match=r"biased.*order 4; use Exact\(\) or Coordinates\(n\) or Gaussian\(n\)"):
        decomposed(BIHARMONIC, estimator)


def test_more_coordinates_than_there_are():
    with pytest.raises(InputError, match=r"use Exact\(\)"):
        decomposed(BIHARMONIC, Coordinates(D + 1))


GROUPS = (
    {"lap": Laplacian(), "slope": GradientNormSquared()},
    {"u_x": Partial(0), "u_xxx": Partial(0, 0, 0), "u_xx": Partial(0, 0)},
    {"u_tt": TimeDerivative(2), "u_t": TimeDerivative()},
    {"u_xy": Partial(0, 1)},
)


@pytest.mark.parametrize("estimator", [Exact(), Gaussian(2)], ids=name_of)
def test_terms_that_share_a_frame_are_read_off_one_jet(estimator):
    terms = {name: operator for group in GROUPS for name, operator in group.items()}
    together = Terms(CYLINDER, terms)
    assert [list(frame) for frame in frames(together)] == [list(group) for group in GROUPS]
    place, keys = [several[0] for several in places(CYLINDER)], KEY[None]
    found = computed(together, estimator, *place, keys)
    for name, operator in (terms if isinstance(estimator, Exact) else GROUPS[0]).items():
        alone = computed(Terms(CYLINDER, {"term": operator}), estimator, *place, keys)
        close(found[name], alone["term"])
        close(found["value"], alone["value"])


def test_without_terms_there_is_the_value():
    family = Terms(BALL, {})
    (x, *_), (mu, *_) = places(BALL)
    close(computed(family, Exact(), x, mu, KEY[None])["value"][0], solution_formula(small_model(BALL), family)(x, mu))


def test_two_traces_have_directions_of_their_own():
    """σ and 2σ must not be read off the same directions, nor be drawn with the same key."""
    terms = {"one": WeightedTrace(lambda x, mu: jnp.ones(D)), "two": WeightedTrace(lambda x, mu: jnp.full(D, 2.0))}
    (x, *_), (mu, *_) = places(BALL)
    exact, drawn = (computed(Terms(BALL, terms), estimator, x, mu, KEY[None]) for estimator in (Exact(), Gaussian(1)))
    close(exact["two"], 4 * exact["one"])
    assert abs(drawn["two"] - 4 * drawn["one"]) > 1e-3 * abs(exact["one"])


def origin(domain):
    return jnp.zeros(domain.coordinates), Terms.parameters.named(jnp.ones(2))


MULTI_INDICES = [(1,), (4,), (1, 1), (2, 1), (3, 1), (2, 2), (1, 1, 1), (2, 1, 3), (1, 1, 1, 1), (4, 2)]


@pytest.mark.parametrize("alpha", MULTI_INDICES, ids=str)
def test_polarisation_has_exact_moments(alpha):
    """Σ_j w_j h_j^β = [α = β] α!/K! for every |β| = K: the symmetric tensor of ∂^α and no other."""
    directions, weights = polarise(alpha)
    order = sum(alpha)
    for beta in itertools.product(range(order + 1), repeat=len(alpha)):
        if sum(beta) == order:
            moment = weights @ np.prod(directions ** np.asarray(beta), axis=1)
            symmetric = math.prod(map(math.factorial, alpha)) / math.factorial(order)
            assert moment == pytest.approx(symmetric if beta == alpha else 0.0, abs=1e-13)  # sums of ≲ 30 terms ≲ 1


def test_u_xxxy_takes_four_directions():
    assert len(polarise((3, 1))[0]) == 4


def test_no_two_directions_are_parallel():
    directions, weights = polarise((2, 2, 2))
    units = directions / np.linalg.norm(directions, axis=1)[:, None]
    assert np.sum(np.abs(units @ units.T) > 1 - 1e-9) == len(weights)
    assert np.all(weights != 0)


@pytest.mark.parametrize("axes", [(), (-1,), (0, -2), (True,)], ids=str)
def test_no_partial_derivative(axes):
    with pytest.raises(InputError, match="no partial derivative"):
        Partial(*axes)


def test_a_partial_derivative_outside_the_domain():
    assert Partial(2, 0).axes == (0, 2)
    with pytest.raises(InputError, match="names coordinate 5; a point has 5"):
        Partial(0, D).decompose(Exact(), BALL, *origin(BALL), KEY)


def test_no_time_on_a_ball():
    with pytest.raises(InputError, match=r"TimeCylinder\(Ball"):
        TimeDerivative().decompose(Exact(), Ball(3), *origin(Ball(3)), KEY)


@pytest.mark.parametrize("shape", [(), (D + 1,), (D - 1, D), (D, D, 1)], ids=str)
def test_sigma_of_a_wrong_shape(shape):
    operator = WeightedTrace(lambda x, mu: jnp.ones(shape))
    with pytest.raises(InputError, match=r"return \(5,\) for a diagonal or \(5, m\) for a matrix"):
        operator.decompose(Exact(), BALL, *origin(BALL), KEY)
