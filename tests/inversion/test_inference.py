"""Parameters from data that the network itself has made, so that it is exact and the truth is known."""

import jax.numpy as jnp
import numpy as np
import pytest
from inversion.surrogates import (
    COUNT,
    DIMENSION,
    SITES_SOLUTION,
    SOLUTION,
    STARTS,
    TRUTH,
    Formula,
    analytic,
    draw,
    observe,
)

import prism

SETS = 100


def test_the_parameters_are_recovered():
    estimate = prism.invert(SOLUTION, observe(SOLUTION, TRUTH), starts=STARTS)
    for name, value in TRUTH.items():
        low, high = estimate.interval[name]
        assert low < value < high
        assert high - low < 0.05
        assert abs(estimate.values[name] - value) < 0.02
    assert all(estimate.identifiable.values())
    assert not any(estimate.at_edge.values())
    assert not estimate.warnings
    deviation = np.sqrt(np.diag(estimate.covariance))
    widths = [high - low for low, high in estimate.interval.values()]
    np.testing.assert_allclose(widths, 2 * 1.97 * deviation, rtol=0.1)


@pytest.mark.parametrize("solution", [SOLUTION, SITES_SOLUTION], ids=["dense", "sites"])
def test_exact_data_give_the_truth_back(solution):
    estimate = prism.invert(solution, observe(solution, TRUTH, noise=0.0), starts=STARTS)
    np.testing.assert_allclose(list(estimate.values.values()), list(TRUTH.values()), rtol=1e-6)


def check_coverage(estimates, space, truths):
    """A true 95 % interval leaves these bounds for 0.7 % of the keys."""
    for name, true in zip(space.names, truths.T, strict=True):
        low, high = np.asarray([estimate.interval[name] for estimate in estimates]).T
        assert 88 <= np.sum((low <= true) & (true <= high)) <= 99


def random_truths(space) -> np.ndarray:
    low, high = space.uniform_box()
    uniform = np.random.default_rng(0).uniform(low, high, (SETS, space.size))
    return np.asarray(space.from_uniform_coordinate(jnp.asarray(uniform)))


def named(space, truth) -> dict[str, float]:
    return dict(zip(space.names, truth.tolist(), strict=True))


@pytest.mark.slow
def test_intervals_from_a_network_cover_the_truth_as_often_as_they_say():
    """Noise that is estimated, a uniform space, all the way from the points."""
    space, generator = SOLUTION.family.parameters, np.random.default_rng(0)
    truths = random_truths(space)
    size = np.sqrt(np.mean(np.asarray(SOLUTION(jnp.asarray(draw(DIMENSION)), **TRUTH)) ** 2))
    data = []
    for seed, truth in enumerate(truths):
        points = jnp.asarray(draw(DIMENSION, seed))
        values = np.asarray(SOLUTION(points, **named(space, truth)))
        data.append(prism.Observations(points, values + 0.01 * size * generator.normal(size=COUNT)))
    check_coverage(prism.invert(SOLUTION, data, starts=STARTS), space, truths)


def test_intervals_from_a_formula_cover_the_truth_as_often_as_they_say():
    """Noise that is given, a log-uniform space, parameters that trade off, truths up to the edges."""
    space = prism.LogUniform(a=(0.2, 5.0), b=(0.5, 2.0))
    formula = lambda x, a, b: np.tanh(a * x[0] + 0.2) + b * np.sin(a * x[1])
    truths = random_truths(space)
    estimates = [
        Formula(formula, space, seed).given(named(space, truth), 0.02, seed).estimate(noise=0.02)
        for seed, truth in enumerate(truths)
    ]
    check_coverage(estimates, space, truths)


def test_a_log_uniform_space():
    space = prism.LogUniform(beta=(0.1, 10.0))
    for beta in (0.2, 5.0):
        misfit = Formula(lambda x, beta: np.tanh(beta * x[0]) + 0.1 * x[1], space).given({"beta": beta}, noise=0.01)
        estimate = misfit.estimate()
        low, high = estimate.interval["beta"]
        assert low < beta < high
        assert high / low < 1.3


def test_a_truth_beyond_the_edge():
    misfit = Formula(lambda x, a: a * x[0], prism.Uniform(a=(0.0, 1.0))).given({"a": 1.2}, noise=0.002)
    estimate = misfit.estimate(noise=0.01)
    assert estimate.at_edge == {"a": True}
    assert estimate.interval["a"][1] == 1.0
    assert estimate.parameters["a"].open_ended
    assert "at the edge of the trained space" in "\n".join(estimate.summary())
    assert any("do not fit" in warning for warning in estimate.warnings)


def test_noise_is_estimated_and_a_misfit_told():
    data = observe(SOLUTION, TRUTH, noise=0.05)
    size = 0.05 * np.sqrt(np.mean(data.values**2))
    invert = lambda **known: prism.invert(SOLUTION, data, starts=STARTS, **known)
    np.testing.assert_allclose(invert().noise, size, rtol=0.15)  # 3 deviations of 200 samples
    fitting, narrow = (invert(noise=factor * size) for factor in (1.0, 0.5))
    assert fitting.p_value > 0.01
    assert not fitting.warnings
    assert narrow.reduced_chi_square > 3
    assert any("do not fit" in warning for warning in narrow.warnings)


def test_an_error_of_the_surrogate_widens_the_interval():
    data = observe(SOLUTION, TRUTH)
    size = 0.01 * np.sqrt(np.mean(data.values**2))
    invert = lambda **known: prism.invert(SOLUTION, data, starts=STARTS, **known)
    width = lambda estimate: np.diff(estimate.interval["mu1"])[0]
    plain, wider = invert(noise=size), invert(noise=size, model_error=0.03)
    assert 2 < width(wider) / width(plain) < 6
    assert invert(model_error=0.03).interval["mu1"][0] < plain.interval["mu1"][0]


@pytest.mark.filterwarnings("ignore::prism.BeyondTraining")  # points of a normal law, beyond the cube
def test_physics_keeps_away_from_where_the_surrogate_is_wrong():
    solution = analytic(
        lambda x, mu: mu.a**2 * x[0] + jnp.maximum(-mu.a, 0.0) * 1e-3 * x[1] ** 2, prism.Uniform(a=(-1.0, 1.0))
    )
    data = observe(solution, {"a": 0.3}, noise=0.1)
    assert len(prism.invert(solution, data, starts=STARTS).minima) == 2
    estimate = prism.invert(solution, data, physics=1e9, starts=STARTS)
    assert len(estimate.minima) == 1
    assert estimate.values["a"] > 0
