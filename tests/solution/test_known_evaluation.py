"""Errors at the points where a reference is known."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY

from prism.families import Heat
from prism.networks.lifts.parts import Norm, Time
from prism.networks.model import Architecture, Model
from prism.problem.known import KnownValues
from prism.references.reference import Reference
from prism.solution.known_evaluation import evaluate_known
from prism.solution.solution import Solution


@pytest.fixture(scope="module")
def silent():
    """Heat in ten dimensions, and a network that is zero."""
    family = Heat.create(10, KEY)
    architecture = Architecture(Norm() + Time(), 4, 2, 4, 1, linear_lift=True)
    return family, Model.create(architecture, family.domain, family.parameters, KEY).constant(jnp.zeros(()))


def test_without_a_network_the_error_is_the_trivial_one(silent):
    family, model = silent
    found = evaluate_known(model, family, KEY)
    assert (found.points, found.parameters) == (1, 100)
    assert found.relative_l2 == pytest.approx(found.trivial_error)
    assert 1e-5 < found.trivial_error < 0.01 < found.mu_blind_error
    assert found.reference_uncertainty < 1e-9
    assert any("what the family knows beforehand" in line for line in found.describe())
    assert "no better than the trivial answer" in found.describe()[-1]
    assert Solution(model, family).evaluate().points == 1


def test_a_shifted_network_is_off_by_the_shift(silent):
    """At t = T the factor is one."""
    family, model = silent
    moved = eqx.tree_at(lambda m: m.manifold.offset, model, jnp.asarray(0.1))
    values = [evaluate_known(network, family, KEY).relative_l1 for network in (model, moved)]
    size = np.mean(family.known_values(np.asarray([[1.0]])).values)
    assert values[1] - values[0] == pytest.approx(0.1 / size, rel=0.1)


def test_known_values_of_one_point():
    found = [Reference(1.0, 0.1, "a"), Reference(2.0, 0.2, "b")]
    known = KnownValues.at_one_point(np.zeros(3), found)
    assert known.values.tolist() == [[1.0], [2.0]]
    assert known.uncertainties.tolist() == [[0.1], [0.2]]
