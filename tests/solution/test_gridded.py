"""Grids: the values of the solution, with names, labels and provenance that survive a file."""

import sys
import warnings

import jax.numpy as jnp
import numpy as np
import pytest
import xarray
from helpers import EVOLUTION_FAMILIES, Terms, linear
from solution.explorer.pages import Anywhere
from solution.networks import random_network

from prism.derivatives.operators import Laplacian
from prism.errors import InputError
from prism.networks.model import Architecture
from prism.problem.domains import Ball
from prism.problem.parameters import Uniform
from prism.solution.solution import Solution

PLACES, TIMES, BETAS = np.linspace(-1.0, 1.0, 5), [0.0, 0.5, 1.0], [2.0, 40.0]


@pytest.fixture(scope="module")
def solution():
    family = EVOLUTION_FAMILIES[0]
    return Solution(random_network(family, Architecture(linear(4), 4, 2, 4, 1)), family)


@pytest.fixture(scope="module")
def found(solution):
    return solution.to_xarray(x2=PLACES, t=TIMES, beta=BETAS, x1=0.3)


def test_values_are_those_of_the_solution(solution, found):
    assert found["u"].dims == ("x2", "t", "beta")
    points = np.zeros((3, 6))
    points[:, 0], points[:, 1], points[:, -1] = 0.3, PLACES[3], TIMES
    one = found.isel(x2=3, beta=0)
    np.testing.assert_allclose(one["u"], solution(jnp.asarray(points), beta=2.0), rtol=1e-12)
    family = solution.family
    exact = [float(family.exact(jnp.asarray(x), family.parameters.named(jnp.asarray([2.0])))) for x in points]
    np.testing.assert_allclose(one["exact"], exact, atol=1e-12)
    np.testing.assert_allclose(found["error"], found["u"] - found["exact"])
    with warnings.catch_warnings(action="ignore"):
        outside = solution.is_outside(jnp.asarray(points), beta=2.0)
    np.testing.assert_array_equal(one["outside"], outside)
    assert found["outside"].sel(beta=40.0).all()


def test_it_is_labelled(found):
    assert found["x2"].attrs["long_name"] == "$x_{2}$"
    assert found["u"].attrs["long_name"] == "û, prediction"
    assert float(found["x1"]) == 0.3
    assert found.attrs["dimension"] == 5
    assert "3 coordinates" in found.attrs["other_coordinates"]
    assert found.attrs["source"].startswith("prism-pde ")


def test_plots_carry_the_labels(found):
    panel = found["u"].isel(beta=0, t=1).plot()[0].axes
    assert panel.get_xlabel() == "$x_{2}$"
    assert panel.get_ylabel() == "û, prediction"
    panel.figure.clear()


def test_netcdf_keeps_everything(found, tmp_path):
    found.to_netcdf(tmp_path / "u.nc")
    with xarray.open_dataset(tmp_path / "u.nc") as again:
        xarray.testing.assert_identical(again.load(), found)


def test_one_point_has_no_dimensions(solution):
    found = solution.to_xarray(t=0.5, beta=3.0)
    assert found["u"].shape == ()
    point = jnp.zeros(6).at[-1].set(0.5)
    assert float(found["u"]) == pytest.approx(float(solution(point, beta=3.0)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x1": 0.0, "t": 0.5}, "no values for beta"),
        ({"x1": 0.0, "beta": 2.0}, "no values for t"),
        ({"x9": 0.0, "t": 0.5, "beta": 2.0}, "there is no coordinate 'x9'"),
        ({"t": 0.5, "beta": [2.0, 2.0]}, "beta has a value twice"),
        ({"t": np.asarray([[0.5]]), "beta": 2.0}, "t has shape"),
        ({"t": np.asarray("soon"), "beta": 2.0}, "t: array.'soon', .* is not made of real numbers"),
        ({"t": 0.5, "x1": [0.0, np.nan], "beta": 2.0}, "x1 has shape"),
        ({"x1": np.arange(5000), "x2": np.arange(5000), "t": 0.5, "beta": 2.0}, "2.5e.07 points"),
    ],
)
def test_wrong_grids_are_refused(given, message, solution):
    with pytest.raises(InputError, match=message):
        solution.to_xarray(**given)


def test_many_named_coordinates_that_do_not_vary(solution):
    family = Terms(Ball(60), {"lap": Laplacian()})
    wide = Solution(random_network(family, Architecture(linear(4), 4, 2, 4, 1)), family)
    found = wide.to_xarray(mu1=1.0, mu2=[0.5, 1.0], **{f"x{number}": 0.01 for number in range(1, 61)})
    point = jnp.full(60, 0.01)
    np.testing.assert_allclose(found["u"][1], wide(point, mu1=1.0, mu2=1.0))


def test_more_dimensions_than_an_array_has_are_refused():
    family = Terms(Ball(400), {"lap": Laplacian()})
    solution = Solution(random_network(family, Architecture(linear(4), 4, 2, 4, 1)), family)
    with pytest.raises(InputError, match="400 dimensions"):
        solution.to_xarray(mu1=1.0, mu2=1.0, **{f"x{n}": np.linspace(0.0, 0.1, 10) for n in range(1, 401)})


def test_a_parameter_with_the_name_of_a_coordinate_is_refused():
    family = Anywhere(Ball(3), Uniform(x1=(0.5, 1.5)))
    solution = Solution(random_network(family, Architecture(linear(4), 4, 2, 4, 1)), family)
    with pytest.raises(InputError, match="the parameter x1"):
        solution.to_xarray(x1=1.0)


def test_beyond_training_is_refused_where_that_was_asked(solution):
    with pytest.raises(InputError, match="1 of 1 points"):
        solution.inside_only().to_xarray(t=0.5, beta=50.0)


def test_without_xarray_the_extra_is_named(solution, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(InputError, match=r"pip install 'prism-pde\[explore\]'"):
        solution.to_xarray(t=0.5, beta=2.0)


def test_a_notebook_shows_a_card_without_a_script(solution):
    shown = solution._repr_html_()
    assert "Solution of Convection in 5 dimensions" in shown
    assert "data:image/png;base64," in shown
    assert "residual" in shown
    assert "<script" not in shown
