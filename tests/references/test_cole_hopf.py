"""The formulas for HJB against each other, against sampling and against their equation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from prism.errors import InputError
from prism.formulas.cole_hopf import hjb_log_value, hjb_rosenbrock_value
from prism.numerics.keys import root
from prism.references.cole_hopf_quadrature import cole_hopf_monte_carlo, hjb_log, hjb_log_by_density, hjb_rosenbrock

MUS = (0.5, 1.0, 2.0)
DIMENSIONS = (1, *(pytest.param(dimension, marks=pytest.mark.slow) for dimension in (10, 250)), 1000)


def log_terminal(mu1):
    return lambda x: mu1 * jnp.log((1.0 + jnp.sum(x * x)) / 2.0)


def rosenbrock_terminal(first, second):
    form = lambda x: jnp.sum(first * (x[:-1] - x[1:]) ** 2) + jnp.sum(second * x[1:] ** 2)
    return lambda x: jnp.log((1.0 + form(x)) / 2.0)


def rosenbrock_case(dimension: int, mu1: float = 1.0, mu2: float = 1.0):
    """A point and weights, drawn."""
    draw = np.random.default_rng(dimension)
    first, second = mu1 * draw.uniform(0.5, 1.5, dimension - 1), mu2 * draw.uniform(0.5, 1.5, dimension - 1)
    return draw.normal(size=dimension), first, second


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("mu1", MUS)
def test_quadrature_agrees_with_the_chi_square_density(mu1, dimension):
    for squared_norm in (0.0, 0.5, 1.0 * dimension):
        for remaining in (0.01, 0.3, 1.0):
            found = hjb_log(squared_norm, remaining, mu1, dimension)
            assert found.uncertainty < 1e-11 * (1.0 + abs(found.value))  # rounding alone
            assert found.agrees(hjb_log_by_density(squared_norm, remaining, mu1, dimension))


@pytest.mark.parametrize(("mu1", "dimension"), [(0.5, 300), (1.0, 30), (2.0, 2)])
def test_log_agrees_with_sampling(mu1, dimension):
    x = np.random.default_rng(1).normal(size=dimension)
    sampled = cole_hopf_monte_carlo(log_terminal(mu1), x, 0.7, root(3), 4000)
    assert sampled.agrees(hjb_log(float(x @ x), 0.7, mu1, dimension))
    assert sampled.uncertainty < 0.15


@pytest.mark.parametrize("dimension", [2, 30, 300])
@pytest.mark.parametrize("mu1", MUS)
def test_rosenbrock_agrees_with_sampling(mu1, dimension):
    x, first, second = rosenbrock_case(dimension, mu1)
    sampled = cole_hopf_monte_carlo(rosenbrock_terminal(first, second), x, 0.7, root(3), 4000)
    assert sampled.agrees(hjb_rosenbrock(x, 0.7, first, second))


def test_rosenbrock_agrees_with_dense_matrices():
    x, a, b = rosenbrock_case(5)
    matrix = np.diag(np.append(a, 0.0) + np.append(0.0, a + b)) - np.diag(a, 1) - np.diag(a, -1)

    def integrand(tau: float) -> float:
        wide = np.eye(5) + 4.0 * 0.7 * tau * matrix
        return 2.0 * np.exp(-tau - tau * x @ matrix @ np.linalg.solve(wide, x)) / np.sqrt(np.linalg.det(wide))

    exact = -np.log(sum(quad(integrand, *ends, epsabs=1e-14, epsrel=1e-12)[0] for ends in ((0, 1), (1, 60))))
    assert hjb_rosenbrock(x, 0.7, a, b).value == pytest.approx(exact, abs=1e-10)  # quad's own tolerance


@pytest.mark.parametrize("wide", [False, True], ids=["float32", "float64"])
@pytest.mark.parametrize("dimension", [10, 250, 1000, 100_000])
def test_values_for_families_in_both_precisions(dimension, wide):
    tolerance = 1e-10 if wide else 1e-6  # of 30 nodes; of a family's exact solution in float32
    with jax.enable_x64(wide):
        value = jax.jit(jax.vmap(lambda s, t, mu1: hjb_log_value(s, t, mu1, dimension)))
        cases = [(s * dimension, t, mu1) for s in (0.0, 0.3, 2.0) for t in (1e-6, 0.1, 1.0) for mu1 in MUS]
        found = value(*(jnp.asarray(column, float) for column in zip(*cases, strict=True)))
        assert found.dtype == (jnp.float64 if wide else jnp.float32)
    exact = np.array([hjb_log(s, t, mu1, dimension).value for s, t, mu1 in cases])
    # Relative to u, or to 1 where g itself passes through zero.
    assert np.max(np.abs(np.asarray(found, float) - exact) / np.maximum(1.0, np.abs(exact))) < tolerance


@pytest.mark.parametrize("wide", [False, True], ids=["float32", "float64"])
@pytest.mark.parametrize("dimension", [100, 1000, 10_000])
def test_rosenbrock_in_both_precisions(dimension, wide):
    case = rosenbrock_case(dimension, 0.7, 1.3)
    tolerance = 1e-10 if wide else 1e-6
    with jax.enable_x64(wide):
        x, first, second = (jnp.asarray(part, float) for part in case)
        found = jax.jit(jax.vmap(hjb_rosenbrock_value, in_axes=(None, 0, None, None)))(
            x, jnp.asarray([0.05, 0.9]), first, second
        )
    for value, remaining in zip(found, (0.05, 0.9), strict=True):
        assert float(value) == pytest.approx(hjb_rosenbrock(case[0], remaining, *case[1:]).value, rel=tolerance)


def test_log_solves_its_equation():
    """With s = |x|² and θ = 1 − t:  −u_θ + 4s u_ss + 2d u_s − 4s u_s² = 0."""
    dimension, s, remaining = 20, jnp.asarray(13.0), jnp.asarray(0.4)

    def residual(mu1):
        function = lambda s, remaining: hjb_log_value(s, remaining, mu1, dimension)
        (slope, rate), (bend, _) = jax.jvp(lambda s: jax.grad(function, (0, 1))(s, remaining), (s,), (jnp.ones(()),))
        return (-rate + 4.0 * s * bend + 2.0 * dimension * slope - 4.0 * s * slope**2) / rate

    # The derivatives of 30 nodes, whose own error is 1e-12.
    assert np.max(np.abs(jax.jit(jax.vmap(residual))(jnp.asarray(MUS)))) < 1e-9


def test_rosenbrock_solves_its_equation():
    x, first, second = (jnp.asarray(part) for part in rosenbrock_case(40))

    @jax.jit
    def residual(x, remaining):
        along_space = lambda v: lambda h: hjb_rosenbrock_value(x + h * v, remaining, first, second)
        in_time = lambda remaining: hjb_rosenbrock_value(x, remaining, first, second)
        twice = lambda v: jax.jvp(lambda h: jax.jvp(along_space(v), (h,), (1.0,))[1], (0.0,), (1.0,))
        slopes, bends = jax.vmap(twice)(jnp.eye(len(x)))
        rate = jax.jvp(in_time, (remaining,), (jnp.ones(()),))[1]
        return (-rate + jnp.sum(bends) - jnp.sum(slopes * slopes)) / rate

    assert abs(float(residual(x, jnp.asarray(0.4)))) < 1e-6  # 16 nodes at d = 40


@pytest.mark.parametrize("wide", [False, True], ids=["float32", "float64"])
def test_derivatives_of_log(wide):
    """In s, 1 − t and μ₁, against differences of the host's values; finite at the edges."""
    dimension, at, step = 250, (100.0, 0.5, 0.8), 1e-4
    with jax.enable_x64(wide):
        function = jax.jit(jax.grad(lambda s, t, mu1: hjb_log_value(s, t, mu1, dimension), (0, 1, 2)))
        found = [float(part) for part in function(*(jnp.asarray(part) for part in at))]
        edges = function(jnp.asarray(0.0), jnp.asarray(1e-6), jnp.asarray(0.5))
    for index, derivative in enumerate(found):
        ends = [[*at[:index], at[index] + sign * step, *at[index + 1 :]] for sign in (1.0, -1.0)]
        above, below = (hjb_log(*end, dimension).value for end in ends)
        # Differences: rounding 1e-13/1e-4 and the third derivative; float32: six digits.
        assert derivative == pytest.approx((above - below) / (2.0 * step), rel=1e-6 if wide else 1e-5)
    assert all(np.isfinite(edge) for edge in edges)


def test_derivatives_of_rosenbrock_are_finite_at_the_edges():
    with jax.enable_x64(False):
        gradient = jax.jit(jax.grad(hjb_rosenbrock_value, (0, 1)))
        found = gradient(jnp.zeros(50), jnp.asarray(1e-6), jnp.ones(49), jnp.ones(49))
    assert all(np.all(np.isfinite(part)) for part in found)
    assert not np.any(found[0])


def test_at_the_end_it_is_the_terminal_state():
    """u − g = (Δg − |∇g|²)·remaining, less than 4d·1e-8."""
    x, first, second = rosenbrock_case(30)
    assert hjb_log(float(x @ x), 1e-8, 1.3, 30).value == pytest.approx(float(log_terminal(1.3)(x)), abs=2e-6)
    exact = float(rosenbrock_terminal(first, second)(x))
    assert hjb_rosenbrock(x, 1e-8, first, second).value == pytest.approx(exact, abs=2e-6)


def test_no_time_is_refused():
    with pytest.raises(InputError, match="remains"):
        hjb_log(1.0, 0.0, 1.0, 3)
