"""Semilinear families: what is known beforehand, what is trained, and the references they are judged by."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, SEMILINEAR_FAMILIES, close, mostly_slow, name_of, samples

from prism.families import AllenCahnTime, Heat, SineGordonTime, SineGordonTimeBeta
from prism.families.semilinear import HORIZON, increment, initial_state
from prism.problem.checks.family import check_family
from prism.problem.family import Derivatives
from prism.problem.terms import diffusivity
from prism.references.finite_differences import line_differences
from prism.references.radial import radial_solutions

every_family = pytest.mark.parametrize("family", SEMILINEAR_FAMILIES, ids=name_of)
STEP = 2e-3
"""Of differences in t; in s and x a larger one, which suits the second derivative."""


@pytest.mark.slow
@every_family
def test_the_family_passes_its_checks(family):
    check_family(family, KEY)
    close(diffusivity(family), 1.0)


@every_family
def test_the_slope_of_the_diffused_state(family):
    """|∇v|² by differentiating v, and v_t = Δv."""
    x = samples(family.domain, 3)

    @jax.jit
    @jax.vmap
    def both(point):
        v, slope = family.diffused_with_gradient(point)
        gradient = jax.grad(family.diffused)(point)
        laplacian = jnp.trace(jax.hessian(family.diffused)(point)[:-1, :-1])
        return {"v": (v, family.diffused(point)), "|∇v|²": (slope, jnp.sum(gradient[:-1] ** 2))}, (
            gradient[-1],
            laplacian,
        )

    pairs, (rate, laplacian) = both(x)
    for name, (found, expected) in pairs.items():
        close(found, expected, name=name)
    # The nodes of the integral over a maximum count as constants, and leave 1e-6.
    close(rate, laplacian, 1e-5)


def test_a_small_difference_keeps_its_digits():
    f = lambda u: jnp.sin(3.0 * u)
    close(increment(f, jnp.asarray(0.4), jnp.asarray(1e-9)), 3e-9 * np.cos(1.2), 1e-7)
    close(increment(f, jnp.asarray(0.4), jnp.asarray(0.3)), f(0.7) - f(0.4), 1e-8)


REACTIONS = {"Heat": (Heat, [1.1]), "SineGordonTime": (SineGordonTime, [0.9, 1.2]), "beta": (SineGordonTimeBeta, [7.0])}


@pytest.mark.parametrize("dimension", mostly_slow({"2": 2, "10": 10, "50": 50}, "10"))
@pytest.mark.parametrize(("kind", "mu"), REACTIONS.values(), ids=REACTIONS)
def test_a_radial_reference_solves(kind, mu, dimension):
    """Differences of the reference in t and s, less those of the background, leave no residual."""
    family = kind.create(dimension, KEY)
    named = family.parameters.named(jnp.asarray(mu))
    s, t, wide = 0.6 * dimension * HORIZON, 0.6 * HORIZON, 0.02 * dimension
    f = lambda u: np.asarray(family.reaction(u, named))
    point = lambda s, t: jnp.zeros(dimension + 1).at[0].set(jnp.sqrt(s)).at[-1].set(t)
    background = jax.jit(lambda s, t: family.background(point(s, t), named))
    at = lambda s, t: radial_solutions(dimension, initial_state, f, t, s)[0].value - float(background(s, t))
    here, left, right = at(s, t), at(s - wide, t), at(s + wide, t)
    by_s, by_ss = (right - left) / (2 * wide), (right - 2 * here + left) / wide**2
    rate = (at(s, t + STEP) - at(s, t - STEP)) / (2 * STEP)
    found = lambda value, rate, laplacian: family.residual(
        Derivatives(value, {"t": rate, "lap": laplacian}), point(s, t), named
    )
    residual = jax.jit(found)(jnp.asarray(here), jnp.asarray(rate), jnp.asarray(4 * s * by_ss + 2 * dimension * by_s))
    alone = jax.jit(found)(jnp.zeros(()), jnp.zeros(()), jnp.zeros(()))
    # Differences of second order in steps of a fiftieth leave about a thousandth of what the background leaves.
    assert abs(residual) < 0.02 * abs(alone)


@pytest.mark.slow
def test_a_reference_on_the_line_solves_allen_cahn():
    """One dimension, where the maximum is x itself."""
    family, mu = AllenCahnTime.create(1, KEY), [1.1, 0.9]
    named = family.parameters.named(jnp.asarray(mu))
    x, t, wide = 0.7, 0.6 * HORIZON, 0.05
    f = lambda u: np.asarray(family.reaction(u, named))
    background = jax.jit(lambda x, t: family.background(jnp.stack([x, t]), named))
    at = lambda x, t: line_differences(np.arctan, f, x, t).value - float(background(jnp.asarray(x), jnp.asarray(t)))
    here, left, right = at(x, t), at(x - wide, t), at(x + wide, t)
    terms = {"t": (at(x, t + STEP) - at(x, t - STEP)) / (2 * STEP), "lap": (right - 2 * here + left) / wide**2}
    found = lambda value, terms: family.residual(Derivatives(value, terms), jnp.asarray([x, t]), named)
    residual, alone = (
        found(jnp.asarray(here), jax.tree.map(jnp.asarray, terms)),
        found(jnp.zeros(()), dict.fromkeys(terms, jnp.zeros(()))),
    )
    # The diffused state is known to 1e-6, which a second difference over 0.05 makes 1e-3; the residual alone is 0.02.
    assert abs(residual) < 0.1 * abs(alone)


def test_the_limit_of_many_dimensions_is_reached():
    """The background's error falls with the dimension."""
    errors = []
    for dimension in (10, 100, 1_000):
        family = Heat.create(dimension, KEY)
        parameters = np.asarray(samples(family.parameters, 3))
        known = family.known_values(parameters)
        x = jnp.asarray(known.points[0])
        background = [family.background(x, family.parameters.named(mu)) for mu in jnp.asarray(parameters)]
        errors.append(np.max(np.abs(np.asarray(background) - known.values[:, 0])))
        assert np.all(known.uncertainties < 1e-9)
    assert errors[0] > 5 * errors[1] > 25 * errors[2]


@pytest.mark.slow
def test_the_reference_of_allen_cahn_agrees_with_published_values():
    """0.89060 and 1.04510 at μ = 1 (multilevel Picard, some off by 1e-3)."""
    for dimension, published in ((10, 0.89060), (100, 1.04510)):
        known = AllenCahnTime.create(dimension, KEY).known_values(np.ones((2, 2)))
        assert abs(known.values[0, 0] - published) < known.uncertainties[0, 0] + 1e-3 * published
