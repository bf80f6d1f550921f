"""One batch: all pairs or one parameter a point, work shared among parameters, losses with and without bias."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import ESTIMATORS, FAMILIES, KEY, D, Terms, close, name_of, small_model

from prism import Ball, InputError, Laplacian, Sampling
from prism.derivatives.estimators import Coordinates, Exact, Gaussian, Rademacher
from prism.families import AllenCahn, Poisson
from prism.networks.model import Model
from prism.objective.objective import Batch, Objective, Slopes, calibrate
from prism.objective.residuals import residual, solution_value

CROSSED, PAIRED = Sampling(4, 3, crossed=True), Sampling(4, 4, crossed=False)
FAMILY = Terms(Ball(D), {"lap": Laplacian()})
MODEL = small_model(FAMILY.domain)


def objective(estimator, sampling=CROSSED, family=FAMILY, scale: float = 2.0, independent: bool = False) -> Objective:
    return Objective(family, estimator, jnp.asarray(scale), sampling, independent)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, Rademacher(2, shared=True)], ids=name_of)
def test_a_batch_is_a_loop_over_its_pairs(estimator):
    generator = np.random.default_rng(2)
    x, mu = generator.uniform(-0.4, 0.4, (4, D)), generator.uniform(0.5, 1.5, (4, 2))
    one = eqx.filter_jit(functools.partial(residual, MODEL, FAMILY, estimator))
    # A shared bundle of directions has one key for all points, others one a point, the same for every μ.
    keys = [KEY] * 4 if estimator.shared else jax.random.split(KEY, 4)
    table = np.asarray([[one(a, b, key) for b in jnp.asarray(mu)] for a, key in zip(jnp.asarray(x), keys, strict=True)])

    @jax.jit
    def batches():
        crossed, paired = (
            objective(estimator, sampling).residuals(MODEL, Batch(jnp.asarray(x), jnp.asarray(mu), KEY), KEY)
            for sampling in (Sampling(4, 4, crossed=True), PAIRED)
        )
        return crossed, paired

    crossed, paired = batches()
    close(crossed, table / 2.0)
    close(paired, np.diag(table) / 2.0)


@eqx.filter_jit
def drawn(aim: Objective, key=KEY) -> Batch:
    return aim.draw(key)


def test_batches_depend_on_their_key_and_stay_inside():
    first, second = (drawn(objective(Exact()), key) for key in jax.random.split(KEY))
    for a, b in ((first.points, second.points), (first.parameters, second.parameters)):
        assert not np.any(np.asarray(a) == np.asarray(b))
    assert first.key != second.key
    assert jnp.all(jnp.linalg.norm(first.points, axis=1) < 1)
    assert jnp.all((first.parameters > 0.5) & (first.parameters < 1.5))


def flops(sampling: Sampling, estimator) -> float:
    """Of the residuals of a batch in 4,000 dimensions, where the lift is nearly all the work."""
    family = Terms(Ball(4000), {"lap": Laplacian()})
    aim, (arrays, static) = (
        objective(estimator, sampling, family),
        eqx.partition(small_model(family.domain), eqx.is_array),
    )
    batch = Batch(jnp.zeros((sampling.points, 4000)), jnp.ones((sampling.params, 2)), KEY)
    run = jax.jit(lambda arrays, batch, key: aim.residuals(eqx.combine(arrays, static), batch, key))
    return run.lower(arrays, batch, KEY).compile().cost_analysis()["flops"]


@pytest.mark.parametrize("estimator", [Coordinates(2), Rademacher(2)], ids=name_of)
def test_what_depends_on_x_alone_is_done_once_a_point(estimator):
    one, eight, apart = (
        flops(Sampling(*counts), estimator) for counts in ((8, 1, True), (8, 8, True), (64, 64, False))
    )
    assert one > 8 * 2 * 4000 * MODEL.lift.width  # x W of eight points is in it
    assert eight < 1.25 * one
    assert apart > 6 * one


@pytest.mark.parametrize("estimator", [Rademacher(1), Coordinates(2), Gaussian(1)], ids=name_of)
def test_the_bias_of_a_shared_estimate_is_its_variance(estimator):
    """E[r̂²] = r² + Var r̂ and E[r̂ r̂'] = r², within 4 standard errors under a fixed key."""
    batch = drawn(objective(estimator))
    truth = float(loss_of(objective(Exact()), batch))
    shared, independent = objective(estimator), objective(estimator, independent=True)

    @jax.jit
    @jax.vmap
    def draw(key):
        redrawn = dataclasses.replace(batch, key=key)
        return shared.loss(MODEL, redrawn), independent.loss(MODEL, redrawn), shared.residuals(MODEL, batch, key)

    once, twice, residuals = map(np.asarray, draw(jax.random.split(KEY, 8_000)))
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
    loss, residuals = loss_of(aim, batch), eqx.filter_jit(aim.residuals)(MODEL, batch, KEY)
    assert residuals.shape == (4, 3)
    close(loss, jnp.mean(residuals**2))
    close(loss, loss_of(objective(Exact(), independent=True), batch))
    close(loss, loss_of(objective(Exact(), scale=1.0), batch) / 4)


@eqx.filter_jit
def loss_of(aim: Objective, batch: Batch):
    return aim.loss(MODEL, batch)


def test_single_precision_stays_single_and_is_right():
    """√eps of float32 leaves room for the cancellations of second derivatives."""
    aim = objective(Exact(), family=FAMILIES[0])
    batch = Batch(jnp.full((2, D), 0.2), jnp.ones((2, 2)), KEY)
    run = eqx.filter_jit(lambda model, batch, aim: aim.residuals(model, batch, KEY))
    wide = run(MODEL, batch, aim)
    narrow = lambda tree: jax.tree.map(lambda a: a.astype(jnp.float32) if eqx.is_inexact_array(a) else a, tree)
    with jax.enable_x64(False):
        single = run(*narrow((MODEL, batch, aim)))
    assert single.dtype == jnp.float32
    close(single, wide, np.sqrt(np.finfo(np.float32).eps))


def constant(model: Model, level: float) -> Model:
    """The network N = level · amplitude."""
    outputs = lambda m: (m.manifold.readout, m.generator.slope_head, m.generator.slope_offset)
    silent = eqx.tree_at(outputs, model, replace_fn=jnp.zeros_like)
    return eqx.tree_at(lambda m: m.manifold.offset, silent, jnp.full_like(model.manifold.offset, level))


def raw(family, estimator, amplitude: float = 1.0) -> tuple[Model, Objective]:
    model = small_model(family.domain, parameters=family.parameters)
    model = eqx.tree_at(lambda m: m.amplitude, model, jnp.asarray(amplitude))
    return model, objective(estimator, family=family, scale=1.0)


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_silence_costs_one(family):
    """The silent network has loss 1 at every dimension and in every unit; nothing else of the model changes."""
    model, aim = raw(family, Exact())

    @eqx.filter_jit
    def calibrated_loss():
        found, calibrated = calibrate(model, aim, KEY)
        return found, calibrated.loss(constant(found, 0.0), aim.draw(KEY))

    found, loss = calibrated_loss()
    close(loss, 1.0)
    assert eqx.tree_equal((found.lift, found.manifold, found.generator), (model.lift, model.manifold, model.generator))


def test_the_unit_of_the_output_answers_the_silent_residual():
    """Of a linear family: the network N = amplitude changes the residual by as much as its root mean square."""
    model, aim = raw(Poisson.create(D, KEY), Exact())

    @eqx.filter_jit
    def responses():
        found, calibrated = calibrate(model, aim, KEY)
        return [calibrated.residuals(constant(found, level), aim.draw(KEY), KEY) for level in (0.0, 1.0)]

    silent, one = responses()
    close(jnp.mean((one - silent) ** 2), 1.0)


@pytest.mark.parametrize("amplitude", [1.0, 5.0])
def test_calibrating_again_changes_nothing(amplitude):
    """Whatever amplitude and scale a model comes with."""
    calibrated = eqx.filter_jit(lambda model, aim: calibrate(model, aim, KEY))
    first, aim = calibrated(*raw(AllenCahn.create(D, KEY), Exact(), amplitude))
    second, again = calibrated(first, aim)
    close(again.scale, aim.scale)
    close(second.amplitude, first.amplitude)


def test_the_value_alone():
    x, mu = jnp.full(D, 0.1), jnp.ones(2)
    value = eqx.filter_jit(solution_value)(MODEL, FAMILY, x, mu)
    close(value, (1 - x @ x) * eqx.filter_jit(MODEL.point)(x, mu).value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": 0}, "a batch of 0 points holds nothing; give 1 or more"),
        ({"params": -2}, "a batch of -2 params holds nothing"),
        ({"points": 5, "params": 3, "crossed": False}, "takes one parameter a point; 5 points and 3 parameters do not"),
    ],
    ids=["points", "params", "pairs"],
)
def test_samplings_that_make_no_batch(arguments, message):
    with pytest.raises(InputError, match=message):
        Sampling(**arguments)


