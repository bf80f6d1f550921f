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
from prism.derivatives.estimators import Coordinates, Exact, Gaussian, Rademacher
from prism.derivatives.operators import (
    Biharmonic,
    GradientNormSquared,
    Laplacian,
    Partial,
    TimeDerivative,
    WeightedTrace,
    polarise,
)
from prism.objective.residuals import derivatives, frames

every_domain = pytest.mark.parametrize("domain", [BALL, CYLINDER], ids=lambda domain: type(domain).__name__)
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)


def family_of(cases) -> Terms:
    """All these operators of one domain together: one program to compile instead of many."""
    return Terms(cases[0].domain, {name_of(case.operator): case.operator for case in cases})


@functools.cache
def places(domain, count: int = 3):
    return samples(domain, count), samples(Terms.parameters, count)


@functools.cache
def expected(domain) -> dict[str, np.ndarray]:
    """u and every term at the places."""
    family = family_of(on(domain))
    solution = solution_formula(small_model(domain), family)

    @jax.jit
    @jax.vmap
    def terms(x, mu):
        named, u = family.parameters.named(mu), lambda y: solution(y, mu)
        found = {name: oracle(operator, domain, u, x, named) for name, operator in family.terms.items()}
        return found | {"value": u(x)}

    return terms(*places(domain))


def computed(family: Terms, estimator, x, mu, keys) -> dict:
    """u and every term at one place for every key, or at several places with one key each."""
    return _computed(small_model(family.domain), family, estimator, x, mu, keys)


@eqx.filter_jit
def _computed(model, family: Terms, estimator, x, mu, keys) -> dict:
    one = lambda x, mu, key: vars(derivatives(model, family, estimator, x, mu, key))
    place = 0 if x.ndim == 2 else None
    return jax.vmap(one, in_axes=(place, place, 0))(x, mu, keys)


def on(domain) -> list[Case]:
    return [case for case in OPERATORS if case.domain is domain]


def decomposed(case: Case, estimator):
    x, mu = (several[0] for several in places(case.domain))
    return case.operator.decompose(estimator, case.domain, x, Terms.parameters.named(mu), KEY)


@every_domain
@pytest.mark.parametrize("kind", [Exact, Coordinates], ids=lambda kind: kind.__name__)
def test_deterministic_derivatives_are_those_of_nested_autodiff(domain, kind):
    """Exact() of every operator; and Coordinates(n) with n all there are, where directions are drawn."""
    cases = on(domain) if kind is Exact else [case for case in on(domain) if case.isotropic == D]
    estimator = Exact() if kind is Exact else Coordinates(D)
    found = computed(family_of(cases), estimator, *places(domain), jax.random.split(KEY, 3))
    for name, values in found.items():
        close(values, expected(domain)[name], name=name)


@every_estimator
@pytest.mark.parametrize("case", [case for case in OPERATORS if case.isotropic is None], ids=name_of)
def test_partial_derivatives_are_the_same_under_every_estimator(case, estimator):
    assert eqx.tree_equal(decomposed(case, estimator), decomposed(case, Exact()))


def unbiased(case: Case, estimator) -> bool:
    return case.isotropic is not None and max(case.operator.order, 2) in estimator.unbiased_orders


@every_domain
@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if not isinstance(e, Exact)], ids=name_of)
def test_random_estimates_are_right_in_the_mean(domain, estimator):
    """The mean over many keys within 4 of its standard errors, under a fixed key; each at most 1.5 % of the value at
    the best place, so that an error of 6 % in the weights shows (d or n off by one is 20 % and more)."""
    keys = jax.random.split(KEY, 20_000)
    family = family_of([case for case in on(domain) if unbiased(case, estimator)])
    at_places = [computed(family, estimator, x, mu, keys) for x, mu in zip(*places(domain), strict=True)]
    for name in family.terms:
        draws, terms = np.stack([found[name] for found in at_places]), np.asarray(expected(domain)[name])
        error = draws.std(axis=1) / math.sqrt(len(keys))
        assert np.min(error / np.abs(terms)) < 0.015, name
        assert np.all(np.abs(draws.mean(axis=1) - terms) < 4 * error), name


def test_every_pair_is_covered_or_refused():
    for case, estimator in itertools.product(OPERATORS, ESTIMATORS):
        if case.isotropic and not unbiased(case, estimator):
            with pytest.raises(InputError, match="biased"):
                decomposed(case, estimator)


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
    for name in ("lap", "slope", "u_x", "u_t"):  # those of lower order, and that which sets the order
        alone = computed(Terms(CYLINDER, {"term": terms[name]}), estimator, *place, keys)
        close(found[name], alone["term"], name=name)
        close(found["value"], alone["value"], name=name)


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


@pytest.mark.parametrize("times", [0, -1])
def test_no_time_derivative(times):
    with pytest.raises(InputError, match="TimeDerivative"):
        TimeDerivative(times).decompose(Exact(), CYLINDER, *origin(CYLINDER), KEY)


def test_no_time_on_a_ball():
    with pytest.raises(InputError, match=r"TimeCylinder\(Ball"):
        TimeDerivative().decompose(Exact(), Ball(3), *origin(Ball(3)), KEY)


@pytest.mark.parametrize("shape", [(), (D + 1,), (D - 1, D), (D, D, 1)], ids=str)
def test_sigma_of_a_wrong_shape(shape):
    operator = WeightedTrace(lambda x, mu: jnp.ones(shape))
    with pytest.raises(InputError, match=r"return \(5,\) for a diagonal or \(5, m\) for a matrix"):
        operator.decompose(Exact(), BALL, *origin(BALL), KEY)
