"""A solution: its calibration is measured once for it, and what it promises in one place is done in another."""

import math

import equinox as eqx
import jax.numpy as jnp
import pytest
from helpers import KEY, linear
from solution.networks import random_network

import prism
from prism.families import SineGordon
from prism.networks.model import Architecture
from prism.networks.tunable import LastLayer
from prism.solution import solution as module
from prism.solution.rings import Fit, Ring
from prism.solution.solution import Solution
from prism.solution.trust import Calibration

FAMILY = SineGordon.create(6, KEY)
MU = {"mu1": 1.0, "mu2": 1.2}


def new_solution() -> Solution:
    return Solution(random_network(FAMILY, Architecture(linear(3), 3, 2, 3, 1)), FAMILY)


@pytest.fixture
def calibrated(monkeypatch):
    """The amplitudes of the networks that were calibrated; a calibration's error / residual is that number."""
    found = []

    def calibrate(model, family):
        found.append(float(model.amplitude))
        fit = Fit(math.log(found[-1]), (None,) * 4, -0.1, 0.1)
        return Calibration((0.5, 1.5), (Ring(0.0, 0.0, 64, fit),))

    monkeypatch.setattr(module, "calibrate", calibrate)
    return found


def test_a_solution_is_calibrated_once_and_only_when_asked(calibrated):
    solution = new_solution()
    assert calibrated == []
    first = solution.calibration
    assert solution.calibration is first
    solution.trust(**MU)
    solution.trust(**MU)
    assert calibrated == [float(solution.model.amplitude)]


def test_a_changed_solution_has_a_calibration_of_its_own(calibrated):
    solution = new_solution()
    first = solution.calibration
    changed = eqx.tree_at(lambda s: s.model.amplitude, solution, jnp.asarray(7.0))
    assert changed.calibration != first
    assert changed.trust(**MU).error == pytest.approx(7.0 * changed.trust(**MU).residual)
    assert solution.calibration is first, "the other one keeps its own"
    assert calibrated == [float(solution.model.amplitude), 7.0]


def test_a_fine_tuned_solution_is_a_solution():
    solution = new_solution()
    with pytest.warns(prism.NotImproved, match="tuning gained nothing here .* solve it again"):
        tuned = solution.fine_tune(**MU, seconds=600.0, parts=(LastLayer(),))
    assert jnp.array_equal(tuned.tuned_at, FAMILY.parameters.array(**MU))
    assert jnp.array_equal(tuned.model.lift.weight, solution.model.lift.weight)
    assert not jnp.array_equal(tuned.model.manifold.readout, solution.model.manifold.readout)
    assert tuned.family is solution.family
    with pytest.raises(prism.InputError, match="no value for mu2"):
        solution.fine_tune(mu1=2.0)


def test_it_is_evaluated_where_the_truth_is_known():
    found = new_solution().evaluate(points=100)
    assert found.points == 100
    assert found.relative_l2 > 0.0
