"""What the page computes is what PRISM computes: for every lift, modulation, activation, space and constraint."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import (
    ACTIVATIONS,
    BALL,
    BIHARMONIC,
    CYLINDER,
    EVOLUTION_FAMILIES,
    LIFTS,
    MODULATIONS,
    WIDER,
    Terms,
    linear,
    mostly_slow,
)
from solution.explorer.pages import Anywhere, content_of, solution_of
from solution.explorer.script import along, ask

from prism.derivatives.operators import Laplacian
from prism.errors import InputError, PrismError
from prism.networks.lifts.parts import Norm, Sites, Time
from prism.problem.constraints import HardConstraint, VanishingOnSphere
from prism.problem.domains import Ball, Cube
from prism.problem.parameters import LogUniform, Uniform
from prism.problem.time_domains import TimeCylinder
from prism.solution.solution import Solution

ROUNDING = 1e-12
"""In float64, of the solution's size: sums in another order."""
TABLE = 1e-7
"""A table of the constraint is made to 1e-9 of its own size, on a box that is larger than where it is asked."""


def check(solution: Solution, tolerance: float = ROUNDING, names=None) -> dict:
    (found,) = ask(content_of(solution, names), ("selfCheck", {}))
    assert found["count"] == 64
    assert found["predicted"] < tolerance
    return found


FAST_LIFTS = ("sum", "sites over groups", "periodic sites", "quadratic over pairs", "blocks", "logarithmic norm")
"""Each kind of part once; further cases of them are slow tests."""


@pytest.mark.parametrize("lift", mostly_slow(LIFTS, *FAST_LIFTS))
def test_every_lift_agrees(lift):
    check(solution_of(Anywhere(Ball(WIDER), Uniform(a=(0.5, 1.5), b=(-1.0, 1.0))), lift), names=["x1", "x3", "x4"])


IN_TIME = {
    "sites": LIFTS["sum"],
    "norms": Norm() + Norm(logarithmic=True) + Time(),
}


@pytest.mark.parametrize("lift", IN_TIME.values(), ids=IN_TIME)
def test_lifts_in_time_agree(lift):
    check(solution_of(Anywhere(TimeCylinder(Cube(WIDER, -1.0, 2.0), 3.0), Uniform(k=(-1.0, 3.0))), lift))


@pytest.mark.parametrize("modulation", mostly_slow(MODULATIONS, "concat", "none"))
def test_every_modulation_agrees(modulation):
    check(solution_of(Anywhere(Ball(3), Uniform(k=(0.5, 1.5))), linear(6, 3), modulation, depth=3))


@pytest.mark.parametrize("activation", mostly_slow({kind.__name__: kind for kind in ACTIVATIONS}, "Softplus"))
def test_every_activation_agrees(activation):
    check(solution_of(Anywhere(Ball(3), Uniform(k=(0.5, 1.5))), activation=activation()))


@pytest.mark.slow
def test_a_linear_lift_agrees():
    check(solution_of(Anywhere(Ball(3), Uniform(k=(0.5, 1.5))), linear_lift=True))


def test_a_logarithmic_space_agrees():
    check(solution_of(Anywhere(Cube(1, -1.0, 2.0), LogUniform(a=(0.1, 1.0), b=(1.0, 2.0), c=(5.0, 500.0)))))


@pytest.mark.parametrize("domain", [BALL, CYLINDER], ids=["closed form", "tables"])
def test_hard_conditions_agree(domain):
    closed = domain is BALL
    check(solution_of(Terms(domain, {"lap": Laplacian()})), ROUNDING if closed else TABLE)


@pytest.mark.slow
def test_clamped_solutions_agree():
    check(solution_of(BIHARMONIC))


class Sized(Anywhere):
    """Δu = 0 with a solution whose size is that of its parameter."""

    def exact(self, x, mu):
        return mu.a * jnp.sin(1.0 + jnp.sum(x))


def test_an_exact_solution_is_right_where_it_is_small():
    solution = solution_of(Sized(Ball(2), LogUniform(a=(1e-2, 1e2))))
    asked = {"space": {}, "mu": [0.01], "axes": [along("x", 0, [-0.3, 0.2])]}
    (exact,) = ask(content_of(solution), ("exact", asked))
    np.testing.assert_allclose(exact, 0.01 * np.sin(1.0 + np.asarray([-0.3, 0.2])), rtol=1e-5)


def test_a_tuned_solution_answers_at_its_mu_however_far():
    solution = solution_of(EVOLUTION_FAMILIES[0])
    tuned = replace(solution, tuned_at=jnp.asarray([60.0]))
    content = content_of(tuned)
    asked = {"space": {0: 0.4}, "time": 0.3, "mu": [60.0], "axes": []}
    predicted, exact, blind = ask(content, ("predicted", asked), ("exact", asked), ("blind", asked))
    point = jnp.zeros(6).at[0].set(0.4).at[-1].set(0.3)
    truth = solution.family.exact(point, solution.family.parameters.named(jnp.asarray([60.0])))
    np.testing.assert_allclose(predicted, [float(tuned(point, beta=60.0))], atol=TABLE)
    np.testing.assert_allclose(exact, [float(truth)], atol=1e-5)
    assert blind is None


class Doubled(VanishingOnSphere):
    """Twice the closed form."""

    def apply(self, network, x, mu, directions):
        return super().apply(network.map_linear(lambda value: 2.0 * value), x, mu, directions)


class Unusual(Anywhere):
    """Δu = 0 under a constraint of one's own making."""

    def constraint(self):
        return Doubled(1.0)


