"""Laws of directions: subsets are uniform, mean tensors are isotropic, what would be biased is refused."""

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import ESTIMATORS, KEY, D, close, decomposed, mostly_slow, name_of

from prism import InputError
from prism.derivatives.directions import Gradients, View
from prism.derivatives.estimators import (
    EXAMPLES,
    Coordinates,
    Exact,
    Gaussian,
    Gram,
    Rademacher,
)
from prism.derivatives.spans import inverse_root
from prism.numerics.random import random_subset

DRAWS = 20_000
WIDTH = 2


def linear_view(weight, x) -> View:
    """Where all channels are linear."""
    return View(Gradients(jnp.asarray(weight), jnp.zeros((len(weight), 0))), x)


NONE = jnp.zeros((D, 0))
WEIGHT = jnp.asarray(np.random.default_rng(0).normal(size=(D, WIDTH)))
VIEW = linear_view(WEIGHT, jnp.linspace(-0.7, 0.9, D))
"""What a network of two channels sees of the space."""


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


def tensor_of(drawn, order: int):
    """Σ_j w_j v_j ⊗ ... ⊗ v_j of a decomposition."""
    product = weights = drawn.weights
    for axis in range(order):
        vectors = drawn.directions.dense(D).reshape(len(weights), *[1] * axis, D)
        product = product[..., None] * vectors
    return jnp.sum(product, axis=0)


def tensors(estimator, order: int, count: int = 5_000, view: View = VIEW) -> np.ndarray:
    """Of so many draws."""
    draw = lambda key: tensor_of(decomposed(estimator, order, D, key, view), order)
    return np.asarray(jax.jit(jax.vmap(draw))(jax.random.split(KEY, count)))


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("estimator", [*ESTIMATORS, Coordinates(2), Coordinates(D)], ids=name_of)
def test_the_mean_tensor_is_isotropic(estimator, order):
    """Every entry within 5 standard errors (up to 70 different entries, so 4 would now and then be too few)."""
    if order not in estimator.unbiased_orders:
        with pytest.raises(InputError, match="biased"):
            decomposed(estimator, order, D, KEY, VIEW)
        return
    drawn = tensors(estimator, order)
    error = drawn.std(axis=0) / math.sqrt(len(drawn))
    assert error.max() < 0.1
    assert np.all(np.abs(drawn.mean(axis=0) - isotropic(order)) < 5 * error + 1e-12)
    if estimator in (Exact(), Coordinates(D)):
        assert error.max() < 1e-14


FIRST, SECOND = WEIGHT[:, :1], WEIGHT[:, 1:]
DEGENERATE = {
    "a channel of zeros": (WEIGHT.at[:, 1].set(0.0), NONE),
    "two equal channels": (WEIGHT.at[:, 1].set(WEIGHT[:, 0]), NONE),
    "two parallel channels": (WEIGHT.at[:, 1].set(-0.3 * WEIGHT[:, 0]), NONE),
    "nothing but zeros": (jnp.zeros_like(WEIGHT), NONE),
    "a gradient of zeros": (FIRST, jnp.zeros_like(SECOND)),
    "a gradient that a linear channel has": (FIRST, -3.0 * FIRST),
    "two equal gradients": (NONE, jnp.concatenate([FIRST, 2.0 * FIRST], axis=1)),
    "the point among the gradients": (FIRST, VIEW.x[:, None]),
}


FURTHER = {"a channel of zeros", "two equal channels", "a gradient of zeros"}


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize(("linear", "own"), mostly_slow(DEGENERATE, *DEGENERATE.keys() - FURTHER))
def test_a_lift_of_lower_rank_leaves_gram_without_bias(linear, own, order):
    """As lifts are at first, whose affine channels begin at zero: every entry within 5 standard errors."""
    drawn = tensors(Gram(), order, view=View(Gradients(linear, own), VIEW.x))
    error = drawn.std(axis=0) / math.sqrt(len(drawn))
    assert error.max() < 0.1
    assert np.all(np.abs(drawn.mean(axis=0) - isotropic(order)) < 5 * error + 1e-6)  # the jitter of a singular root


