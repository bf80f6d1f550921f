"""The residual of a network at one pair: its value alone, what is added behind the lift, and what it costs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import FAMILIES, KEY, D, Terms, close, name_of, small_model, solution_formula

from prism import Ball, Laplacian, Partial, Sampling
from prism.derivatives.estimators import Coordinates, Exact, Gaussian, Rademacher
from prism.networks.lifts.groups import Coefficients
from prism.networks.lifts.lift import Lifted
from prism.objective.batches import draw_batch
from prism.objective.residuals import batch_residuals, lifted_value, place_of, residual, solution_value
from prism.problem.terms import decompositions, draw_directions, place_at

FAMILY = Terms(Ball(D), {"lap": Laplacian(), "u_xy": Partial(0, 1)})
MODEL = small_model(FAMILY.domain)
X, MU = jnp.linspace(-0.3, 0.4, D), jnp.asarray([0.7, 1.2])


def flops(sampling: Sampling, estimator) -> float:
    """Of the residuals of a batch in 4,000 dimensions, where the lift is nearly all the work."""
    family = Terms(Ball(4000), {"lap": Laplacian()})
    arrays, static = eqx.partition(small_model(family.domain), eqx.is_array)
    draw = lambda: draw_batch(family, estimator, sampling, MODEL.lift.width, False, KEY)
    run = jax.jit(lambda arrays, batch: batch_residuals(eqx.combine(arrays, static), family, batch))
    return run.lower(arrays, eqx.filter_eval_shape(draw)).compile().cost_analysis()["flops"]


@pytest.mark.parametrize("estimator", [Coordinates(2), Rademacher(2)], ids=name_of)
def test_what_depends_on_x_alone_is_done_once_per_point(estimator):
    one, eight, apart = (
        flops(Sampling(*counts), estimator) for counts in ((8, 1, True), (8, 8, True), (64, 64, False))
    )
    assert one > 8 * 2 * 4000 * MODEL.lift.width  # x W of eight points is in it
    assert eight < 1.25 * one
    assert apart > 6 * one


def test_single_precision_stays_single_and_is_right():
    """√eps of float32 leaves room for the cancellations of second derivatives."""
    family = FAMILIES[0]
    draws = draw_directions(family, Exact(), place_at(family, X, MU, None), KEY)
    run = eqx.filter_jit(residual)
    wide = run(MODEL, family, draws, X, MU)
    narrow = lambda tree: jax.tree.map(lambda a: a.astype(jnp.float32) if eqx.is_inexact_array(a) else a, tree)
    with jax.enable_x64(False):
        drawn = draw_directions(family, Exact(), place_at(family, narrow(X), narrow(MU), None), KEY)
        single = run(*narrow((MODEL, family)), drawn, *narrow((X, MU)))
    assert single.dtype == jnp.float32
    close(single, wide, np.sqrt(np.finfo(np.float32).eps))


def test_the_value_alone():
    """From the point, and from what has left the lift."""

    @jax.jit
    def values():
        return solution_value(MODEL, FAMILY, X, MU), lifted_value(MODEL, FAMILY, MODEL.lift_point(X, MU), X, MU)

    for value in values():
        close(value, solution_formula(MODEL, FAMILY)(X, MU))


@pytest.mark.parametrize("estimator", [Exact(), Gaussian(2)], ids=name_of)
def test_a_probe_is_a_change_of_the_lift(estimator):
    """What W + ∂W and b + ∂b do to z and to v_j W, added behind a lift that does not change."""
    lift = MODEL.lift
    weight, bias = jnp.cos(jnp.arange(lift.weight.size)).reshape(lift.weight.shape), jnp.sin(jnp.arange(lift.width))
    changed = eqx.tree_at(lambda m: (m.lift.weight, m.lift.bias), MODEL, (lift.weight + weight, lift.bias + bias))

    @jax.jit
    def both():
        place = place_of(MODEL, FAMILY, X, MU)
        draws = draw_directions(FAMILY, estimator, place, KEY)
        bundles = [part.directions for part in decompositions(FAMILY, draws, place)]
        probe = Lifted(X @ weight + bias, tuple(Coefficients((bundle.through(weight),), None) for bundle in bundles))
        residuals = residual(MODEL, FAMILY, draws, X, MU, probe), residual(changed, FAMILY, draws, X, MU)
        return residuals, (solution_value(MODEL, FAMILY, X, MU, probe), solution_value(changed, FAMILY, X, MU))

    for probed, expected in both():
        close(probed, expected)
