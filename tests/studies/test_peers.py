"""The peers: exact values where they are known, and answers that follow from the key alone."""

import math
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from helpers import BALL, CYLINDER, KEY, SOLITON_FAMILIES, Terms, by_name, close, mostly_slow, small_model
from ledger import ledger

import prism
from prism import Dense, Exact, Laplacian, Partial, Sampling, TimeDerivative
from prism.errors import InputError
from prism.numerics import random
from prism.numerics.keys import root
from prism.objective.residuals import residual
from prism.objective.rows import Objective
from prism.problem.terms import draw_directions, place_at
from prism.studies.peers.deep_bsde import deep_bsde
from prism.studies.peers.deep_splitting import deep_splitting
from prism.studies.peers.nested import NestedObjective, nested_residual
from prism.studies.peers.problem import SemilinearProblem, Units

T = 0.3
SHORT = {
    "DeepBSDE": lambda problem, key: deep_bsde(problem, key, steps=400, time_steps=5),
    "deep splitting": lambda problem, key: deep_splitting(problem, key, steps_per_slice=100, slices=4),
}
TWO_STEPS = {
    "DeepBSDE": lambda problem, key: deep_bsde(problem, key, steps=2, time_steps=2),
    "deep splitting": lambda problem, key: deep_splitting(problem, key, steps_per_slice=1, slices=2),
}


def quadratic(x):
    """g in three dimensions with a linear and a quadratic part; under u_t = Δu it leads to u(0, T) = 6T."""
    return jnp.sum(x) + x @ x


def allen_cahn(u):
    return u - u**3


@pytest.mark.parametrize("solver", SHORT)
def test_the_linear_equation_is_solved(solver):
    """Within 2 %, a seventh of the standard error of one batch of 64 values of g: training averages over hundreds."""
    result = SHORT[solver](SemilinearProblem(3, T, quadratic, jnp.zeros_like), root(0))
    assert abs(result.value / (6.0 * T) - 1.0) < 0.02


@pytest.mark.parametrize("solver", SHORT)
def test_a_constant_follows_the_ordinary_differential_equation(solver):
    """y' = y − y³ from y = 1/2; a step of Euler's method leaves Δt²/2 |y''|, and the level is found to 1e-3."""
    exact = 1.0 / math.sqrt(1.0 + 3.0 * math.exp(-2.0 * T))
    longest_step, most_bend = T / 4, 0.1
    result = SHORT[solver](SemilinearProblem(3, T, lambda x: 0.5 + 0.0 * x[0], allen_cahn), root(0))
    assert abs(result.value - exact) < T * longest_step / 2 * most_bend + 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("solver", TWO_STEPS)
def test_the_key_decides_and_serves_no_two_draws(solver):
    problem = SemilinearProblem(3, T, quadratic, allen_cahn)
    first, other = (TWO_STEPS[solver](problem, root(seed)) for seed in (0, 1))
    again = []
    with ledger(Path(prism.__file__).parent, random, jax.clear_caches) as book:
        page = book.page(lambda: again.append(TWO_STEPS[solver](problem, root(0)).value))
    assert [first.value] == again != [other.value]
    assert page.functions()
    assert not page.collisions()
    assert first.steps == 2
    assert min(first.seconds, first.compile_seconds) > 0.0


def test_units_are_those_of_the_ends_of_paths():
    """|X_T|² has mean 2dT and deviation 2T√(2d); 256 paths know both to a tenth (4 standard errors)."""
    units = Units.measure(SemilinearProblem(100, T, lambda x: x @ x, lambda u: 2.0 + 0.0 * u), root(0))
    mean, deviation = 200.0 * T, 2.0 * T * math.sqrt(200.0)
    assert abs(units.mean - mean) < 4.0 * deviation / 16.0
    assert abs(units.deviation - deviation) < 4.0 * deviation / math.sqrt(512.0)
    assert jnp.allclose(units.size, jnp.hypot(units.mean, units.deviation) + 2.0 * T)


def test_an_equation_without_dimensions_or_time_is_refused():
    for dimension, horizon in ((0, T), (3, 0.0), (3, math.inf)):
        with pytest.raises(InputError, match="leave nothing to solve; give a dimension of at least 1"):
            SemilinearProblem(dimension, horizon, jnp.sum, allen_cahn)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [deep_bsde, deep_splitting])
def test_the_heat_equation_of_the_papers_in_ten_dimensions(solver):
    """Within half a percent of a reference: Euler's method leaves 0.2 % with 40 steps of time (0.4 % with 20)."""
    problem = SemilinearProblem(10, T, lambda x: 5.0 / (10.0 + 2.0 * (x @ x)), lambda u: (1.0 - u**2) / (1.0 + u**2))
    sizes = {"steps": 1_000, "time_steps": 40} if solver is deep_bsde else {"steps_per_slice": 200, "slices": 40}
    assert abs(solver(problem, root(0), **sizes).value / 0.47006 - 1.0) < 5e-3


@pytest.mark.parametrize("family", mostly_slow(by_name(SOLITON_FAMILIES), "KP"))
def test_nested_reverse_differentiation_has_the_same_rows(family):
    """1e-9 of the largest, which fourth derivatives leave of float64."""
    model = small_model(family.domain, parameters=family.parameters, depth=1, lift=Dense(3))
    scales = {"condition_scale": jnp.asarray(0.5)}
    aim = Objective(family, Exact(), jnp.asarray(3.0), Sampling(3, 2, crossed=True), **scales)
    rows = eqx.filter_jit(lambda objective, batch: objective.rows(model, batch))
    nested, series = (rows(one, aim.draw(model, KEY)) for one in (NestedObjective.of(aim), aim))
    assert nested.equation.shape == (6,)
    assert len(nested.conditions) == len(family.conditions) > 0
    for ours, theirs in zip(jax.tree.leaves(nested), jax.tree.leaves(series), strict=True):
        close(ours, theirs, 1e-9)


def test_nested_reverse_differentiation_in_time():
    """Also of a term that is no Partial: u_tt."""
    family, mu = Terms(CYLINDER, {"wave": TimeDerivative(2), "bend": Partial(0, 0)}), jnp.asarray([0.7, 1.2])
    model, x = small_model(CYLINDER), jnp.linspace(-0.3, 0.4, CYLINDER.coordinates)
    draws = draw_directions(family, Exact(), place_at(family, x, mu, None), KEY)
    close(*jax.jit(lambda: (nested_residual(model, family, x, mu), residual(model, family, draws, x, mu)))())


def test_what_is_no_partial_derivative_cannot_be_nested():
    family = Terms(BALL, {"lap": Laplacian(), "u_x": Partial(0)})
    with pytest.raises(InputError, match="lap of Terms is no partial derivative"):
        nested_residual(small_model(BALL), family, jnp.ones(5), jnp.ones(2))
