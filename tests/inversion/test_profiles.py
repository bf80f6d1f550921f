"""Profile likelihoods against closed forms and against a search over a fine grid."""

import numpy as np
from inversion.surrogates import STARTS, Formula
from scipy.optimize import brentq, minimize_scalar

import prism
from prism.inversion.fitting import minimise, spread
from prism.inversion.profiles import FINE, Likelihood, profiles

QUANTILE = 1.96


def likelihood_of(misfit: Formula, noise: float):
    fits = minimise(misfit, spread(STARTS, misfit.space.size))
    sensitivities = fits.sensitivities[fits.best]
    covariance = np.linalg.inv(sensitivities.T @ sensitivities) * noise**2
    likelihood = Likelihood(misfit, noise**2, float(fits.costs[fits.best]), QUANTILE)
    return likelihood, fits.s[[fits.best]], covariance


def test_a_linear_formula_has_the_interval_of_gauss_and_newton():
    space = prism.Uniform(a=(0.0, 1.0), b=(0.0, 1.0))
    misfit = Formula(lambda x, a, b: a * x[0] + b * (x[0] + x[1]), space).given({"a": 0.4, "b": 0.5}, noise=0.02)
    likelihood, best, covariance = likelihood_of(misfit, 0.02)
    for index, profile in enumerate(profiles(likelihood, best, np.zeros(1), covariance)):
        half = QUANTILE * covariance[index, index] ** 0.5
        np.testing.assert_allclose(
            [profile.low, profile.high], [best[0, index] - half, best[0, index] + half], rtol=1e-4
        )
        np.testing.assert_allclose(
            profile.roots, np.abs(profile.positions - best[0, index]) / half * QUANTILE, atol=1e-3
        )
        assert profile.closed


def test_a_crooked_formula_has_the_ends_that_a_search_finds():
    space = prism.Uniform(a=(0.0, 1.0), b=(0.0, 2.0))
    misfit = Formula(lambda x, a, b: a * np.exp(2.0 * b * x[0]), space).given({"a": 0.2, "b": 0.8}, noise=0.05)
    likelihood, best, covariance = likelihood_of(misfit, 0.05)
    profile = profiles(likelihood, best, np.zeros(1), covariance)[1]

    def excess(position: float) -> float:
        cost = lambda other: float(np.sum(misfit.linearised(np.asarray([[other, position]]))[0] ** 2))
        return float(likelihood.roots(np.asarray([minimize_scalar(cost, bounds=(0, 1)).fun]))[0]) - QUANTILE

    ends = brentq(excess, 0.0, best[0, 1]), brentq(excess, best[0, 1], 1.0)
    # A straight line between two positions at which √Λ differs by less than FINE quantiles.
    np.testing.assert_allclose([profile.low, profile.high], ends, atol=0.1 * FINE * covariance[1, 1] ** 0.5)


def test_a_side_without_a_crossing_ends_at_the_edge():
    misfit = Formula(lambda x, a: a * x[0], prism.Uniform(a=(0.0, 1.0))).given({"a": 0.99}, noise=0.1)
    likelihood, best, covariance = likelihood_of(misfit, 0.1)
    (profile,) = profiles(likelihood, best, np.zeros(1), covariance)
    assert profile.high == 1.0
    assert 0.0 < profile.low < 0.99
    assert not profile.closed
