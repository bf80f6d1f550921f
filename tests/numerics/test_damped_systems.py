"""Damped systems: the solution that the formula asks for, and a solution where no Cholesky factor exists."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import close

from prism.numerics.damped_systems import ATTEMPTS, damped_pseudoinverse, damped_solution, small_solutions

solve = jax.jit(damped_solution)


@pytest.mark.parametrize("columns", [(), (3,)], ids=["vector", "matrix"])
def test_the_solution_is_the_formula(columns):
    random = np.random.default_rng(0)
    root, target = random.normal(size=(5, 7)), random.normal(size=(5, *columns))
    kernel = root @ root.T
    found, damping = solve(jnp.asarray(kernel), jnp.asarray(target), jnp.asarray(0.3))
    close(found, np.linalg.solve(kernel + 0.3 * np.trace(kernel) / 5 * np.eye(5), target))
    assert damping == 0.3, "what can be solved is not damped more"


def test_the_unit_of_the_kernel_does_not_matter():
    kernel, target = jnp.asarray([[2.0, 1.0], [1.0, 3.0]]), jnp.asarray([1.0, -1.0])
    one, _ = solve(kernel, target, jnp.asarray(1e-3))
    million, _ = solve(1e6 * kernel, target, jnp.asarray(1e-3))
    close(1e6 * million, one)


def test_damping_rescues_a_kernel_that_is_not_even_semidefinite():
    kernel = jnp.ones((4, 4), jnp.float32) - 1e-3 * jnp.eye(4, dtype=jnp.float32)
    solution, damping = solve(kernel, jnp.ones(4, jnp.float32), jnp.asarray(1e-6, jnp.float32))
    assert np.all(np.isfinite(solution))
    assert damping > 1e-4


def test_a_kernel_of_zeros_has_a_finite_answer():
    solution, _ = solve(jnp.zeros((3, 3)), jnp.zeros(3), jnp.zeros(()))
    assert np.all(np.isfinite(solution))


def test_what_cannot_be_solved_is_given_up():
    solution, damping = solve(jnp.full((3, 3), jnp.nan), jnp.ones(3), jnp.asarray(1e-3))
    assert np.all(np.isnan(solution))
    assert damping == pytest.approx(1e-3 * 10.0**ATTEMPTS)


def test_small_systems_are_solved_all_at_once():
    random = np.random.default_rng(1)
    roots, targets = random.normal(size=(6, 3, 5)), random.normal(size=(6, 3))
    matrices = roots @ np.moveaxis(roots, 1, 2)
    found = jax.jit(small_solutions)(jnp.moveaxis(jnp.asarray(matrices), 0, 2), jnp.asarray(targets.T))
    close(found.T, np.stack([np.linalg.solve(m, b) for m, b in zip(matrices, targets, strict=True)]))


def test_the_step_of_linear_channels_is_damped_least_squares():
    p = np.random.default_rng(2).normal(size=(7, 3))
    kernel = p @ p.T
    expected = np.linalg.solve(kernel + 0.1 * np.trace(kernel) / 7 * np.eye(7), p)
    close(jax.jit(damped_pseudoinverse, static_argnums=1)(jnp.asarray(p), 0.1), expected)
