"""Finite differences against closed forms."""

import numpy as np
import pytest
from references.equations import TIME, heat, initial

from prism.errors import InputError
from prism.references.finite_differences import line_differences, radial_differences


@pytest.mark.parametrize("dimension", [1, 2, 10, 50])
@pytest.mark.parametrize("squared_norm", [0.0, 1.3])
def test_a_gaussian_spreads(dimension, squared_norm):
    """e^{−as} becomes (1 + 4at)^{−d/2} exp(−as/(1 + 4at))."""
    a = 0.2
    found = radial_differences(dimension, lambda s: np.exp(-a * s), lambda u: 0.0 * u, TIME, squared_norm)
    spread = 1.0 + 4.0 * a * TIME
    exact = spread ** (-dimension / 2) * np.exp(-a * squared_norm / spread)
    assert abs(found.value - exact) <= found.uncertainty < 1e-5 * exact  # three grids of 100 to 400 cells


def test_a_linear_reaction_is_a_factor():
    exact = np.exp(-2.0 * TIME) * (1.0 + 4.0 * TIME) ** -0.5 * np.exp(-0.25 / (1.0 + 4.0 * TIME))
    found = line_differences(lambda x: np.exp(-x * x), lambda u: -2.0 * u, 0.5, TIME)
    assert abs(found.value - exact) <= found.uncertainty < 1e-6


def test_lines_and_radii_agree_in_one_dimension():
    radial = radial_differences(1, initial, heat(1.2), TIME, 0.25)
    assert radial.agrees(line_differences(lambda x: initial(x * x), heat(1.2), -0.5, TIME))


def test_what_it_cannot_do_is_refused():
    with pytest.raises(InputError, match="cells"):
        radial_differences(3, initial, heat(1.0), TIME, 1e-6)
    with pytest.raises(InputError, match="time"):
        line_differences(np.arctan, heat(1.0), 0.0, 0.0)
