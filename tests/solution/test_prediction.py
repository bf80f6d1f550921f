"""u(x; μ) and its derivatives at one point and at many."""

import jax
import jax.numpy as jnp
import pytest
from helpers import BALL, KEY, Terms, close, linear, small_model
from solution.networks import random_network

import prism
from prism.derivatives.operators import Laplacian
from prism.families import SineGordon
from prism.networks.model import Architecture
from prism.problem.parameters import Uniform
from prism.solution.solution import Solution

FAMILY = SineGordon.create(6, KEY)
SOLUTION = Solution(random_network(FAMILY, Architecture(linear(5), 4, 3, 6, 2)), FAMILY)
POINTS = jax.random.normal(KEY, (7, 6)) / 4
MU = {"mu1": 0.7, "mu2": 1.2}


def test_derivatives_of_a_solution():
    at = lambda x, a, b: SOLUTION(x, mu1=a, mu2=b)
    x = POINTS[0]
    close(SOLUTION.gradient(POINTS, **MU)[0], jax.jacfwd(at)(x, 0.7, 1.2))
    found = SOLUTION.sensitivity(POINTS, **MU)
    close(found["mu2"][0], jax.jacfwd(at, argnums=2)(x, 0.7, 1.2))
    close(SOLUTION.sensitivity(x, **MU)["mu1"], found["mu1"][0])
    assert SOLUTION.outside(mu1=0.7, mu2=1.6) == ["mu2"]


def test_points_one_by_one_and_many():
    whole = SOLUTION(POINTS, **MU)
    close(jnp.stack([SOLUTION(x, **MU) for x in POINTS]), whole)
    each = SOLUTION(POINTS, mu1=0.7, mu2=jnp.full(7, 1.2))
    close(each, whole)


@pytest.mark.parametrize(
    ("points", "parameters", "message"),
    [
        (jnp.zeros(5), MU, r"points of shape \(5,\) do not fit; give \(6,\) or \(number, 6\)"),
        (POINTS, {"mu1": 0.7}, "no value for mu2"),
        (POINTS, {**MU, "mu1": jnp.ones(3)}, r"mu1: give one number, or one for each of the \(7,\) points"),
    ],
    ids=["points", "a missing parameter", "parameters"],
)
def test_mistakes_are_named(points, parameters, message):
    with pytest.raises(prism.InputError, match=message):
        SOLUTION(points, **parameters)


class Called(Terms):
    """Parameters that are called like arguments."""

    parameters = Uniform(x=(0.5, 1.5), points=(0.5, 1.5))

    def residual(self, u, x, mu):
        return u.lap + mu.x * mu.points * u.value


def test_a_parameter_may_be_called_like_an_argument():
    family = Called(BALL, {"lap": Laplacian()})
    solution = Solution(small_model(BALL, parameters=family.parameters), family)
    point, mu = 0.1 * jnp.ones(BALL.dimension), {"x": 0.75, "points": 1.25}
    found = solution.sensitivity(point, **mu)
    assert set(found) == {"x", "points"}
    assert solution(point, **mu).shape == ()
    assert solution.gradient(point, **mu).shape == point.shape
    assert not solution.is_outside(point, **mu)
    assert solution.outside(**mu) == []
