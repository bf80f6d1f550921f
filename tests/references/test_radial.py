"""The Laguerre series against finite differences, closed forms and published values."""

import numpy as np
import pytest
from references.equations import REACTIONS, TIME, heat, initial, radial_solution, sine_gordon
from scipy.integrate import quad
from scipy.stats import chi2

from prism.errors import FailedRun, InputError
from prism.references.finite_differences import line_differences, radial_differences
from prism.references.radial import radial_solutions

PUBLISHED = {
    "heat": (heat(1.0), {10: 0.47006, 100: 0.31674, 1000: 0.28753, 10_000: 0.28433}),
    "sine_gordon": (sine_gordon(1.0), {10: 0.3229470, 100: 0.0528368, 1000: 0.0055896, 10_000: 0.0005621}),
}
"""Multilevel-Picard values in circulation at μ = 1, x = 0, t = 0.3."""


@pytest.mark.parametrize("dimension", [3, pytest.param(10, marks=pytest.mark.slow), 100])
@pytest.mark.parametrize("parameter", range(3))
@pytest.mark.parametrize("name", REACTIONS)
def test_agrees_with_finite_differences(name, parameter, dimension):
    reaction = REACTIONS[name][parameter]
    squared_norm = 0.2 * dimension * parameter
    series = radial_solution(dimension, initial, reaction, TIME, squared_norm)
    assert series.agrees(radial_differences(dimension, initial, reaction, TIME, squared_norm))
    assert series.uncertainty < 1e-8 * series.value  # as asked for: four digits below any network's error


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_values(name):
    reaction, values = PUBLISHED[name]
    for dimension, value in values.items():
        found = radial_solution(dimension, initial, reaction, TIME).value
        assert found == pytest.approx(value, rel=2e-3)  # the sampling error of the published values is up to 1e-3


@pytest.mark.parametrize("dimension", [1, 2, 10, 100, 10_000])
def test_without_a_reaction_it_is_a_mean_over_the_chi_square_law(dimension):
    found = radial_solution(dimension, initial, lambda u: 0.0 * u, TIME)
    # Over √q, where the density of one degree of freedom has no singularity.
    integrand = lambda r: initial(2.0 * TIME * r * r) * chi2.pdf(r * r, dimension) * 2.0 * r
    middle = np.sqrt(dimension)
    exact, _ = quad(integrand, max(0.0, middle - 12.0), middle + 12.0, epsabs=0.0, epsrel=1e-12)
    assert found.value == pytest.approx(exact, rel=1e-10)  # scipy's density is good to about 1e-11 at 10,000 degrees


@pytest.mark.parametrize("dimension", [1, 10, 100_000])
@pytest.mark.parametrize("squared_norm", [0.0, 7.0])
def test_a_constant_initial_state_follows_the_scalar_flow(dimension, squared_norm):
    """w' = β sin w from w₀:  tan(w/2) = tan(w₀/2) e^{βt}."""
    found = radial_solution(dimension, lambda s: 0.5 + 0.0 * s, sine_gordon(2.0), TIME, squared_norm)
    assert found.value == pytest.approx(2.0 * np.arctan(np.tan(0.25) * np.exp(0.6)), rel=1e-11)  # rounding of the sums


@pytest.mark.parametrize("dimension", [1, 100, 100_000])
def test_at_once_it_is_the_initial_state(dimension):
    """u − g = (Δg + f(g)) t + O(t²): at t = 1e-8/d less than 1e-7, since |Δg| < 2d and |f| < 2.

    The series, whose law is as wide as √(s/d) however short the time, converges slowly for d = 1, and says so.
    """
    found = radial_solution(dimension, initial, heat(1.0), 1e-8 / dimension, 3.0)
    assert abs(found.value - initial(3.0)) < 1e-7 + found.uncertainty
    assert found.uncertainty < (1e-4 if dimension == 1 else 1e-9)


def test_on_the_line_it_agrees_with_differences_in_x():
    series = radial_solution(1, initial, heat(1.0), TIME, 0.49)
    assert series.agrees(line_differences(lambda x: initial(x * x), heat(1.0), 0.7, TIME))


def test_many_parameters_at_once_are_each_what_they_are_alone():
    mu = np.random.default_rng(0).uniform(0.8, 1.2, (2, 100))
    found = radial_solutions(10_000, initial, lambda u: mu[0] * np.sin(mu[1] * u), TIME)
    assert len(found) == 100
    for index in (0, 57):
        alone = radial_solution(10_000, initial, lambda u: mu[0, index] * np.sin(mu[1, index] * u), TIME)  # noqa: B023
        assert found[index].value == pytest.approx(alone.value, rel=1e-12)  # they may stop one iteration apart


def test_what_it_cannot_do_is_refused():
    with pytest.raises(FailedRun, match="panels"):
        radial_solution(10, initial, sine_gordon(100.0), TIME)
    assert radial_solution(10, initial, sine_gordon(100.0), TIME, panels=6).value == pytest.approx(np.pi)
    for dimension, time, squared_norm, modes in (
        (0, 0.3, 0.0, 8),
        (3, 0.0, 0.0, 8),
        (3, 0.3, -1.0, 8),
        (3, 0.3, 0.0, 2),
    ):
        with pytest.raises(InputError, match="give"):
            radial_solution(dimension, initial, heat(1.0), time, squared_norm, modes)
