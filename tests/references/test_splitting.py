"""Splitting on a grid: what it knows in one dimension, and what it says of multilevel Picard iteration."""

import numpy as np
import pytest
from references.equations import TIME, allen_cahn, initial, radial_solution, sine_gordon

from prism.errors import InputError
from prism.families import AllenCahnTime, allen_cahn_time
from prism.numerics.keys import root
from prism.references.finite_differences import line_differences
from prism.references.splitting import split_solution

MU = ((0.8, 1.2), (1.0, 1.0), (1.2, 0.8))


def maximum(x):
    return np.arctan(np.max(x, axis=-1))


@pytest.mark.parametrize("mu", MU)
def test_on_the_line_it_agrees_with_finite_differences(mu):
    found = split_solution(maximum, allen_cahn(*mu), np.array([0.5]), TIME)
    assert found.agrees(line_differences(np.arctan, allen_cahn(*mu), 0.5, TIME))
    assert found.uncertainty < 1e-3


def test_in_two_dimensions_it_agrees_with_the_radial_series():
    found = split_solution(lambda x: initial(np.sum(x * x, axis=-1)), sine_gordon(1.2, 0.8), np.array([0.3, 0.4]), TIME)
    assert found.agrees(radial_solution(2, initial, sine_gordon(1.2, 0.8), TIME, 0.25))
    assert found.uncertainty < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_reference_of_allen_cahn_agrees(dimension, monkeypatch):
    """Multilevel Picard iteration with the diffused maximum, as it judges the family, at three parameters."""
    monkeypatch.setattr(allen_cahn_time, "REPETITIONS", (8, 16))
    family = AllenCahnTime.create(dimension, root(0))
    x = np.append(np.linspace(0.4, 0.8, dimension), TIME)
    for mu, one in zip(MU, family.references(x, np.asarray(MU)), strict=True):
        grid = split_solution(maximum, allen_cahn(*mu), x[:-1], TIME, cells=24 if dimension == 3 else 48)
        assert one.agrees(grid)
        assert one.uncertainty + grid.uncertainty < 0.01 * grid.value


def test_what_it_cannot_do_is_refused():
    with pytest.raises(InputError, match="give 1 to 3 dimensions"):
        split_solution(maximum, allen_cahn(1.0), np.zeros(4), TIME)
