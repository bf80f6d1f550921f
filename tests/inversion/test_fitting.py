"""Searches in the unit box, against SciPy's; the bounded step itself is tested in tests/numerics/test_least_squares."""

import numpy as np
import pytest
from inversion.surrogates import Formula
from scipy.optimize import least_squares

import prism
from prism.inversion.fitting import TOLERANCE, minimise, spread

SPACE = prism.Uniform(a=(0.0, 1.0), b=(0.5, 3.0), c=(-1.0, 1.0))


def wave(x, a, b, c):
    return a * np.sin(4.0 * b * x[0]) + c * x[1] ** 2 + a * c * x[0]


def test_starts_fill_the_box():
    for unknowns in (1, 2, 5):
        starts = spread(16, unknowns)
        np.testing.assert_allclose(starts[0], 0.5)
        assert np.all((starts >= 0) & (starts < 1))
        for side in starts.T:
            assert np.all(np.histogram(side, 4, (0, 1))[0] >= 3)  # of 16, 4 in the mean


@pytest.mark.parametrize(
    "truth", [{"a": 0.4, "b": 1.0, "c": 0.3}, {"a": 1.3, "b": 0.7, "c": -1.5}], ids=["inside", "outside"]
)
def test_every_search_ends_where_scipy_does(truth):
    misfit = Formula(wave, SPACE).given(truth, noise=0.05)
    starts = spread(6, 3)
    fits = minimise(misfit, starts)
    for start, s, cost in zip(starts, fits.s, fits.costs, strict=True):
        errors, jacobian = (lambda at, which=which: misfit.linearised(at[None])[which][0] for which in (0, 1))
        expected = least_squares(errors, start, jacobian, ([0, 0, 0], [1, 1, 1]), xtol=1e-12, ftol=1e-12, gtol=1e-12)
        if abs(cost - 2 * expected.cost) > 1e-6 * cost:  # another minimum: then this must be one too
            again = least_squares(errors, s, jacobian, (np.zeros(3) - 1e-12, np.ones(3) + 1e-12), xtol=1e-12)
            np.testing.assert_allclose(cost, 2 * again.cost, rtol=1e-6)
        else:
            np.testing.assert_allclose(s, expected.x, atol=10 * TOLERANCE)
    best = fits.best
    np.testing.assert_allclose(fits.errors[best] @ fits.errors[best], fits.costs.min())
    np.testing.assert_array_equal(fits.sensitivities[best], misfit.linearised(fits.s)[1][best])


def test_coordinates_that_are_not_free_stay():
    misfit = Formula(wave, SPACE).given({"a": 0.4, "b": 1.0, "c": 0.3}, noise=0.05)
    starts, free = spread(3, 3), ~np.eye(3, dtype=bool)
    fits = minimise(misfit, starts, free)
    np.testing.assert_array_equal(np.diag(fits.s), np.diag(starts))
    assert np.all(np.abs(fits.s - starts)[free] > TOLERANCE)
    gradients = np.einsum("mr,mrp->mp", fits.errors, fits.sensitivities)
    inside = free & (fits.s > 0) & (fits.s < 1)
    # Of a step of TOLERANCE along one coordinate: its sensitivity, squared.
    flat = 10 * TOLERANCE * np.sum(fits.sensitivities**2, axis=1)
    assert np.all(np.abs(gradients)[inside] < flat[inside])
