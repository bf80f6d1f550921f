"""The rows of a batch and their loss: with and without bias, with conditions, with the residual's gradient."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import BALL, KEY, D, Terms, by_name, close, mostly_slow, small_model, value_of

from prism import InputError, Laplacian, Prescribed, Sampling, Sphere
from prism.derivatives.estimators import Coordinates, Exact, Gaussian, Rademacher
from prism.numerics.keys import items
from prism.objective.batches import Batch
from prism.objective.residuals import residual
from prism.objective.rows import Objective, Slopes

CROSSED, PAIRED = Sampling(4, 3, crossed=True), Sampling(4, 4, crossed=False)
FAMILY = Terms(BALL, {"lap": Laplacian()})
MODEL = small_model(BALL)


def objective(estimator, sampling=CROSSED, family=FAMILY, scale: float = 2.0, independent: bool = False) -> Objective:
    return Objective(family, estimator, jnp.asarray(scale), sampling, independent)


def drawn(aim: Objective, key=KEY) -> Batch:
    # One operation at a time: random numbers take long to compile, and those of one shape are shared among the tests.
    return aim.draw(MODEL, key)


@eqx.filter_jit
def loss_of(aim: Objective, batch: Batch):
    return aim.loss(MODEL, batch)


SHARED = by_name((Rademacher(1), Coordinates(2), Gaussian(1)))


@pytest.mark.parametrize("estimator", mostly_slow(SHARED, "Coordinates(count=2)"))
def test_the_bias_of_a_shared_estimate_is_its_variance(estimator):
    """E[r̂²] = r² + Var r̂ and E[r̂ r̂'] = r², within 4 standard errors under a fixed key."""
    independent, exact = objective(estimator, independent=True), objective(Exact())

    batch = drawn(independent)

    @jax.jit
    @jax.vmap
    def draws(key):
        rows = independent.rows(MODEL, independent.redraw(MODEL, batch, key))
        return dataclasses.replace(rows, second=None).loss(), rows.loss(), rows.equation

    truth = loss_of(exact, drawn(exact))
    once, twice, residuals = map(np.asarray, draws(items(KEY, 10_000)))
    variance = np.mean(np.var(residuals, axis=0))
    error, its_error = (losses.std() / np.sqrt(len(losses)) for losses in (once, twice))
    assert variance > 20 * error  # the bias is plainly there
    assert abs(once.mean() - truth - variance) < 4 * error
    assert abs(twice.mean() - truth) < 4 * its_error


def test_the_loss_is_the_mean_square():
    aim = objective(Exact())
    batch = drawn(aim)
    assert batch.points.shape == (4, D)
    assert batch.parameters.shape == (3, 2)
    loss, residuals = loss_of(aim, batch), eqx.filter_jit(aim.equations)(MODEL, batch, batch.draws)
    assert residuals.shape == (4 * 3,)
    close(loss, jnp.mean(residuals**2))
    twice = objective(Exact(), independent=True)
    close(loss, loss_of(twice, drawn(twice)))
    close(loss, loss_of(objective(Exact(), scale=1.0), batch) / 4)


@pytest.mark.parametrize("independent", [False, True])
def test_other_directions_are_drawn_as_the_first_were(independent):
    aim = objective(Gaussian(2), independent=independent)
    batch = drawn(aim)
    again = aim.redraw(MODEL, batch, jax.random.fold_in(KEY, 1))
    assert jax.tree.structure(again) == jax.tree.structure(batch)
    assert eqx.tree_equal(aim.redraw(MODEL, batch, KEY), batch)


class Conditioned(Terms):
    """Two conditions of different weights and sizes."""

    @property
    def conditions(self):
        sphere, value = Sphere(D, 0.7), lambda x, mu: mu.mu1 * x[0]
        return {
            "heavy": Prescribed(sphere, value, points=30, weight=4.0),
            "light": Prescribed(sphere, lambda x, mu: mu.mu2, points=7),
        }


def test_conditions_are_rows_of_their_own():
    family = Conditioned(BALL, {"lap": Laplacian()})
    aim = dataclasses.replace(objective(Exact(), PAIRED, family), condition_scale=jnp.asarray(3.0))

    batch = drawn(aim)

    @jax.jit
    def parts():
        u = lambda t: (1 - t.x @ t.x / BALL.radius**2) * value_of(MODEL, t.x, t.mu)
        misses = [jax.vmap(lambda t: u(t) - t.value)(targets) for targets in batch.targets]
        return aim.rows(MODEL, batch), aim.loss(MODEL, batch), misses

    rows, loss, misses = parts()
    for found, miss, weight, count in zip(rows.conditions, misses, (4.0, 1.0), (30, 7), strict=True):
        assert miss.shape == (count,)
        close(found, weight**0.5 * miss / 3.0)
    close(loss, jnp.mean(rows.equation**2) + sum(jnp.mean(row**2) for row in rows.conditions))


# The residual's gradient


@pytest.fixture(scope="module")
def slopes() -> tuple[Objective, Batch, np.ndarray]:
    """An objective with slopes in units of 7, a batch, and ∇ₓr of its pairs by nested differentiation."""
    aim = dataclasses.replace(objective(Exact(), PAIRED), slopes=Slopes(), slope_scale=jnp.asarray(7.0))
    batch = drawn(aim)
    at = lambda x, mu: residual(MODEL, FAMILY, batch.draws, x, mu)
    return aim, batch, np.asarray(jax.jit(jax.vmap(jax.jacfwd(at)))(batch.points, batch.parameters))


def test_the_whole_gradient_is_part_of_the_loss(slopes):
    aim, batch, gradients = slopes
    expected = np.mean(np.sum((gradients / 7.0) ** 2, axis=1))
    close(loss_of(aim, batch) - loss_of(dataclasses.replace(aim, slopes=None), batch), expected)


def test_the_gradient_at_one_pair(slopes):
    """Whole, beside the residual; and along one vector."""
    aim, batch, gradients = slopes
    v = jnp.linspace(-1.0, 1.0, D)

    @jax.jit
    def at_first():
        pair = batch.pairs().first()
        return aim.equation(MODEL, pair), aim.equation_and_slopes(MODEL, pair), aim.slope(MODEL, pair, v)

    equation, (same, gradient), along = at_first()
    close(equation, same)
    close(gradient, gradients[0] / 7.0)
    close(along, gradients[0] @ v / 7.0)


def test_sampled_directions_give_it_in_the_mean(slopes):
    aim, batch, gradients = slopes
    sampled = dataclasses.replace(aim, slopes=Slopes(2))

    @jax.jit
    @jax.vmap
    def estimates(key):
        along = lambda pair: sampled.slope_directions(pair)
        vectors = dataclasses.replace(batch, keys=items(key, 4)).pairs().vmap(along)
        return jnp.mean(jnp.sum(jnp.einsum("nkd,nd->nk", vectors, jnp.asarray(gradients)) ** 2, axis=1) / 2 / 49.0)

    draws = np.asarray(estimates(items(KEY, 3_000)))
    expected = np.mean(np.sum((gradients / 7.0) ** 2, axis=1))
    assert abs(draws.mean() - expected) < 4 * draws.std() / len(draws) ** 0.5
    part = loss_of(sampled, batch) - loss_of(dataclasses.replace(aim, slopes=None), batch)
    vectors = np.asarray(batch.pairs().vmap(sampled.slope_directions))
    close(part, np.mean(np.sum(np.einsum("nkd,nd->nk", vectors, gradients / 7.0) ** 2, axis=1) / 2))


def test_slopes_along_no_direction_are_refused():
    with pytest.raises(InputError, match=r"Slopes\(0\) takes no direction; give 1 or more"):
        Slopes(0)
