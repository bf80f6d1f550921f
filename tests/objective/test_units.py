"""The units of a problem: the network that says nothing has a loss of one."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import BALL, FAMILIES, KEY, D, Terms, by_name, close, mostly_slow, small_model

from prism import Laplacian, Prescribed, Sampling, Sphere
from prism.derivatives.estimators import Exact, Gram
from prism.families import AllenCahn, Poisson
from prism.networks.model import Model
from prism.objective.rows import Objective, Slopes
from prism.objective.units import (
    constant_residuals,
    draw_constant_batch,
    residual_scale,
    root_mean_square,
    with_units,
)
from prism.problem.constraints import Free

CROSSED, PAIRED = Sampling(4, 3, crossed=True), Sampling(4, 4, crossed=False)
UNCONDITIONED = by_name(family for family in FAMILIES if not family.conditions)


def raw(family, amplitude: float = 1.0, sampling: Sampling = CROSSED) -> tuple[Model, Objective]:
    """A network and an objective whose units say nothing yet."""
    model = small_model(family.domain, parameters=family.parameters)
    model = eqx.tree_at(lambda m: m.amplitude, model, jnp.asarray(amplitude))
    return model, Objective(family, Exact(), jnp.ones(()), sampling)


def calibrated_loss(model: Model, aim: Objective) -> tuple[Model, jax.Array]:
    """The model in its units, and the loss of the network that is zero, on the batch of the calibration."""
    batch = aim.draw(model, KEY)

    @eqx.filter_jit
    def both():
        found, in_units = with_units(model, aim, KEY)
        return found, in_units.loss(found.constant(jnp.zeros(())), batch)

    return both()


@pytest.mark.parametrize(
    "family", mostly_slow(UNCONDITIONED, "AllenCahn-scaled", "SineGordonBeta-plain", "ConvectionDiffusion")
)
def test_silence_costs_one(family):
    """The silent network has loss 1 at every dimension and in every unit; nothing else of the model changes."""
    model, aim = raw(family)
    found, loss = calibrated_loss(model, aim)
    close(loss, 1.0)
    assert eqx.tree_equal((found.lift, found.manifold, found.generator), (model.lift, model.manifold, model.generator))


def test_the_unit_of_the_output_answers_what_the_level_leaves():
    """Of a linear family: the network N = amplitude changes the residual by as much as that of the level is large."""
    model, aim = raw(Poisson.create(D, KEY))

    batch = aim.draw(model, KEY)

    @eqx.filter_jit
    def responses():
        found, in_units = with_units(model, aim, KEY)
        levels = [found.constant(value) for value in (jnp.zeros(()), jnp.ones(()), found.level / found.amplitude)]
        return [in_units.equations(network, batch, batch.draws) for network in levels]

    silent, one, level = responses()
    close(jnp.mean((one - silent) ** 2), jnp.mean(level**2))


def test_calibrating_again_changes_nothing():
    """Whatever amplitude and scale a model comes with."""
    in_units = eqx.filter_jit(lambda model, aim: with_units(model, aim, KEY))
    for amplitude in (1.0, 5.0):
        first, aim = in_units(*raw(AllenCahn.create(D, KEY), amplitude))
        second, again = in_units(first, aim)
        close(again.scale, aim.scale)
        close(second.amplitude, first.amplitude)


def test_the_level_is_the_constant_of_the_smallest_residual():
    """Of a family whose solution is nearly constant: no other constant leaves less, and the unit is what is left."""
    family = AllenCahn.create(300, KEY)
    model = small_model(family.domain, parameters=family.parameters)
    aim = Objective(family, Gram(), jnp.ones(()), Sampling(16, 16))
    found, _ = eqx.filter_jit(with_units)(model, aim, KEY)
    batch = draw_constant_batch(family, Gram(), aim.sampling, KEY)
    left = lambda value: float(root_mean_square(constant_residuals(family, batch, value)))
    assert left(found.level) < 0.1 * left(jnp.zeros(()))
    assert all(left(found.level) < left(factor * found.level) for factor in (0.99, 1.01))
    gain = (left(2.0 * found.level) - left(found.level)) / abs(float(found.level))
    assert 0.2 * left(found.level) < float(found.amplitude) * gain < 5.0 * left(found.level)


def test_a_constant_that_says_little_is_not_taken():
    """Where the solution has no level, the network begins at zero."""
    model, aim = raw(Terms(BALL, {"lap": Laplacian()}))
    assert eqx.filter_jit(with_units)(model, aim, KEY)[0].level == 0.0


class Logarithm(Terms):
    """Δu + log(1 + u) + 3: the first step to its constant leads to where the equation has no meaning."""

    def residual(self, u, x, mu):
        return u.lap + jnp.log(1.0 + u.value) + 3.0

    def constraint(self):
        return Free()


def test_a_constant_without_a_residual_is_not_taken():
    model, aim = raw(Logarithm(BALL, {"lap": Laplacian()}))
    found, _ = eqx.filter_jit(with_units)(model, aim, KEY)
    assert found.level == 0.0
    close(found.amplitude, 3.0)


def test_both_parts_of_the_loss_start_at_one():
    model, aim = raw(AllenCahn.create(D, KEY), sampling=PAIRED)
    close(calibrated_loss(model, dataclasses.replace(aim, slopes=Slopes()))[1], 2.0)


class Conditioned(Terms):
    """u = 3 on a sphere, inside which the residual vanishes for N = 0."""

    @property
    def conditions(self):
        return {"sphere": Prescribed(Sphere(D, 0.5), lambda x, mu: 3.0 * jnp.ones(()), points=5, weight=4.0)}


def test_calibration_knows_what_is_asked_for():
    """|u − g| of N = 0 where that is more than the amplitude, whatever its weight; and units of one where nothing has a
    size."""
    _, found = eqx.filter_jit(with_units)(*raw(Conditioned(BALL, {"lap": Laplacian()})), KEY)
    close(found.condition_scale, 3.0)
    assert (found.scale, found.slope_scale) == (1.0, 1.0)


def test_the_scale_is_the_size_of_the_residual_of_nothing():
    family = FAMILIES[0]
    batch = draw_constant_batch(family, Exact(), CROSSED, KEY)

    @jax.jit
    def sizes():
        named = jax.vmap(lambda mu: vars(family.parameters.named(mu)))(batch.parameters)
        source = lambda x, mu: family.source(x, type(family.parameters.named(jnp.ones(2)))(mu))
        sources = jax.vmap(lambda x: jax.vmap(lambda mu: source(x, mu))(named))(batch.points)
        return residual_scale(family, batch), constant_residuals(family, batch, jnp.zeros(())), sources

    scale, rows, sources = sizes()
    close(rows, -jnp.ravel(sources))
    close(scale, np.sqrt(np.mean(sources**2)))


def test_one_bad_point_does_not_decide_the_units():
    close(root_mean_square(jnp.asarray([3.0, np.nan, -3.0, np.inf])), 3.0)
    assert root_mean_square(jnp.asarray([np.nan])) == 0.0


class Growing(Terms):
    """Δu + u = 0 with u = 3 on the sphere: the network that is zero solves the equation, and not the problem."""

    @property
    def conditions(self):
        return {"sphere": Prescribed(Sphere(self.domain.dimension), lambda x, mu: 3.0 + 0.0 * x[0], points=4)}

    def residual(self, u, x, mu):
        return u.lap + u.value

    def constraint(self):
        return Free()


def test_prescribed_values_are_the_unit_where_zero_solves_the_equation():
    model, aim = raw(Growing(BALL, {"lap": Laplacian()}))
    found, in_units = eqx.filter_jit(with_units)(model, aim, KEY)
    close(found.amplitude, 3.0)
    close(in_units.condition_scale, 3.0)
