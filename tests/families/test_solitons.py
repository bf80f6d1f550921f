"""Solitary waves: their equations, what is given of them, and that their box holds them."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import (
    KEY,
    SITES,
    SOLITON_FAMILIES,
    by_name,
    close,
    mostly_slow,
    name_of,
    network_formula,
    oracle,
    samples,
    small_model,
)
from helpers import term_values as terms_by_jets

from prism import Dense, Exact, Family, Gaussian, InputError, Time, Uniform
from prism.families import KP, GKdV, KdV2D
from prism.objective.residuals import solution_value
from prism.problem.checks.exact import check_exact
from prism.problem.checks.family import check_family
from prism.problem.checks.values import Pairs
from prism.problem.family import Derivatives

KINDS = [type(family) for family in SOLITON_FAMILIES]
every_family = pytest.mark.parametrize("family", SOLITON_FAMILIES, ids=name_of)
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
COUNT = 4


# The wave solves its equation


def residual_of_exact(family: Family, x, mu):
    """By nested differentiation of the formula, and the size of what cancels in it."""
    named = family.parameters.named(mu)
    exact = lambda y: family.exact(y, named)
    terms = {name: oracle(operator, family.domain, exact, x, named) for name, operator in family.terms.items()}
    values = jnp.stack([*terms.values()])
    return family.residual(Derivatives(exact(x), terms), x, named), jnp.max(jnp.abs(values))


WAVES = {
    f"{kind.__name__}{wave}": (kind, wave)
    for kind, waves in ((KdV2D, [(0.75, 0.5), (0.3, 1.7)]), (KP, [(1.0, 0.5), (2.0, 0.25)]), (GKdV, [(2.0,), (0.4,)]))
    for wave in waves
}


@pytest.mark.parametrize(("kind", "wave"), WAVES.values(), ids=WAVES)
def test_every_wave_solves_at_every_parameter(kind, wave):
    """Also far beyond the usual box of μ: the formula knows of none. To the rounding of fourth derivatives."""
    family = kind.create(wave=wave, parameters=Uniform(mu1=(0.05, 6.0), mu2=(0.05, 6.0)))
    by_pairs = jax.jit(jax.vmap(lambda x, mu: residual_of_exact(family, x, mu)))
    found, size = by_pairs(samples(family.domain, 50), samples(family.parameters, 50))
    assert np.max(size) > 0.05
    assert np.max(np.abs(found)) < 1e-10 * np.max(size)


@every_family
def test_another_speed_does_not_solve(family):
    """The same wave, later than it is due."""
    named, x = family.parameters.named(family.parameters.middle()), family.domain.centre()
    exact = lambda y: family.exact(y.at[-1].multiply(0.9), named)
    terms = {name: oracle(operator, family.domain, exact, x, named) for name, operator in family.terms.items()}
    assert jnp.abs(family.residual(Derivatives(exact(x), terms), x, named)) > 1e-3


# The terms of a network


LIFTS = {"dense": Dense(3), "time": Dense(2) + Time(), "sites": Dense(2) + SITES}
CASES = {
    **{f"{name_of(family)}, dense": (family, "dense") for family in SOLITON_FAMILIES},
    "KdV2D, sites": (SOLITON_FAMILIES[0], "sites"),
    "KP, time": (SOLITON_FAMILIES[1], "time"),
}


@pytest.mark.parametrize(("family", "lift"), mostly_slow(CASES, "KdV2D, sites", "KP, time", "GKdV, dense"))
def test_every_term_is_that_of_nested_autodiff(family, lift):
    """Of u = t/T·N + u₀ with N written out, at random points and parameters; 1e-9 of the largest value of the term."""
    model = small_model(family.domain, parameters=family.parameters, lift=LIFTS[lift])

    def by_formula(x, mu):
        named, horizon = family.parameters.named(mu), family.domain.horizon
        start = lambda y: family.exact(y.at[-1].set(0.0), named)
        u = lambda y: y[-1] / horizon * network_formula(model, y, mu) + start(y)
        terms = {name: oracle(operator, family.domain, u, x, named) for name, operator in family.terms.items()}
        return terms | {"value": u(x)}

    pairs = samples(family.domain, COUNT), samples(family.parameters, COUNT)
    expected = jax.jit(jax.vmap(by_formula))(*pairs)
    found = jax.jit(jax.vmap(lambda x, mu: terms_by_jets(model, family, Exact(), x, mu, KEY)))(*pairs)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        close(found[name], values, 1e-9, name)


@pytest.mark.parametrize("family", mostly_slow(by_name(SOLITON_FAMILIES), "KP"))
def test_no_estimator_adds_noise(family):
    """All terms are partial derivatives, which are the same under every estimator."""
    model = small_model(family.domain, parameters=family.parameters, lift=Dense(3))
    x, mu = samples(family.domain, 1)[0], samples(family.parameters, 1)[0]
    both = [terms_by_jets(model, family, estimator, x, mu, KEY) for estimator in (Exact(), Gaussian(1))]
    assert eqx.tree_equal(*both)


# What is given of the wave


@every_family
def test_every_network_starts_from_the_wave(family):
    model = small_model(family.domain, parameters=family.parameters, lift=Dense(3))
    start = samples(family.domain, COUNT).at[:, -1].set(0.0)
    exact = lambda x, mu: family.exact(x, family.parameters.named(mu))
    both = jax.jit(jax.vmap(lambda x, mu: (solution_value(model, family, x, mu), exact(x, mu))))
    close(*both(start, samples(family.parameters, COUNT)))


@every_family
def test_the_wave_is_what_the_conditions_ask_for(family):
    """Values on every face, and along x derivatives in units of half the box, by a difference quotient."""
    space, (low, high) = family.parameters, family.domain.interval(0)
    assert list(family.conditions) == ["ends", "derivatives", "sides"][: 2 + (family.domain.dimension > 1)]
    for name, condition in family.conditions.items():
        targets = jax.vmap(lambda key, c=condition: c.draw(space, key))(jax.random.split(KEY, 20))
        exact = jax.vmap(lambda x, mu: family.exact(x, space.named(mu)))
        axis = 1 if name == "sides" else 0
        assert np.all(np.isin(targets.x[:, axis], family.domain.interval(axis)))
        if name != "derivatives":
            assert targets.along is None
            close(targets.value, exact(targets.x, targets.mu))
            continue
        close(targets.along, np.eye(targets.x.shape[1])[:1].repeat(20, 0) * (high - low) / 2)
        step = 1e-5  # central: an error of step²u''' and rounding over step, both about 1e-10
        ahead, behind = (exact(targets.x + sign * step * targets.along, targets.mu) for sign in (1.0, -1.0))
        np.testing.assert_allclose(targets.value, (ahead - behind) / (2 * step), rtol=0, atol=1e-7)


@every_family
def test_the_solution_passes_its_checks(family):
    check_exact(
        family, Pairs(*map(np.asarray, (samples(family.domain, COUNT), samples(family.parameters, COUNT)))), KEY
    )


@pytest.mark.slow
@every_family
def test_the_family_passes_its_checks(family):
    check_family(family, KEY)


# The box


PARAMETERS = {"usual": None, "wide": Uniform(mu1=(0.25, 3.0), mu2=(0.1, 4.0))}


@every_kind
@pytest.mark.parametrize("space", mostly_slow(PARAMETERS, "wide"))
def test_the_box_holds_the_wave(kind, space):
    """At every corner of the parameters, from the first to the last time, and from face to face along y.

    The steepest place, beside the crest, is inside, and both ends of x are nearly flat: to 3 % of the steepest, which
    sech² tanh is where sech² has fallen to a hundredth of its height.
    """
    family = kind.create(parameters=space)
    domain = family.domain
    x = np.linspace(*domain.interval(0), 2_001)
    lines = itertools.product(
        itertools.product(*family.parameters.bounds().values()),
        (0.0, domain.horizon / 2, domain.horizon),
        domain.interval(1) if domain.dimension > 1 else (None,),
    )
    for ends, t, y in lines:
        points = jnp.asarray([[one, *([] if y is None else [y]), t] for one in x])
        mu = family.parameters.named(jnp.asarray(ends))
        slopes = np.abs(jax.vmap(jax.grad(lambda point, mu=mu: family.exact(point, mu)))(points)[:, 0])
        assert 0 < np.argmax(slopes) < len(x) - 1
        assert max(slopes[0], slopes[-1]) < 0.03 * slopes.max()


@every_kind
def test_nothing_of_it_is_random(kind):
    first, second = kind.create(), kind.create(kind.space_dimension, KEY)
    assert eqx.tree_equal(first, second)
    assert first.wave == kind.usual_wave
    assert first.parameters == kind.box


@every_kind
@pytest.mark.parametrize("dimension", [0, 3, 100])
def test_it_is_there_in_its_own_dimension_alone(kind, dimension):
    with pytest.raises(
        InputError, match=f"{kind.__name__} has {kind.space_dimension} space dimensions?, not {dimension}"
    ):
        kind.create(dimension)


@every_kind
@pytest.mark.parametrize("number", [0.0, -1.0, float("nan"), float("inf")])
def test_a_wave_is_made_of_positive_numbers(kind, number):
    wave = (*kind.usual_wave[:-1], number)
    with pytest.raises(InputError, match=f"is no wave of {kind.__name__}; give a positive number for each of"):
        kind.create(wave=wave)


@every_kind
def test_a_wave_has_as_many_numbers_as_are_named(kind):
    for wave in ((), (*kind.usual_wave, 1.0)):
        with pytest.raises(InputError, match="is no wave of"):
            kind.create(wave=wave)
