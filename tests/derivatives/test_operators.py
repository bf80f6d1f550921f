"""Every operator under every estimator against nested automatic differentiation of the written-out solution."""

import functools
import itertools
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from derivatives.cases import FreeTerms, check_mean, computed, family_of, free_formula, oracles, places, unbiased
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
    mostly_slow,
    name_of,
    small_model,
    term_values,
)

from prism import Ball, InputError
from prism.derivatives.estimators import Coordinates, Exact, Gram, Rademacher
from prism.derivatives.operators import (
    Biharmonic,
    Directional,
    GradientNormSquared,
    Laplacian,
    Partial,
    Place,
    TimeDerivative,
    WeightedTrace,
)

every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
KEYS = jax.random.split(KEY, 20_000)


def on(domain) -> list[Case]:
    return [case for case in OPERATORS if case.domain is domain]


@functools.cache
def expected(domain) -> dict[str, np.ndarray]:
    """u and every term at the places."""
    return oracles(family_of(on(domain)))


def place(domain, number: int = 0) -> Place:
    x, mu = (several[number] for several in places(domain))
    return Place(x, Terms.parameters.named(mu), small_model(domain).gradients(x, mu), domain.dimension)


def decomposed(case: Case, estimator):
    there = place(case.domain)
    return case.operator.decompose(case.operator.draw(estimator, there, KEY), there)


WITHOUT_VARIANCE = {
    "Exact-Ball": (BALL, Exact(), lambda case: True),
    "Exact-TimeCylinder": (CYLINDER, Exact(), lambda case: True),
    "Coordinates-Ball": (BALL, Coordinates(D), lambda case: case.isotropic == D),
    "Coordinates-TimeCylinder": (CYLINDER, Coordinates(D), lambda case: case.isotropic == D),
    "Gram-Ball": (BALL, Gram(), lambda case: unbiased(case, Gram())),
}
"""Exact() of every operator; Coordinates(n) with n all there are; Gram() under a constraint that is radial."""


@pytest.mark.parametrize(
    ("domain", "estimator", "applies"),
    mostly_slow(WITHOUT_VARIANCE, "Exact-Ball", "Exact-TimeCylinder", "Coordinates-Ball", "Gram-Ball"),
)
def test_deterministic_derivatives_are_those_of_nested_autodiff(domain, estimator, applies):
    cases = [case for case in on(domain) if applies(case)]
    found = computed(family_of(cases), estimator, *places(domain), KEYS[:3])
    for term, values in found.items():
        close(values, expected(domain)[term], name=term)


def test_gram_is_exact_where_the_network_is_the_solution():
    """Also with time, which its directions leave out."""
    family = family_of([case for case in on(CYLINDER) if unbiased(case, Gram())], FreeTerms)
    truth = oracles(family, free_formula)
    for name, values in computed(family, Gram(), *places(CYLINDER), KEYS[:3]).items():
        close(values, truth[name], name=name)


@every_estimator
@pytest.mark.parametrize("case", [case for case in OPERATORS if case.isotropic is None], ids=name_of)
def test_partial_derivatives_are_the_same_under_every_estimator(case, estimator):
    assert eqx.tree_equal(decomposed(case, estimator), decomposed(case, Exact()))


def is_drawn(case: Case, estimator) -> bool:
    """Of the two matrices σ, the narrow one; for Gram the wide one, which alone leaves it directions of its own."""
    return case.isotropic in (D, D + 1 if isinstance(estimator, Gram) else D - 1)


RANDOM = {
    f"{type(domain).__name__}-{estimator}": (domain, estimator)
    for domain in (BALL, CYLINDER)
    for estimator in ESTIMATORS
    if estimator != Exact() and not (estimator == Gram() and domain is BALL)  # those above, without variance
}


FEW = (
    *("Ball-Coordinates(count=3)", "Ball-Gaussian(count=4)", "Ball-Gram(count=2)"),
    *("TimeCylinder-Rademacher(count=4)", "TimeCylinder-Gram()"),
)
"""Every estimator once, on the ball with the operators of order 4 where it has some."""


@pytest.mark.parametrize(("domain", "estimator"), mostly_slow(RANDOM, *FEW))
def test_random_estimates_are_right_in_the_mean(domain, estimator):
    """The mean over many keys within 4 of its standard errors, under a fixed key; each at most 1.5 % of the value at
    the best place, so that an error of 6 % in the weights shows (d or n off by one is 20 % and more)."""
    family = family_of([case for case in on(domain) if unbiased(case, estimator) and is_drawn(case, estimator)])
    check_mean(family, estimator, KEYS, expected(domain))


@functools.cache
def slopes(domain, estimator, count: int, outer: Callable = jnp.asarray) -> tuple:
    """The derivatives of Σ_i i·outer(term_i) by the lift's weights and by the point, for so many keys."""
    family = family_of([case for case in on(domain) if unbiased(case, Gram()) and is_drawn(case, Gram())])
    model, (x, mu) = small_model(family.domain), (several[0] for several in places(family.domain))

    def total(weight, x, key):
        changed = eqx.tree_at(lambda m: m.lift.weight, model, weight)
        found = term_values(changed, family, estimator, x, mu, key)
        return sum(number * outer(found[name]) for number, name in enumerate(family.terms, start=1))

    by_both = lambda key: jax.grad(total, (0, 1))(model.lift.weight, x, key)
    return jax.jit(jax.vmap(by_both))(KEYS[:count])


