"""What the data leave open is said, and only that. Data sets are many: a wrong claim would come by chance."""

from dataclasses import replace

import numpy as np
import pytest
from inversion.surrogates import FAMILY, SMALL, SOLUTION, STARTS, TRUTH, Formula, observe, solution_of

import prism
from prism.networks.modulation import NONE

OPEN = {
    "a sum alone": (
        lambda x, a, b: (a + b) * np.sin(x[0]),
        prism.Uniform(a=(0.0, 1.0), b=(0.0, 2.0)),
        {"a": 0.4, "b": 0.9},
        ("a − b",),
    ),
    "a product alone": (
        lambda x, a, b: a * b * np.sin(x[0]),
        prism.LogUniform(a=(0.1, 10.0), b=(0.1, 10.0)),
        {"a": 2.0, "b": 0.7},
        ("log a − log b",),
    ),
}


def check_open(estimate, space, combinations):
    assert not any(estimate.identifiable.values())
    assert estimate.interval == space.bounds()
    assert estimate.covariance is None
    assert estimate.open_directions == combinations
    assert all("not identifiable" in line for line in estimate.summary()[1 : 1 + space.size])


@pytest.mark.parametrize(("formula", "space", "truth", "combinations"), OPEN.values(), ids=OPEN)
def test_combinations_that_the_data_leave_open_are_named_every_time(formula, space, truth, combinations):
    for seed in range(20):
        misfit = Formula(formula, space, seed)
        size = np.sqrt(np.mean(misfit.at(truth) ** 2))
        check_open(misfit.given(truth, 0.01 * size, seed).estimate(), space, combinations)


BLIND = {
    "a blind network": (solution_of(FAMILY, replace(SMALL, modulation=NONE)), False),
    "points where u = 0": (SOLUTION, True),
}


@pytest.mark.parametrize(("solution", "on_sphere"), BLIND.values(), ids=BLIND)
def test_values_that_do_not_depend_on_the_parameters_say_nothing_every_time(solution, on_sphere):
    data = [observe(solution, TRUTH, seed, on_sphere=on_sphere) for seed in range(20)]
    for estimate in prism.invert(solution, data, starts=STARTS):
        check_open(estimate, FAMILY.parameters, ("mu1", "mu2"))


def test_vanishing_values_without_noise_tell_nothing():
    points = observe(SOLUTION, TRUTH, on_sphere=True).points
    estimate = prism.invert(SOLUTION, prism.Observations(points, np.zeros(len(points))), starts=STARTS)
    assert not any(estimate.identifiable.values())


def test_one_open_parameter_leaves_the_other_its_interval():
    space = prism.Uniform(a=(0.0, 1.0), b=(0.0, 1.0))
    misfit = Formula(lambda x, a, b: a * x[0] + 1e-6 * b * x[1], space)
    estimate = misfit.given({"a": 0.4, "b": 0.5}, noise=0.001).estimate()
    assert estimate.identifiable == {"a": True, "b": False}
    low, high = estimate.interval["a"]
    assert low < 0.4 < high
    assert high - low < 0.01
    assert estimate.open_directions == ("b",)


SQUARE = lambda x, a: a**2 * x[0]
SIGNED = prism.Uniform(a=(-1.0, 1.0))


def test_a_flat_point_of_the_formula_is_not_taken_for_ignorance():
    misfit = Formula(SQUARE, SIGNED).given({"a": 0.001}, noise=0.0)
    estimate = misfit.estimate(noise=0.01)
    assert estimate.identifiable["a"]
    assert estimate.parameters["a"].method == "profile likelihood"
    assert np.ptp(estimate.parameters["a"].gauss_newton) > 1.0
    end = (1.96 * 0.01 / np.linalg.norm(misfit.points[:, 0])) ** 0.5  # |a² x₀| = 1.96 noise
    np.testing.assert_allclose(estimate.interval["a"], (-end, end), rtol=0.05)


def test_separate_minima_are_reported_and_covered():
    estimate = Formula(SQUARE, SIGNED).given({"a": 0.2}, noise=1e-4).estimate()
    assert sorted(round(minimum.values["a"], 2) for minimum in estimate.minima) == [-0.2, 0.2]
    low, high = estimate.interval["a"]
    assert low < -0.2 < 0.2 < high
    assert any("2 separate minima" in warning for warning in estimate.warnings)
