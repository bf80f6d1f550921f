"""Mixed partial derivatives from derivatives along single directions."""

import itertools
import math

import numpy as np
import pytest

from prism.derivatives.polarisation import polarise

MULTI_INDICES = [(1,), (4,), (1, 1), (2, 1), (3, 1), (2, 2), (1, 1, 1), (2, 1, 3), (1, 1, 1, 1), (4, 2)]


@pytest.mark.parametrize("alpha", MULTI_INDICES, ids=str)
def test_polarisation_has_exact_moments(alpha):
    """Σ_j w_j h_j^β = [α = β] α!/K! for every |β| = K: the symmetric tensor of ∂^α and no other."""
    directions, weights = polarise(alpha)
    order = sum(alpha)
    for beta in itertools.product(range(order + 1), repeat=len(alpha)):
        if sum(beta) == order:
            moment = weights @ np.prod(directions ** np.asarray(beta), axis=1)
            symmetric = math.prod(map(math.factorial, alpha)) / math.factorial(order)
            assert moment == pytest.approx(symmetric if beta == alpha else 0.0, abs=1e-13)  # sums of ≲ 30 terms ≲ 1


def test_u_xxxy_takes_four_directions():
    assert len(polarise((3, 1))[0]) == 4


def test_no_two_directions_are_parallel():
    directions, weights = polarise((2, 2, 2))
    units = directions / np.linalg.norm(directions, axis=1)[:, None]
    assert np.sum(np.abs(units @ units.T) > 1 - 1e-9) == len(weights)
    assert np.all(weights != 0)
