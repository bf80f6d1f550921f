"""One batch: how many pairs, in which order, and every part of it from a key of its own."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import BALL, ESTIMATORS, KEY, D, Terms, by_name, close, mostly_slow, name_of, small_model

from prism import InputError, Laplacian, Partial, Prescribed, Sphere
from prism.derivatives.estimators import Exact, Gaussian, Gram, Rademacher
from prism.objective.batches import Batch, Sampling, draw_batch, pair_at, redraw
from prism.objective.residuals import batch_residuals, residual

CROSSED, PAIRED = Sampling(4, 3, crossed=True), Sampling(4, 4, crossed=False)
FAMILY = Terms(BALL, {"lap": Laplacian()})
MODEL = small_model(BALL)
WIDTH = MODEL.lift.width


def drawn(estimator, sampling: Sampling = CROSSED, key=KEY, family=FAMILY, twice: bool = False) -> Batch:
    # One operation at a time: random numbers take long to compile, and those of one shape are shared among the tests.
    return draw_batch(family, estimator, sampling, WIDTH, twice, key)


at_point = jax.jit(lambda draws, x, mu: residual(MODEL, FAMILY, draws, x, mu))
at_batch = eqx.filter_jit(lambda batch: batch_residuals(MODEL, FAMILY, batch))


LOOPED = by_name((*ESTIMATORS, Rademacher(2, shared=True)))


@pytest.mark.parametrize("estimator", mostly_slow(LOOPED, "Gram(count=2)", "Rademacher(count=2, shared=True)"))
def test_a_batch_is_a_loop_over_its_pairs(estimator):
    """Directions belong to a point, the same for every μ, or to the batch."""
    crossed = drawn(estimator, Sampling(4, 4, crossed=True))
    paired = dataclasses.replace(crossed, crossed=False)
    of_point = lambda i: crossed.draws if estimator.shared else jax.tree.map(lambda leaf: leaf[i], crossed.draws)
    places = [(of_point(i), x) for i, x in enumerate(crossed.points)]
    table = np.asarray([[at_point(draws, x, mu) for mu in crossed.parameters] for draws, x in places])
    close(at_batch(crossed), np.ravel(table))
    close(at_batch(paired), np.diag(table))


@pytest.mark.parametrize("sampling", [CROSSED, PAIRED], ids=["crossed", "paired"])
@pytest.mark.parametrize("estimator", mostly_slow(by_name((Gaussian(4), Gram(2))), "Gram(count=2)"))
def test_pairs_come_in_the_order_of_the_residuals(estimator, sampling):
    """Point by point, each with its parameters; in chunks, at once, and the first alone."""
    batch = drawn(estimator, sampling)
    at = lambda pair: residual(MODEL, FAMILY, pair.draws, pair.x, pair.mu)
    expected = at_batch(batch)
    for found in eqx.filter_jit(lambda batch: (batch.pairs().map(at), batch.pairs().vmap(at)))(batch):
        close(found, expected)
    first = batch.pairs().first()
    close(at_point(first.draws, first.x, first.mu), expected[0])
    assert len(batch.pairs()) == sampling.pairs == len(expected)


def test_batches_depend_on_their_key_and_stay_inside():
    first, second = (drawn(Gaussian(2), key=key) for key in jax.random.split(KEY))
    for a, b in zip(parts(first), parts(second), strict=True):
        assert not np.any(np.asarray(a) == np.asarray(b))
    assert not np.any(jax.random.key_data(first.keys) == jax.random.key_data(second.keys))
    assert jnp.all(jnp.linalg.norm(first.points, axis=1) < BALL.radius)
    assert jnp.all((first.parameters > 0.5) & (first.parameters < 1.5))


def parts(batch: Batch) -> list:
    return [batch.points, batch.parameters, batch.draws[0].directions.vectors]


@pytest.mark.parametrize("estimator", [Gaussian(2), Gaussian(2, shared=True), Gram(2)], ids=name_of)
def test_new_directions_leave_everything_else(estimator):
    batch = drawn(estimator)
    again = redraw(batch, FAMILY, estimator, WIDTH, jax.random.fold_in(KEY, 1))
    assert jax.tree.structure(again) == jax.tree.structure(batch)
    assert not eqx.tree_equal(again.draws, batch.draws)
    assert eqx.tree_equal(dataclasses.replace(again, draws=batch.draws), batch)


def test_a_second_draw_is_independent_of_the_first():
    batch = drawn(Gaussian(1), Sampling(2_000, 2_000), twice=True)
    first, second = (np.ravel(draws[0].directions.vectors) for draws in (batch.draws, batch.second_draws))
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(len(first))
    assert drawn(Gaussian(1)).second_draws is None


class Conditioned(Terms):
    @property
    def conditions(self):
        value = lambda x, mu: mu.mu1 * x[0]
        return {name: Prescribed(Sphere(D, 1.2), value, points=COUNT) for name in ("first", "second")}


COUNT = 4_000


def test_all_that_is_drawn_together_is_independent():
    """Points, parameters, directions and the targets of each condition: correlations of their coordinates, of the
    directions of points and of radii stay within 4.5 standard errors (some hundred of them), under a fixed key. Draws
    that share a key have a correlation of one somewhere."""
    family = Conditioned(BALL, {"lap": Laplacian(), "u_x": Partial(0)})
    batch = drawn(Gaussian(1), Sampling(COUNT, COUNT), family=family)
    first, second = batch.targets
    units = lambda x: x / jnp.linalg.norm(x, axis=1)[:, None]
    columns = [
        jnp.linalg.norm(batch.points, axis=1)[:, None],
        units(batch.points),
        batch.parameters,
        batch.draws[0].directions.vectors[:, 0],
        units(first.x),
        units(second.x),
        first.mu,
        second.mu,
        jax.vmap(jax.random.normal)(batch.keys)[:, None],
    ]
    correlations = np.corrcoef(np.concatenate(columns, axis=1).T)
    assert np.max(np.abs(correlations - np.eye(len(correlations)))) < 4.5 / np.sqrt(COUNT)


def test_a_pair_at_a_given_parameter():
    mu = jnp.asarray([0.7, 1.2])
    one, same, other = (pair_at(FAMILY, Gaussian(2), mu, WIDTH, k) for k in (KEY, KEY, jax.random.fold_in(KEY, 1)))
    assert eqx.tree_equal(one, same)
    close(one.mu, mu)
    assert jnp.linalg.norm(one.x) < BALL.radius
    assert not np.any(np.asarray(one.x) == np.asarray(other.x))
    assert not np.any(np.asarray(one.draws[0].directions.vectors) == np.asarray(other.draws[0].directions.vectors))


def test_what_the_batch_shares():
    family = Terms(BALL, {"lap": Laplacian(), "u_x": Partial(0)})
    own, common = drawn(Gaussian(2), family=family), drawn(Exact(), family=family)
    assert (own.shared, common.shared) == ((False, True), (True, True))
    assert own.draws[0].weights.shape == (4, 2)
    assert common.draws[0].weights.shape == (D,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": 0}, "points=0 makes a batch of nothing; give 1 or more"),
        ({"params": -2}, "params=-2 makes a batch of nothing"),
        ({"points": 5, "params": 3, "crossed": False}, "points=5 and params=3 do not pair up, one parameter per point"),
    ],
    ids=["points", "params", "pairs"],
)
def test_samplings_that_make_no_batch(arguments, message):
    with pytest.raises(InputError, match=message):
        Sampling(**arguments)


def test_how_many_pairs():
    assert Sampling(5, 3, crossed=True).pairs == 15
    assert Sampling(5, 5, crossed=False).pairs == 5
    assert Sampling(5, 3, crossed=True).with_points(2) == Sampling(2, 3, crossed=True)
    assert Sampling(5, 5).with_points(2) == Sampling(2, 2)
