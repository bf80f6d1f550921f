"""Named boxes of physical parameters: their laws, their names, their errors."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, samples, uniform_distance

from prism import InputError, LogUniform, Uniform

COUNT = 4000
UNIFORM, LOGARITHMIC = Uniform(mu1=(0.5, 1.5), mu2=(-1.0, 3.0)), LogUniform(beta=(0.1, 10.0), nu=(2.0, 3.0))
every_space = pytest.mark.parametrize("space", [UNIFORM, LOGARITHMIC], ids=["uniform", "logarithmic"])


@every_space
def test_samples_have_the_law(space):
    drawn = np.asarray(samples(space, COUNT))
    inside = (drawn >= np.asarray(space.lows)) & (drawn <= np.asarray(space.highs))
    assert np.all(inside)
    scale = np.log if space is LOGARITHMIC else np.asarray
    for column, low, high in zip(drawn.T, space.lows, space.highs, strict=True):
        assert uniform_distance((scale(column) - scale(low)) / (scale(high) - scale(low))) < 1.95
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 4 / math.sqrt(COUNT)  # fixed key


@every_space
def test_the_generator_reads_mean_zero_and_variance_one(space):
    """Exactly, by a Gauss-Legendre rule that integrates squares of t(μ) without error."""
    nodes, weights = space.quadrature(25)
    standard = jax.vmap(space.standardise)(nodes)
    close(1 + weights @ standard, jnp.ones(2))
    close(weights @ standard**2, jnp.ones(2))
    ends = jnp.stack([space.standardise(jnp.asarray(side)) for side in (space.lows, space.highs)])
    close(ends, math.sqrt(3.0) * jnp.asarray([[-1.0, -1.0], [1.0, 1.0]]))
    close(1 + space.standardise(space.middle()), jnp.ones(2))


@every_space
@pytest.mark.parametrize(("nodes", "count"), [(1, 4), (16, 16), (36, 36)])
def test_quadrature_weights(space, nodes, count):
    points, weights = space.quadrature(nodes)
    assert points.shape == (count, 2)
    close(jnp.sum(weights), 1.0)
    assert jnp.all(weights > 0)
    assert jnp.all((points > jnp.asarray([space.lows])) & (points < jnp.asarray([space.highs])))


@pytest.mark.parametrize(("a", "b"), [(0, 0), (1, 0), (3, 2), (7, 7)])
def test_quadrature_integrates_polynomials(a, b):
    """Four nodes a side are exact to degree 7 in each parameter."""
    points, weights = UNIFORM.quadrature(16)
    mean = lambda low, high, k: (high ** (k + 1) - low ** (k + 1)) / ((k + 1) * (high - low))
    close(weights @ (points[:, 0] ** a * points[:, 1] ** b), mean(0.5, 1.5, a) * mean(-1.0, 3.0, b))


def test_quadrature_under_a_logarithmic_law():
    points, weights = LogUniform(beta=(0.1, 10.0)).quadrature(12)
    assert points.shape == (12, 1)
    close(1 + weights @ jnp.log(points[:, 0]), 1.0)
    close(weights @ jnp.log(points[:, 0]) ** 2, math.log(10.0) ** 2 / 3)
    close(weights @ points[:, 0], (10.0 - 0.1) / math.log(100.0))  # e^t: 12 nodes leave 1e-15


@pytest.mark.parametrize("size", [6, 7, 20])
def test_quadrature_of_many_parameters_needs_few_nodes(size):
    """2p nodes inside the box with every moment to the third degree, where a grid of that degree has 2^p."""
    points, weights = Uniform(**{f"mu{number}": (-1.0, 1.0) for number in range(size)}).quadrature(36)
    assert points.shape == (2 * size, size)
    assert float(jnp.max(jnp.abs(points))) < 1.0
    close(jnp.sum(weights), 1.0)
    close(1.0 + weights @ points, np.ones(size))
    close(1.0 + jnp.einsum("k,ki,kj->ij", weights, points, points), 1.0 + np.eye(size) / 3.0)
    close(1.0 + jnp.einsum("k,ki,kj,kl->ijl", weights, points, points, points), np.ones((size, size, size)))


@every_space
def test_names_and_order(space):
    first, second = space.names
    values = {second: 2.5, first: 0.75}
    mu = space.array(**values)
    np.testing.assert_array_equal(mu, [0.75, 2.5])
    named = space.named(mu)
    assert getattr(named, first) == 0.75
    assert getattr(named, second) == 2.5
    assert space.size == 2
    assert space.bounds() == {n: (a, b) for n, a, b in zip(space.names, space.lows, space.highs, strict=True)}


def test_a_name_that_is_not_there():
    with pytest.raises(InputError, match=r"mu\.mu3 does not exist; the parameters are mu1, mu2"):
        _ = UNIFORM.named(jnp.ones(2)).mu3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mu1": 1.0}, "no value for mu2; the parameters are mu1, mu2"),
        ({}, "no value for mu1, mu2"),
        ({"mu1": 1.0, "mu2": 1.0, "nu": 1.0}, "unknown nu; the parameters are mu1, mu2"),
        ({"mu1": 1.0, "nu": 1.0}, "no value for mu2"),
    ],
    ids=["one", "none", "more", "other"],
)
def test_arrays_name_every_parameter_once(values, message):
    with pytest.raises(InputError, match=message):
        UNIFORM.array(**values)


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize("kind", [Uniform, LogUniform])
@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((2.0, 1.0), r"the bounds of mu are \(2, 1\); give the lower one first, \(1, 2\)"),
        ((1.0, 1.0), r"the bounds of mu are \(1, 1\)"),
        ((1.0, INFINITY), "give finite numbers"),
        ((1.0, NAN), "give finite numbers"),
        ((NAN, 1.0), "give finite numbers|must be positive"),
        ((-INFINITY, 1.0), "give finite numbers|must be positive"),
    ],
    ids=["reversed", "empty", "infinite", "upper-nan", "lower-nan", "lower-infinite"],
)
def test_bounds_that_make_no_box(kind, bounds, message):
    with pytest.raises(InputError, match=message):
        kind(mu=bounds)


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_logarithms_need_positive_bounds(low):
    with pytest.raises(InputError, match=r"mu is log-uniform from .* must be positive"):
        LogUniform(mu=(low, 1.0))


@pytest.mark.parametrize("kind", [Uniform, LogUniform])
def test_a_space_without_parameters(kind):
    with pytest.raises(InputError, match="needs a parameter; name one"):
        kind()


def test_samples_depend_on_the_key():
    first, second = jax.random.split(KEY)
    assert not np.any(np.asarray(UNIFORM.sample(first)) == np.asarray(UNIFORM.sample(second)))
