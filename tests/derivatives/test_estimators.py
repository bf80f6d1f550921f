"""Laws of directions: subsets are uniform, moments are right, sparse and dense directions say the same."""

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import ESTIMATORS, KEY, D, close, name_of

from prism import InputError
from prism.derivatives.directions import Dense, Sparse, along_axes
from prism.derivatives.estimators import EXAMPLES, Coordinates, Exact, Gaussian, Rademacher, random_subset

DRAWS = 20_000


def subsets(dimension: int, count: int, draws: int = DRAWS) -> np.ndarray:
    keys = jax.random.split(KEY, draws)
    return np.asarray(jax.jit(jax.vmap(lambda key: random_subset(key, dimension, count)))(keys))


@pytest.mark.parametrize(("dimension", "count"), [(5, 1), (5, 2), (6, 3), (5, 4), (7, 6)])
def test_random_subsets_are_uniform(dimension, count):
    """χ² over all C(d, n) subsets; its mean is cells − 1 and its deviation √(2 (cells − 1)): 4 of them, fixed key."""
    chosen = np.sort(subsets(dimension, count), axis=1)
    cells = {subset: 0 for subset in itertools.combinations(range(dimension), count)}
    for subset in map(tuple, chosen.tolist()):
        cells[subset] += 1  # a KeyError here is a repeat or an index out of range
    seen, fair = np.array(list(cells.values())), DRAWS / len(cells)
    freedom = len(cells) - 1
    assert np.sum((seen - fair) ** 2) / fair < freedom + 4 * math.sqrt(2 * freedom)


@pytest.mark.parametrize(("dimension", "count"), [(1, 1), (4, 4), (40, 40), (10**6, 30)])
def test_random_subsets_have_no_repeats(dimension, count):
    chosen = np.sort(subsets(dimension, count, 50), axis=1)
    assert chosen.min() >= 0
    assert chosen.max() < dimension
    assert np.all(np.diff(chosen, axis=1) > 0)


def isotropic(order: int) -> np.ndarray:
    """δ_ij, or the symmetric part of δ_ij δ_kl."""
    delta = np.eye(D)
    if order == 2:
        return delta
    return sum(np.einsum(f"{pair}->ijkl", delta, delta) for pair in ("ij,kl", "ik,jl", "il,jk")) / 3


def tensors(estimator, order: int, keys) -> np.ndarray:
    """Σ_j w_j v_j ⊗ ... ⊗ v_j for every key."""

    @jax.jit
    @jax.vmap
    def tensor(key):
        drawn = estimator.decompose(order, D, key)
        product = weights = drawn.weights
        for axis in range(order):
            vectors = drawn.directions.dense(D).reshape(len(weights), *[1] * axis, D)
            product = product[..., None] * vectors
        return jnp.sum(product, axis=0)

    return np.asarray(tensor(keys))


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("estimator", [*ESTIMATORS, Coordinates(2), Coordinates(D)], ids=name_of)
def test_the_mean_tensor_is_isotropic(estimator, order):
    """Every entry within 5 standard errors (up to 70 different entries, so 4 would now and then be too few)."""
    if order not in estimator.unbiased_orders:
        with pytest.raises(InputError, match="biased"):
            estimator.decompose(order, D, KEY)
        return
    drawn = tensors(estimator, order, jax.random.split(KEY, 5_000))
    error = drawn.std(axis=0) / math.sqrt(len(drawn))
    assert error.max() < 0.1
    assert np.all(np.abs(drawn.mean(axis=0) - isotropic(order)) < 5 * error + 1e-12)
    if estimator in (Exact(), Coordinates(D)):
        assert error.max() < 1e-14


def test_unbiased_orders_are_not_claimed_in_vain():
    """Where an estimator refuses, it would indeed be wrong."""
    for estimator in (Rademacher(4), Coordinates(1)):
        drawn = np.asarray(jax.vmap(lambda key, e=estimator: quartic(e, key))(jax.random.split(KEY, 5_000)))
        error = drawn.std(axis=0) / math.sqrt(len(drawn))
        assert np.max(np.abs(drawn.mean(axis=0) - isotropic(4))[np.nonzero(isotropic(4))]) > 0.1 + 5 * error.max()


def quartic(estimator, key):
    drawn = estimator.draw(4, D, key) if isinstance(estimator, Coordinates) else estimator.draw(2, D, key)
    v = drawn.directions.dense(D)
    return jnp.einsum("n,ni,nj,nk,nl->ijkl", drawn.weights, v, v, v, v)


@pytest.mark.parametrize("estimator", EXAMPLES.values(), ids=EXAMPLES)
def test_examples_cover_the_order_they_are_named_for(estimator):
    assert 2 in estimator.unbiased_orders


def test_different_keys_draw_different_directions():
    first, second = jax.random.split(KEY)
    for estimator in ESTIMATORS[1:]:
        a, b = (estimator.decompose(2, 100, key).directions for key in (first, second))
        assert not eqx.tree_equal(a, b)


@pytest.mark.parametrize("kind", [Coordinates, Rademacher, Gaussian])
@pytest.mark.parametrize("count", [0, -1, True])
def test_counts_are_whole_and_positive(kind, count):
    with pytest.raises(InputError, match=rf"{kind.__name__}\({count}\): give a whole number of 1 or more"):
        kind(count)


def test_shared_is_a_setting_of_its_own():
    assert Exact().shared
    for kind in (Coordinates, Rademacher, Gaussian):
        assert not kind(2).shared
        assert kind(2, shared=True).shared


COORDINATES, WIDTH = D + 1, 3
SPARSE = Sparse(jnp.asarray([[0, 3], [4, 1], [2, 0]]), jnp.asarray([[1.0, -2.0], [0.5, 3.0], [1.0, 1.0]]))
DIRECTIONS = {
    "axes": along_axes(jnp.asarray([3, 0]), jnp.ones(2)).directions,
    "sparse": SPARSE,
    "dense": Dense(jax.random.normal(KEY, (4, D))),
    "isotropic": Exact().decompose(4, D, KEY).directions,
    "polar": Coordinates(3).decompose(4, D, KEY).directions,
}


@pytest.mark.parametrize("directions", DIRECTIONS.values(), ids=DIRECTIONS)
def test_directions_agree_with_their_vectors(directions):
    """In D + 1 coordinates, of which the last (time) is in no direction."""
    vectors = directions.dense(COORDINATES)
    x, matrix = jax.random.normal(KEY, (COORDINATES,)), jax.random.normal(KEY, (COORDINATES, WIDTH))
    close(vectors[:, D], jnp.zeros(len(vectors)))
    close(directions.inner(x), vectors @ x)
    close(directions.through(matrix), vectors @ matrix)
    close(directions.squared_norms(), jnp.sum(vectors**2, axis=1))
    close(directions.scaled(x).dense(COORDINATES), vectors * x[None])
    close(directions.scaled(x).squared_norms(), jnp.sum((vectors * x[None]) ** 2, axis=1))