@pytest.mark.parametrize("x", [0.7 * WEIGHT[:, 0] - WEIGHT[:, 1], jnp.zeros(D)], ids=["in the span", "the centre"])
@pytest.mark.parametrize("order", [2, 4])
def test_a_point_in_the_span_leaves_gram_without_bias(x, order):
    drawn = tensors(Gram(), order, view=linear_view(WEIGHT, x))
    error = drawn.std(axis=0) / math.sqrt(len(drawn))
    assert error.max() < 0.1
    assert np.all(np.abs(drawn.mean(axis=0) - isotropic(order)) < 5 * error + 1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_channels_in_the_span_of_others_are_counted(dtype):
    """The rest of the space has as many dimensions as there are, whatever the width: f stands for them. To the root of
    the machine epsilon; a length of rounding over rounding in place of zero is off by a tenth and more."""
    generator = np.random.default_rng(1)
    rest = jax.jit(lambda view: Gram().draw(2, D, view.width, KEY).at(view).directions.rest_dimension)
    for rank, width in ((1, 2), (2, 3)):
        for _ in range(10):
            weight = generator.normal(size=(D, rank)) @ generator.normal(size=(rank, width))
            view = linear_view(weight.astype(dtype), jnp.ones(D, dtype))
            np.testing.assert_allclose(rest(view), D - rank - 1.0, rtol=np.finfo(dtype).eps ** 0.5)


@pytest.mark.parametrize("estimator", [Rademacher(4), Coordinates(1), Gram(1)], ids=name_of)
def test_unbiased_orders_are_not_claimed_in_vain(estimator):
    """Where an estimator refuses, it would indeed be wrong."""
    fourth = lambda key: tensor_of(estimator.law(4, D, WIDTH, key).at(VIEW), 4)
    drawn = np.asarray(jax.jit(jax.vmap(fourth))(jax.random.split(KEY, 5_000)))
    error = drawn.std(axis=0) / math.sqrt(len(drawn))
    assert np.max(np.abs(drawn.mean(axis=0) - isotropic(4))[np.nonzero(isotropic(4))]) > 0.1 + 5 * error.max()


@pytest.mark.parametrize("own", mostly_slow({"0": 0, "1": 1, "2": 2}, "1"))
def test_inside_the_span_gram_leaves_nothing_to_chance(own):
    """Wᵀ(Σ_j w_j v_j v_jᵀ)W = WᵀW for every draw: the Laplacian of the network alone has no variance. Nor has Δ²."""
    view = View(Gradients(WEIGHT[:, own:], WEIGHT[:, :own]), VIEW.x)
    seen = np.einsum("kh,nkl,lm->nhm", WEIGHT, tensors(Gram(), 2, 20, view), WEIGHT)
    close(seen, np.broadcast_to(WEIGHT.T @ WEIGHT, seen.shape))
    project = lambda tensor: np.einsum("...ijkl,ia,jb,kc,ld->...abcd", tensor, WEIGHT, WEIGHT, WEIGHT, WEIGHT)
    seen = project(tensors(Gram(), 4, 20, view))
    close(seen, np.broadcast_to(project(isotropic(4)), seen.shape))


@pytest.mark.parametrize("estimator", EXAMPLES.values(), ids=EXAMPLES)
def test_examples_cover_the_order_they_are_named_for(estimator):
    assert 2 in estimator.unbiased_orders


def test_different_keys_draw_different_directions():
    first, second = jax.random.split(KEY)
    for estimator in ESTIMATORS[1:]:
        a, b = (estimator.draw(2, 100, WIDTH, key) for key in (first, second))
        assert not eqx.tree_equal(a, b)


@pytest.mark.parametrize("kind", [Coordinates, Rademacher, Gaussian, Gram])
@pytest.mark.parametrize("count", [0, -1, True])
def test_counts_are_whole_and_positive(kind, count):
    with pytest.raises(InputError, match=rf"{kind.__name__}\({count}\): give a whole number of 1 or more"):
        kind(count)


def test_shared_is_a_setting_of_its_own():
    for kind in (Exact, Gram):  # without variance, or with what little the rest of the space has
        assert kind().shared
    for kind in (Coordinates, Rademacher, Gaussian):
        assert not kind(2).shared
        assert kind(2, shared=True).shared
    assert not Gram(2, shared=False).shared


def test_a_lift_wider_than_the_space_needs_the_coordinates_only():
    view = linear_view(jnp.ones((D, D - 1)), jnp.zeros(D))
    assert eqx.tree_equal(decomposed(Gram(), 2, D, KEY, view), decomposed(Exact(), 2, D, KEY))
    assert eqx.tree_equal(decomposed(Gram(3), 2, D, KEY, view), decomposed(Rademacher(3), 2, D, KEY))


def test_a_vanishing_channel_does_no_harm():
    weight = np.random.default_rng(0).normal(size=(9, 4))
    weight[:, 1], weight[:, 3] = 0.0, weight[:, 0]
    inverse = np.asarray(inverse_root(jnp.asarray(weight.T @ weight), len(weight)))
    basis = weight @ inverse
    projector = basis @ basis.T
    close(jnp.asarray(projector @ weight), weight, tolerance=1e-6)


def test_what_gram_cannot_do_is_said():
    with pytest.raises(InputError, match="biased"):
        decomposed(Gram(1), 4, D, KEY, VIEW)
    with pytest.raises(InputError, match="looks at the network's lift"):
        decomposed(Gram(), 2, D, KEY)
    with pytest.raises(InputError, match="looks at the network's lift"):
        Gram().draw(2, D, WIDTH + 1, KEY).at(VIEW)


def test_order_4_without_a_channel_to_span():
    """As behind a lift whose channels all skip the manifold: the point and the rest of the space are left."""
    view = linear_view(np.zeros((D, 0)), VIEW.x)
    drawn = tensors(Gram(), 4, view=view)
    error = drawn.std(axis=0) / math.sqrt(len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - isotropic(4)) < 5 * error + 1e-12)
    x = VIEW.x
    along_point = np.einsum("nijkl,i,j,k,l->n", drawn, x, x, x, x)
    close(along_point, np.full(len(drawn), float(x @ x) ** 2))


def test_more_coordinates_than_there_are():
    with pytest.raises(InputError, match=r"use Exact\(\)"):
        decomposed(Coordinates(D + 1), 4, D, KEY)