def test_how_many_pairs():
    assert Sampling(5, 3, crossed=True).pairs == 15
    assert Sampling(5, 5, crossed=False).pairs == 5


# The residual's gradient


def slopes_of(aim: Objective, model: Model, batch: Batch) -> np.ndarray:
    """∇ₓr of every pair, by nested differentiation of the residuals."""
    at = lambda x, mu: residual(model, FAMILY, aim.estimator, x, mu, KEY)
    return np.asarray(jax.jit(jax.vmap(jax.jacfwd(at)))(batch.points, batch.parameters))


def test_the_whole_gradient_is_part_of_the_loss():
    plain = objective(Exact(), PAIRED)
    aim = dataclasses.replace(plain, slopes=Slopes(), slope_scale=jnp.asarray(7.0))
    batch = drawn(aim)
    expected = np.mean(np.sum((slopes_of(aim, MODEL, batch) / 7.0) ** 2, axis=1))
    close(aim.loss(MODEL, batch) - plain.loss(MODEL, batch), expected)


def test_sampled_directions_give_it_in_the_mean():
    aim = dataclasses.replace(objective(Exact(), PAIRED), slopes=Slopes(2), slope_scale=jnp.asarray(7.0))
    batch = drawn(aim)
    keys = jax.random.split(KEY, 3_000)
    draws = np.asarray(jax.jit(jax.vmap(lambda k: aim.slope_loss(MODEL, batch, k, Slopes(2))))(keys))
    expected = np.mean(np.sum((slopes_of(aim, MODEL, batch) / 7.0) ** 2, axis=1))
    assert abs(draws.mean() - expected) < 4 * draws.std() / len(keys) ** 0.5


def test_both_parts_of_the_loss_start_at_one():
    model, aim = raw(AllenCahn.create(D, KEY), Exact())
    aim = dataclasses.replace(aim, slopes=Slopes(), sampling=PAIRED)

    @eqx.filter_jit
    def calibrated_loss():
        found, calibrated = calibrate(model, aim, KEY)
        return calibrated.loss(constant(found, 0.0), aim.draw(KEY))

    close(calibrated_loss(), 2.0)


def test_slopes_along_no_direction_are_refused():
    with pytest.raises(InputError, match="along 0 directions"):
        Slopes(0)
