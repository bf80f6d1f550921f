"""Damped Gauss-Newton steps against SciPy's bounded least squares, and the laws of a step at random shapes."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from prism.numerics.least_squares import FIRST_DAMPING, Box, Levenberg, damped_step

STEPS = 60
"""Enough for any of the problems below: the slowest of 300 needed 28."""
BARE = settings(deadline=None, max_examples=30, derandomize=True)
HOPELESS = 1e6
"""Damping that only many failures in a row reach: |e|² falls no more."""


class Problem(NamedTuple):
    """e(u) = A u + Σ_j w_j sin u_j − y within a box; works for NumPy's and for JAX's arrays, with searches before."""

    matrix: np.ndarray
    waves: np.ndarray
    target: np.ndarray
    box: Box

    @staticmethod
    def draw(seed: int, searches: tuple[int, ...] = (), rank: int = 8, waves: float = 0.3) -> "Problem":
        """A random one of 1 to 8 unknowns in a box that may cut the solution off, its columns of different sizes."""
        generator = np.random.default_rng(seed)
        count, rows = generator.integers(1, 9), generator.integers(1, 20)
        rank = min(rank, count, rows)
        factors = generator.normal(size=(rows, rank)), generator.normal(size=(rank, count))
        matrix = factors[0] @ factors[1] * 10.0 ** generator.uniform(-2, 2, count)
        low, high = generator.uniform(-1, 0, (*searches, count)), generator.uniform(0.05, 1, (*searches, count))
        waves = waves * generator.normal(size=(rows, count))
        return Problem(matrix, waves, 3 * generator.normal(size=rows), Box(low, high))

    def evaluate(self, u):
        xp, leading = u.__array_namespace__(), (1,) * (u.ndim - 1)
        matrix, waves, target = (xp.asarray(part.reshape(leading + part.shape)) for part in self[:3])
        errors = xp.sum(matrix * u[..., None, :] + waves * xp.sin(u)[..., None, :], axis=-1) - target
        return errors, matrix + waves * xp.cos(u)[..., None, :]

    def errors(self, u):
        return self.evaluate(u)[0]

    def jacobian(self, u):
        return self.evaluate(u)[1]

    @property
    def middle(self) -> np.ndarray:
        return (self.box.low + self.box.high) / 2

    def start(self, convert=np.asarray) -> Levenberg:
        return Levenberg.start(convert(self.middle), len(self.target))


def solved(problem: Problem, box: Box | None, free=None) -> Levenberg:
    state = problem.start()
    for _ in range(STEPS):
        state = state.step(problem.evaluate, box, free)
        if state.damping > HOPELESS:
            break
    return state


def scipy_cost(errors, jacobian, start, box: Box) -> float:
    bounds = np.asarray(box.low), np.asarray(box.high)
    found = least_squares(errors, start, jacobian, bounds, "trf", 1e-13, 1e-13, 1e-13, max_nfev=300)
    return 2 * found.cost


@pytest.mark.parametrize("rank", [8, 2], ids=["full rank", "rank-deficient"])
@pytest.mark.parametrize("waves", [0.0, 0.3], ids=["linear", "non-linear"])
def test_the_minimum_in_a_box_is_that_of_scipy(rank, waves):
    """Or lower, where SciPy gives up. Many unknowns end inside the box, and many at its bounds."""
    inside = at_bounds = 0
    for seed in range(15):
        problem = Problem.draw(seed, rank=rank, waves=waves)
        low, high = problem.box
        state = solved(problem, problem.box)
        expected = scipy_cost(problem.errors, problem.jacobian, problem.middle, problem.box)
        assert state.cost <= expected * (1 + 1e-8) + 1e-12
        assert np.all((low <= state.unknowns) & (state.unknowns <= high))
        bounded = (state.unknowns == low) | (state.unknowns == high)
        inside, at_bounds = inside + np.sum(~bounded), at_bounds + np.sum(bounded)
    assert min(inside, at_bounds) > 15


def test_without_a_box_a_linear_problem_is_solved():
    for seed in range(10):
        problem = Problem.draw(seed, waves=0.0)
        state, expected = solved(problem, None), np.linalg.lstsq(problem.matrix, problem.target)[0]
        # Steps end where |e|² falls no more, which knows e to the root of the rounding.
        np.testing.assert_allclose(state.errors, problem.errors(expected), atol=1e-6)


def test_unknowns_that_are_not_free_stay_and_the_others_find_their_minimum():
    for seed in range(15):
        problem = Problem.draw(seed)
        free = np.random.default_rng(seed).uniform(size=problem.middle.shape) < 0.6
        state = solved(problem, problem.box, free)
        np.testing.assert_array_equal(state.unknowns[~free], problem.middle[~free])
        if not free.any():
            continue

        def whole(part, problem=problem, free=free):
            there = problem.middle.copy()
            there[free] = part
            return there

        expected = scipy_cost(
            lambda part, problem=problem, whole=whole: problem.errors(whole(part)),
            lambda part, problem=problem, whole=whole, free=free: problem.jacobian(whole(part))[:, free],
            problem.middle[free],
            Box(problem.box.low[free], problem.box.high[free]),
        )
        assert state.cost <= expected * (1 + 1e-8) + 1e-12


seeds = st.integers(0, 2**32 - 1)
dampings = st.floats(1e-6, 1e6)


@BARE
@given(seed=seeds, rank=st.integers(1, 8), damping=dampings)
def test_the_damped_step_minimises_what_it_says(seed, rank, damping):
    """|e + Jδ|² + λ |Dδ|², solved by SVD of the stacked matrix."""
    problem = Problem.draw(seed, rank=rank)
    errors, jacobian = problem.evaluate(problem.middle)
    lengths = np.linalg.norm(jacobian, axis=0)
    stacked = np.concatenate([jacobian, np.sqrt(damping) * np.diag(lengths)])
    expected = np.linalg.lstsq(stacked, np.concatenate([-errors, 0 * lengths]), rcond=0)[0]
    step = damped_step(jacobian, errors, np.asarray(damping))
    np.testing.assert_allclose(step * lengths, expected * lengths, atol=1e-7 * np.linalg.norm(errors))


def test_a_column_of_zeros_gives_zero():
    jacobian = np.asarray([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    step = damped_step(jacobian, np.ones(3), np.asarray(1.0))
    np.testing.assert_allclose(step, [-6 / 14 / 2, 0.0], atol=1e-15)


@BARE
@given(seed=seeds, rank=st.integers(1, 8), boxed=st.booleans(), masked=st.booleans())
def test_steps_descend_within_the_box_and_keep_what_is_fixed(seed, rank, boxed, masked):
    problem = Problem.draw(seed, searches=(3,), rank=rank)
    free = np.random.default_rng(seed).uniform(size=problem.middle.shape) < 0.5 if masked else None
    state = problem.start().step(problem.evaluate)
    for _ in range(8):
        new = state.step(problem.evaluate, problem.box if boxed else None, free)
        np.testing.assert_array_equal(new.cost < state.cost, new.moved)
        assert np.all(new.cost <= state.cost)
        np.testing.assert_array_equal(np.any(new.unknowns != state.unknowns, axis=-1) & ~new.moved, False)
        np.testing.assert_array_equal(new.errors, problem.errors(new.unknowns))
        if boxed:
            assert np.all((new.unknowns >= problem.box.low) & (new.unknowns <= problem.box.high))
        if masked:
            np.testing.assert_array_equal(new.unknowns[~free], problem.middle[~free])
        state = new


@BARE
@given(seed=seeds, rank=st.integers(1, 8), searches=st.integers(1, 4))
def test_searches_side_by_side_are_each_search_alone(seed, rank, searches):
    problem = Problem.draw(seed, searches=(searches,), rank=rank)
    together = problem.start()
    alone = [Levenberg.start(middle, len(problem.target)) for middle in problem.middle]
    boxes = [Box(*ends) for ends in zip(*problem.box, strict=True)]
    for _ in range(5):
        together = together.step(problem.evaluate, problem.box)
        alone = [state.step(problem.evaluate, box) for state, box in zip(alone, boxes, strict=True)]
        for index, state in enumerate(alone):
            for batched, single in zip(jax.tree.leaves(together), jax.tree.leaves(state), strict=True):
                np.testing.assert_allclose(batched[index], single, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("searches", [(), (3,)], ids=["one search", "three"])
@pytest.mark.parametrize("boxed", [False, True], ids=["free", "boxed"])
def test_jax_and_numpy_take_the_same_steps(searches, boxed):
    problem = Problem.draw(7, searches)
    box = problem.box if boxed else None
    compiled = jax.jit(lambda state: state.step(problem.evaluate, box))
    plain, jitted = problem.start(), problem.start(jnp.asarray)
    for _ in range(6):
        plain, jitted = plain.step(problem.evaluate, box), compiled(jitted)
        for one, other in zip(jax.tree.leaves(plain), jax.tree.leaves(jitted), strict=True):
            assert isinstance(one, np.ndarray)
            assert isinstance(other, jax.Array)
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_single_precision_stays_single():
    with jax.enable_x64(False):
        matrix, target = jnp.eye(3, dtype=jnp.float32), jnp.ones(3, dtype=jnp.float32)
        state = Levenberg.start(jnp.zeros(3, dtype=jnp.float32), 3)
        step = jax.jit(lambda state: state.step(lambda u: (u - target, matrix)))
        for _ in range(20):
            state = step(state)
        assert {leaf.dtype for leaf in jax.tree.leaves(state) if leaf.dtype != bool} == {jnp.dtype("float32")}
        np.testing.assert_allclose(state.unknowns, target, rtol=1e-6)


def test_the_first_step_only_evaluates():
    problem = Problem.draw(3)
    state = problem.start().step(problem.evaluate)
    np.testing.assert_array_equal(state.unknowns, problem.middle)
    np.testing.assert_array_equal(state.errors, problem.errors(problem.middle))
    assert state.moved
    assert state.damping == FIRST_DAMPING


def test_damping_follows_the_gain():
    """A third where the linear model is right; 2, 4, 8, ... times as much while it promises what does not come."""
    right = Levenberg.start(np.ones(1), 1).step(lambda u: (u, np.ones((1, 1))))
    right = right.step(lambda u: (u, np.ones((1, 1))))
    np.testing.assert_allclose(right.damping, FIRST_DAMPING / 3)
    wrong = state = Levenberg.start(np.ones(1), 1).step(lambda u: (u, -np.ones((1, 1))))
    for factor in (2, 8, 64):
        wrong = wrong.step(lambda u: (u, -np.ones((1, 1))))
        assert not wrong.moved
        np.testing.assert_allclose(wrong.damping, FIRST_DAMPING * factor)
    np.testing.assert_array_equal(wrong.unknowns, state.unknowns)


@pytest.mark.parametrize("broken", ["errors", "jacobian"])
def test_where_it_is_not_finite_no_search_goes(broken):
    """u = 1 lies beyond 0.5, where nothing is defined: damping shortens the step until it stays in front."""

    def evaluate(u):
        beyond = np.where(u > 0.5, np.nan, 1.0)
        errors, jacobian = u - 1.0, np.ones((1, 1))
        return (errors * beyond, jacobian) if broken == "errors" else (errors / 2, jacobian * beyond[:, None])

    state = Levenberg.start(np.zeros(1), 1)
    for _ in range(10):
        state = state.step(evaluate)
    assert 0.0 < state.unknowns <= 0.5
    assert np.isfinite(state.cost)


def test_many_failures_overflow_nothing():
    state = Levenberg.start(np.zeros(2), 2).step(lambda u: (u + 1.0, -np.eye(2)))
    for _ in range(100):
        state = state.step(lambda u: (u + 1.0, -np.eye(2)))
    assert np.isfinite(state.damping)
    assert np.isfinite(state.growth)
