"""Soft conditions: what they ask for, what they cost, and that a problem given by them is solved."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, small_model

import prism
from prism.derivatives.estimators import Exact
from prism.objective.objective import Objective, Sampling, calibrate
from prism.problem.parameters import Uniform
from prism.solving.runs import execute
from prism.solving.settings import Settings
from prism.training.loop import Budget


class Harmonic(prism.Family):
    """Δu = 0 in the ball with u = a x₀ + x₁ x₂ on its surface, which is the solution everywhere."""

    domain: prism.Domain
    parameters = Uniform(a=(0.5, 1.5))
    terms = {"lap": prism.Laplacian()}

    @property
    def conditions(self):
        return {"boundary": prism.Prescribed(prism.Sphere(self.domain.dimension), self.exact, points=30, weight=4.0)}

    def residual(self, u, x, mu):
        return u.lap

    def exact(self, x, mu):
        return mu.a * x[0] + x[1] * x[2]


@pytest.mark.parametrize("domain", [prism.Sphere(4, 2.0), prism.AtTime(prism.TimeCylinder(prism.Ball(3)), 0.5)])
def test_conditions_draw_where_they_hold(domain):
    wanted = jax.vmap(lambda k: prism.Prescribed(domain, lambda x, mu: mu.a * x[0]).draw(Harmonic.parameters, k))(
        jax.random.split(KEY, 50)
    )
    if isinstance(domain, prism.Sphere):
        close(jnp.linalg.norm(wanted.x, axis=1), np.full(50, 2.0))
        assert (domain.bounds, domain.coordinates) == ((-2.0, 2.0), 4)
    else:
        assert np.all(wanted.x[:, -1] == 0.5)
        assert (domain.dimension, domain.coordinates) == (3, 4)
    close(wanted.value, wanted.mu[:, 0] * wanted.x[:, 0])


def test_data_are_drawn_row_by_row():
    at, values = jnp.arange(12.0).reshape(4, 3), jnp.arange(4.0)
    data = prism.Observed(at, 10.0 + values[:, None], values)
    wanted = jax.vmap(lambda k: data.draw(Harmonic.parameters, k))(jax.random.split(KEY, 40))
    assert set(np.asarray(wanted.value)) == {0.0, 1.0, 2.0, 3.0}
    close(wanted.x[:, 0], 3.0 * wanted.value)
    close(wanted.mu[:, 0], 10.0 + wanted.value)


def test_the_loss_is_the_weighted_sum_of_its_parts():
    family = Harmonic(prism.Ball(4))
    model = small_model(family.domain, parameters=family.parameters)
    objective = Objective(family, Exact(), jnp.asarray(2.0), Sampling(5, 5), condition_scale=jnp.asarray(3.0))

    @jax.jit
    def parts():
        batch = objective.draw(KEY)
        return objective.loss(model, batch), batch, objective.residuals(model, batch, jax.random.split(batch.key)[0])

    loss, batch, r = parts()
    (wanted,) = batch.wanted
    u = jax.vmap(lambda x, mu: model.point(x, mu).value)(wanted.x, wanted.mu)
    close(loss, jnp.mean(r**2) + 4.0 * jnp.mean(((u - wanted.value) / 3.0) ** 2))


def test_calibration_knows_what_is_asked_for():
    family = Harmonic(prism.Ball(4))
    model = small_model(family.domain, parameters=family.parameters)
    objective = Objective(family, Exact(), jnp.ones(()), Sampling(5, 5))
    _, found = eqx.filter_jit(calibrate)(model, objective, KEY)
    assert 0.5 < found.condition_scale < 4.0


def test_a_problem_given_by_its_boundary_values_is_solved():
    settings = Settings(sampling=Sampling(60, 60), architecture=prism.Architecture(12, 12, 2, 8, 2))
    outcome = execute(Harmonic(prism.Ball(4)), settings, Budget(steps=150), show=False)
    assert outcome.evaluation is not None
    assert outcome.evaluation.relative_l2 < 0.05


@pytest.mark.parametrize("wrong", [{"points": 0}, {"weight": 0.0}, {"weight": float("inf")}])
def test_a_condition_that_asks_for_nothing_is_refused(wrong):
    with pytest.raises(prism.InputError, match="asks for nothing"):
        prism.Prescribed(prism.Sphere(3), lambda x, mu: x[0], **wrong)