@pytest.mark.slow
def test_a_subclass_of_a_closed_form_is_no_closed_form():
    check(solution_of(Unusual(Ball(12), Uniform(k=(0.5, 1.5)))), TABLE)


def test_places_that_see_the_same_are_one():
    pairs = tuple((i, j) for i in range(12) for j in range(i))
    solution = solution_of(Anywhere(Ball(12), Uniform(k=(0.5, 1.5))), Sites(2, features=2, hidden=3, groups=pairs))
    content = content_of(solution, ["x1", "x5"])
    assert len(content["slices"]["lift"][1]["windows"]) <= 8
    assert ask(content, ("selfCheck", {}))[0]["predicted"] < ROUNDING


class Somewhere(Anywhere):
    """Δu = 0 under a condition that does not exist everywhere."""

    def constraint(self):
        return HardConstraint(lambda x, mu: jnp.where(x[0] < 0.7, 1.5, jnp.nan), allow_kinks=True)


def test_a_constraint_without_a_table_is_refused():
    with pytest.raises(PrismError, match="factor of its hard constraint"):
        content_of(solution_of(Somewhere(Cube(2, -1.0, 1.0), Uniform(k=(0.5, 1.5)))))


def test_a_coordinate_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="no coordinate 'x4'"):
        content_of(solution_of(Anywhere(Ball(3), Uniform(k=(0.5, 1.5)))), ["x4"])


@pytest.fixture(scope="module")
def waves():
    solution = solution_of(EVOLUTION_FAMILIES[0])
    return solution, content_of(solution)


MU, TIMES, PLACES = 7.0, np.linspace(0.0, 1.0, 4), np.linspace(-2.0, 2.0, 5)


def test_the_page_checks_itself(waves):
    _, content = waves
    (found,) = ask(content, ("selfCheck", {}))
    assert found["predicted"] < TABLE
    assert found["exact"] < 1e-5  # a table in single precision
    damaged = {**content, "network": {**content["network"], "low": [0.0]}}
    assert ask(damaged, ("selfCheck", {}))[0]["predicted"] > 1e-3


def live(function, places, times, mu):
    """x₁ and t on a grid, the rest at the centre."""
    points = np.zeros((len(places) * len(times), 6))
    points[:, 0], points[:, -1] = np.repeat(places, len(times)), np.tile(times, len(places))
    return np.asarray(function(jnp.asarray(points), jnp.full(len(points), mu)))


def test_a_field_runs_slowly_across_and_fast_up(waves):
    solution, content = waves
    asked = {"space": {}, "mu": [MU], "axes": [along("x", 0, PLACES), along("t", 0, TIMES)]}
    predicted, exact = ask(content, ("predicted", asked), ("exact", asked))
    family = solution.family
    truth = lambda x, beta: [
        family.exact(one, family.parameters.named(b[None])) for one, b in zip(x, beta, strict=True)
    ]
    np.testing.assert_allclose(predicted, live(lambda x, b: solution(x, beta=b), PLACES, TIMES, MU), atol=TABLE)
    np.testing.assert_allclose(exact, live(truth, PLACES, TIMES, MU), atol=1e-5)


def test_a_curve_over_a_parameter(waves):
    solution, content = waves
    values = np.linspace(1.0, 30.0, 5)
    asked = {"space": {0: 0.5}, "time": 0.25, "mu": [MU], "axes": [along("mu", 0, values)]}
    (predicted,) = ask(content, ("predicted", asked))
    point = np.zeros((5, 6))
    point[:, 0], point[:, -1] = 0.5, 0.25
    np.testing.assert_allclose(predicted, solution(jnp.asarray(point), beta=jnp.asarray(values)), atol=TABLE)


def test_the_mu_blind_answer_is_the_mean_of_the_exact_solution(waves):
    solution, content = waves
    asked = {"space": {}, "time": 0.3, "mu": [MU], "axes": [along("x", 0, PLACES)]}
    (blind,) = ask(content, ("blind", asked))
    family, (nodes, weights) = solution.family, np.polynomial.legendre.leggauss(200)
    betas = 15.5 + 14.5 * nodes
    points = np.zeros((5, 6))
    points[:, 0], points[:, -1] = PLACES, 0.3
    at = lambda x: [float(family.exact(jnp.asarray(x), family.parameters.named(jnp.asarray([b])))) for b in betas]
    np.testing.assert_allclose(blind, [np.dot(weights / 2, at(x)) for x in points], atol=1e-5)


def test_the_mu_blind_answer_is_that_of_the_network_where_nothing_is_known():
    solution = solution_of(Anywhere(Ball(3), Uniform(k=(0.5, 1.5))))
    asked = {"space": {}, "mu": [0.7], "axes": [along("x", 1, [0.0, 0.2])]}
    (blind,) = ask(content_of(solution), ("blind", asked))
    nodes, weights = solution.family.parameters.quadrature()
    points = jnp.asarray([[0.0, 0.0, 0.0], [0.0, 0.2, 0.0]])
    mean = sum(w * solution(points, k=float(node[0])) for node, w in zip(nodes, weights, strict=True))
    np.testing.assert_allclose(blind, mean, rtol=1e-10)


def test_points_beyond_the_domain_are_told(waves):
    _, content = waves
    asked = {"space": {0: 0.1}, "time": 0.3, "mu": [MU], "axes": []}
    far = {"space": {0: 3.0, 1: 3.0}, "time": 0.3, "mu": [MU], "axes": []}
    assert ask(content, ("outside", asked), ("outside", far)) == [[False], [False]]
    assert ask({**content, "region": {"norm": [0.2, 4.0], "horizon": 1.0}}, ("outside", asked), ("outside", far)) == [
        [True],
        [True],
    ]
