"""Tables of functions of a few variables: as exact as they say, and small."""

import numpy as np
import pytest

from prism.solution.explorer.chebyshev import Index, Interval, Untabulated, grid, interpolating, tabulated

BOX = (Interval(-1.0, 1.0), Interval(0.0, 2.0), Interval(0.5, 1.5))


def points(variables, count: int = 300) -> np.ndarray:
    generator = np.random.default_rng(7)
    return np.stack([variable.random(count, generator) for variable in variables], axis=1)


FUNCTIONS = {
    "smooth": lambda y: np.exp(y[:, 0] * y[:, 1]) * np.cos(y[:, 2] + y[:, 0]),
    "product": lambda y: y[:, 0] ** 3 * y[:, 1] * y[:, 2],
    "nearly singular": lambda y: np.log(0.01 + y[:, 1] + y[:, 0] ** 2) * y[:, 2],
    "constant": lambda y: np.full(len(y), 2.5),
    "zero": lambda y: np.zeros(len(y)),
}


@pytest.mark.parametrize("leading", [1, 2])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_table_is_as_exact_as_it_says(function, leading):
    table = tabulated(function, BOX, leading, 1e-9)
    asked = points(BOX)
    truth = function(asked)
    size = np.sqrt(np.mean(truth**2)) or 1.0
    assert table.error < 1e-8  # ten times the tolerance is what it stops at
    assert np.max(np.abs(table(asked) - truth)) < 10 * max(table.error, 1e-12) * size  # other random points


def test_a_function_of_few_products_makes_a_small_table():
    table = tabulated(lambda y: np.sin(y[:, 0] + y[:, 1] + y[:, 2]), BOX, 1, 1e-9)
    assert max(core.shape[2] for core in table.cores) == 2  # sin(a + b) = sin a cos b + cos a sin b


def test_a_variable_that_counts_picks_a_function():
    rates = np.asarray([0.5, -1.0, 2.0])
    function = lambda y: np.sin(rates[y[:, 0].astype(int)] * y[:, 1]) * y[:, 2]
    variables = (Index(3), *BOX[::2])
    table, asked = tabulated(function, variables, 2, 1e-9), points(variables)
    np.testing.assert_allclose(table(asked), function(asked), atol=1e-8)
    assert table.cores[0].shape[1] == 3


def test_a_function_that_is_not_finite_has_no_table():
    with pytest.raises(Untabulated, match="not finite"):
        tabulated(lambda y: np.where(y[:, 0] < 0.9, y[:, 1], np.nan), BOX, 1, 1e-7)


def test_a_function_that_changes_too_fast_has_no_table():
    with pytest.raises(Untabulated, match="too fast"):
        tabulated(lambda y: np.sin(900 * y[:, 0]) * np.sin(900 * y[:, 1]) * y[:, 2], BOX, 2, 1e-7)


def test_a_kink_is_told_by_the_error():
    assert tabulated(lambda y: np.abs(y[:, 0] - 0.3) * y[:, 1] + y[:, 2], BOX, 1, 1e-9).error > 1e-6


def test_values_on_a_grid_are_interpolated():
    function, variables = FUNCTIONS["smooth"], BOX
    values = function(grid([16, 16, 12], variables)).reshape(16, 16, 12)
    asked = points(variables)
    np.testing.assert_allclose(interpolating(values, variables, 1e-12)(asked), function(asked), atol=1e-9)
