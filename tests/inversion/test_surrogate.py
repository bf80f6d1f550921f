"""The solution as a function of the unit box: values, sensitivities, residuals, and the size of u."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close
from inversion.surrogates import FAMILY, SITES_SOLUTION, SOLUTION, analytic, draw

import prism
from prism.families import HJBRosenbrock, SineGordonTime
from prism.inversion.surrogate import (
    SIZE_PAIRS,
    Physics,
    Surrogate,
    linearise,
    physical,
    physical_lengths,
    typical_size,
)
from prism.networks.model import Model
from prism.numerics.keys import Purpose, items, stream
from prism.objective.residuals import solution_value
from prism.problem.terms import sample_pair
from prism.solution.solution import Solution
from prism.solving.symmetry import norm_lift

CLOSED = analytic(lambda x, mu: mu.a * x[0] + mu.b * x[1] ** 3, prism.LogUniform(a=(0.1, 10.0), b=(1.0, 2.0)))


def of_norms(family):
    """A network of norms and time of a family in two parameters."""
    architecture = prism.Architecture(norm_lift(family), 4, 2, 4, 1, linear_lift=True)
    return Solution(Model.create(architecture, family.domain, family.parameters, KEY), family)


SOLUTIONS = {
    "norms and time": of_norms(HJBRosenbrock.create(6, KEY)),
    "a background": of_norms(SineGordonTime.create(6, KEY)),
    "radial constraint": SOLUTION,
    "another constraint": CLOSED,
    "a lift that knows μ": SITES_SOLUTION,
}


@pytest.mark.filterwarnings("ignore::prism.BeyondTraining")  # any points do
@pytest.mark.parametrize("solution", SOLUTIONS.values(), ids=SOLUTIONS)
def test_the_lifted_surrogate_is_the_solution(solution):
    points = jnp.abs(jnp.asarray(draw(solution.family.domain.coordinates))[:20])  # times are positive
    space = solution.family.parameters
    s = np.asarray([[0.2, 0.7]])
    mu = dict(zip(space.names, physical(space, s)[0], strict=True))
    made = Surrogate.create(solution, points)
    values, sensitivities = linearise(made, np.concatenate([s, s + 1e-6 * np.eye(2)]))
    close(values[0], solution(points, **mu))
    np.testing.assert_allclose((values[1:] - values[0]).T / 1e-6, sensitivities[0], rtol=1e-3, atol=1e-5)
    assert values.dtype == sensitivities.dtype == np.float64


def test_the_unit_box_is_the_parameter_space():
    space = CLOSED.family.parameters
    s = np.asarray([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    np.testing.assert_allclose(physical(space, s), [[0.1, 2.0], [1.0, 2**0.5], [10.0, 1.0]])
    np.testing.assert_array_equal(physical(space, s)[[0, 2]], [[0.1, 2.0], [10.0, 1.0]])
    # μ = low (high / low)^s
    np.testing.assert_allclose(physical_lengths(space, s[1]), [np.log(100.0), 2**0.5 * np.log(2.0)])


def test_physics_is_the_scaled_residual():
    """Δu of a x₁ + b x₂³ is 6 b x₂, whatever the network; its unit is its size at the middle, where b = √2."""
    points = draw(2)[:5]
    physics = Physics.create(CLOSED, jnp.asarray(points), prism.Exact())
    values, sensitivities = linearise(physics, np.asarray([[0.3, 0.5], [0.3, 1.0]]))
    at_middle = points[:, 1] / np.sqrt(np.mean(points[:, 1] ** 2))
    np.testing.assert_allclose(values, [at_middle, 2**0.5 * at_middle], rtol=1e-12)
    np.testing.assert_allclose(sensitivities[0], np.outer(at_middle, [0.0, np.log(2.0)]), rtol=1e-12, atol=1e-12)


def test_every_point_has_directions_of_its_own():
    """One coordinate of two: Δu of a x₁ + b x₂³ is estimated as 0 along x₁, as twice its value along x₂."""
    points = jnp.tile(jnp.asarray(draw(2))[:1], (12, 1))
    physics = Physics.create(CLOSED, points, prism.Coordinates(1))
    assert len(np.unique(linearise(physics, np.full((1, 2), 0.5))[0].round(12))) == 2


def test_the_size_is_that_of_independent_points_and_parameters():
    @jax.jit
    @jax.vmap
    def pair_and_value(key):
        x, mu = sample_pair(FAMILY, key)
        return jnp.linalg.norm(x), mu, solution_value(SOLUTION.model, FAMILY, x, mu)

    radii, mu, values = pair_and_value(items(stream(0, Purpose.CHECK), SIZE_PAIRS))
    close(typical_size(SOLUTION), np.sqrt(np.mean(values**2)))
    assert abs(np.corrcoef(radii, mu[:, 0])[0, 1]) < 4 / SIZE_PAIRS**0.5  # standard errors
