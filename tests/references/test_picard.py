"""Multilevel Picard iteration against the radial series, finite differences and published values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from references.equations import TIME, allen_cahn, initial, multilevel_picard

from prism.errors import InputError
from prism.formulas.diffusion import diffused_arctan_of_maximum, diffused_inverse_quadratic
from prism.formulas.flow import reaction_flow
from prism.numerics.keys import root
from prism.references.finite_differences import line_differences
from prism.references.picard import multilevel_picards
from prism.references.radial import radial_solutions

MU = np.array([0.8, 1.0, 1.2])


def squares(x):
    return initial(jnp.sum(x * x))


def maximum(x):
    return jnp.arctan(jnp.max(x))


@pytest.mark.parametrize("dimension", [10, 100, pytest.param(1000, marks=pytest.mark.slow)])
def test_agrees_with_the_radial_series(dimension):
    """Sine-Gordon at three parameters, with the diffused initial state: six digits from 16 repetitions."""
    diffused = lambda x, t: diffused_inverse_quadratic(jnp.sum(x * x), t, dimension)
    place = np.full(dimension, 0.5)
    found = multilevel_picards(squares, lambda u: MU * jnp.sin(u), place, TIME, root(0), samples=8, diffused=diffused)
    series = radial_solutions(dimension, initial, lambda u: MU * np.sin(u), TIME, 0.25 * dimension)
    for one, exact in zip(found, series, strict=True):
        assert one.agrees(exact)
        assert one.uncertainty < 1e-4 * exact.value


def test_agrees_with_the_radial_series_from_nothing():
    """Neither a start nor the diffused initial state: g is sampled, and U_0 = 0."""
    found = multilevel_picards(squares, lambda u: MU * jnp.sin(u), np.zeros(5), TIME, root(0), 2, 32, 32)
    series = radial_solutions(5, initial, lambda u: MU * np.sin(u), TIME)
    for one, exact in zip(found, series, strict=True):
        assert one.agrees(exact)
        assert one.uncertainty < 0.2 * exact.value  # two Picard steps, each a third of the one before


def test_a_start_replaces_zero():
    """From the exact solution of a linear reaction every Picard step is zero on average."""
    start = lambda x, t: jnp.sum(x) * jnp.exp(-t)
    found = multilevel_picard(jnp.sum, lambda u: -u, np.ones(4), TIME, root(0), repetitions=8, start=start)
    assert abs(found.value - 4.0 * np.exp(-TIME)) < found.uncertainty < 0.3


@pytest.mark.slow
def test_on_the_line_it_agrees_with_finite_differences():
    differences = line_differences(np.arctan, allen_cahn(1.0), 0.5, TIME)
    found = multilevel_picard(
        maximum, allen_cahn(1.0), np.full(1, 0.5), TIME, root(0), samples=32, diffused=diffused_arctan_of_maximum
    )
    assert found.agrees(differences)
    assert found.uncertainty < 0.01 * differences.value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimension", "value", "samples"), [(10, 0.89060, 16), (100, 1.04510, 16), (1000, 1.09100, 8), (10_000, 1.11402, 6)]
)
def test_published_values_of_allen_cahn(dimension, value, samples):
    """The larger d, the less varies with the draws."""
    found = multilevel_picard(
        maximum,
        allen_cahn(1.0),
        np.zeros(dimension),
        TIME,
        root(0),
        samples=samples,
        repetitions=16,
        diffused=diffused_arctan_of_maximum,
    )
    assert found.value == pytest.approx(value, rel=2e-3)  # the published values' own sampling error is up to 1e-3
    assert found.uncertainty < 2e-3


@pytest.mark.slow
def test_a_third_level_comes_nearer():
    """d = 1, where finite differences know ten digits."""
    exact = line_differences(np.arctan, allen_cahn(1.0), 0.5, TIME)
    found = multilevel_picard(
        maximum, allen_cahn(1.0), np.full(1, 0.5), TIME, root(0), 3, 16, 16, diffused=diffused_arctan_of_maximum
    )
    assert found.agrees(exact)
    assert found.uncertainty < 1.5e-3  # 3 standard errors; in one dimension the control variate helps least


def test_flow():
    """w' = sin w:  tan(w/2) = tan(w₀/2) eᵗ; for many parameters at once."""
    times = jnp.asarray(0.5)
    found = reaction_flow(lambda u: jnp.asarray(MU) * jnp.sin(u), jnp.asarray(1.0), times)
    exact = 2.0 * np.arctan(np.tan(0.5) * np.exp(0.5 * MU))
    np.testing.assert_allclose(found, exact, rtol=1e-8)  # fourth order in steps of 1/32
    assert np.isfinite(jax.grad(lambda w: reaction_flow(jnp.sin, w, times))(jnp.asarray(1.0)))


def test_what_it_cannot_do_is_refused():
    with pytest.raises(InputError, match="levels"):
        multilevel_picard(jnp.sum, jnp.sin, np.ones(2), TIME, root(0), levels=1)