def test_the_frozen_basis_of_gram_changes_no_derivative():
    """By weights and point, of a nonlinear function of every term: those of Exact."""
    found, truth = (slopes(BALL, estimator, 1, jnp.sin) for estimator in (Gram(), Exact()))
    for ours, theirs in zip(found, truth, strict=True):
        close(ours, theirs, 1e-9)


def test_derivatives_under_a_constraint_of_ones_own_are_right_in_the_mean():
    """By weights and point: 24 entries, each within 4 standard errors under a fixed key."""
    drawn, truth = slopes(CYLINDER, Gram(), 5_000), slopes(CYLINDER, Exact(), 1)
    for ours, theirs in zip(drawn, truth, strict=True):
        error = np.std(ours, axis=0) / math.sqrt(len(ours))
        assert np.max(error) < 0.1 * np.max(np.abs(theirs))
        assert np.all(np.abs(np.mean(ours, axis=0) - theirs[0]) < 4 * error + 1e-10 * np.max(np.abs(theirs)))


def test_every_pair_is_covered_or_refused():
    for case, estimator in itertools.product(OPERATORS, ESTIMATORS):
        if case.isotropic and not unbiased(case, estimator):
            with pytest.raises(InputError, match="biased"):
                decomposed(case, estimator)


@pytest.mark.parametrize("estimator", [Rademacher(8), Coordinates(1), Gram(1)], ids=name_of)
def test_a_biased_estimator_refuses_and_names_unbiased_ones(estimator):
    with pytest.raises(InputError, match=r"biased.*order 4; use Exact\(\) or Coordinates\(n\) or Gaussian\(n\)"):
        decomposed(Case(Biharmonic(), BALL, D), estimator)


def test_an_operator_says_what_it_takes_from_the_estimator():
    orders = {Laplacian(): 2, GradientNormSquared(): 2, Biharmonic(): 4, Partial(0): None, TimeDerivative(): None}
    for operator, order in orders.items():
        assert operator.isotropic_order == order
    assert WeightedTrace(lambda x, mu: x).isotropic_order == 2
    assert Directional(lambda x, mu: x).isotropic_order is None


SIGMA, OTHER = (lambda x, mu: x), (lambda x, mu: x)
SHARING = [
    (Laplacian(), GradientNormSquared(), True),
    (Laplacian(), Biharmonic(), False),
    (Laplacian(), WeightedTrace(SIGMA), False),
    (WeightedTrace(SIGMA), WeightedTrace(SIGMA), True),
    (WeightedTrace(SIGMA), WeightedTrace(OTHER), False),
    (Partial(0), Partial(0, 0, 0), True),
    (Partial(0), Partial(1), True),
    (Partial(0, 1), Partial(0, 0, 1), True),
    (Partial(3), TimeDerivative(), True),
    (Partial(0), Laplacian(), False),
    (TimeDerivative(), Directional(SIGMA), False),
    (TimeDerivative(), TimeDerivative(2), True),
    (Directional(SIGMA), Directional(SIGMA), True),
    (Directional(SIGMA), Directional(OTHER), False),
]


@pytest.mark.parametrize(("first", "second", "shared"), SHARING, ids=str)
def test_which_operators_share_directions(first, second, shared):
    assert first.shares_directions(second) == second.shares_directions(first) == shared


@pytest.mark.parametrize("axes", [(), (-1,), (0, -2), (True,)], ids=str)
def test_no_partial_derivative(axes):
    with pytest.raises(InputError, match="no partial derivative"):
        Partial(*axes)


def test_a_partial_derivative_outside_the_domain():
    assert Partial(2, 0).axes == (0, 2)
    with pytest.raises(InputError, match="names coordinate 5; a point has 5"):
        Partial(0, D).directions(place(BALL))


@pytest.mark.parametrize("times", [0, -1])
def test_no_time_derivative(times):
    with pytest.raises(InputError, match="TimeDerivative"):
        TimeDerivative(times)


def test_no_time_on_a_ball():
    with pytest.raises(InputError, match=r"TimeCylinder\(space"):
        TimeDerivative().directions(Place(jnp.zeros(3), Terms.parameters.named(jnp.ones(2)), None, Ball(3).dimension))


@pytest.mark.parametrize("shape", [(), (D + 1,), (D - 1, D), (D, D, 1)], ids=str)
def test_sigma_of_a_wrong_shape(shape):
    operator = WeightedTrace(lambda x, mu: jnp.ones(shape))
    with pytest.raises(InputError, match=r"return \(5,\) for a diagonal or \(5, m\) for a matrix"):
        operator.draw(Exact(), place(BALL), KEY)


def test_a_velocity_of_a_wrong_shape():
    with pytest.raises(InputError, match=r"return \(5,\), one entry per coordinate"):
        Directional(lambda x, mu: x[1:]).directions(place(BALL))
