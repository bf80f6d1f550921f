"""Soft conditions: what they ask for, what they cost, and that a problem given by them is solved."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, linear, network_formula, roughened

import prism
from prism.networks.model import Model
from prism.objective.batches import Sampling
from prism.objective.rows import Objective
from prism.objective.units import condition_scale
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


def whirl(x):
    """A field that is neither constant nor the normal."""
    return jnp.roll(x, 1) * jnp.cos(x[0])


def slope(u, x, v):
    """v·∇u."""
    return jax.grad(u)(x) @ v


class Neumann(Harmonic):
    """Δu = u − f in the ball with x·∇u given on its surface: u is nowhere."""

    weight: float = 4.0

    @property
    def conditions(self):
        sphere = prism.Sphere(self.domain.dimension)
        return {"flux": prism.Prescribed(sphere, self.flux, points=30, weight=self.weight, along=lambda x: x)}

    def residual(self, u, x, mu):
        return u.lap - u.value + self.exact(x, mu)

    def flux(self, x, mu):
        return mu.a * x[0] + 2.0 * x[1] * x[2]


NETWORK = prism.Architecture(linear(12), 12, 2, 8, 2)


@pytest.mark.parametrize("domain", [prism.Sphere(4, 2.0), prism.AtTime(prism.TimeCylinder(prism.Ball(3)), 0.5)])
def test_conditions_draw_where_they_hold(domain):
    condition = prism.Prescribed(domain, lambda x, mu: mu.a * x[0])
    targets = jax.jit(jax.vmap(lambda k: condition.draw(Harmonic.parameters, k)))(jax.random.split(KEY, 50))
    if isinstance(domain, prism.Sphere):
        close(jnp.linalg.norm(targets.x, axis=1), np.full(50, 2.0))
        assert (domain.bounds, domain.coordinates) == ((-2.0, 2.0), 4)
    else:
        assert np.all(targets.x[:, -1] == 0.5)
        assert (domain.dimension, domain.coordinates) == (3, 4)
    close(targets.value, targets.mu[:, 0] * targets.x[:, 0])


@pytest.mark.parametrize(("time", "kappa", "variance"), [(0.0, 0.5, 1.0), (2.0, -0.5, 1.0), (0.0, -0.5, 0.0)])
def test_initial_values_are_asked_where_the_diffusion_comes_from(time, kappa, variance):
    """E |x|²/d = 1 + 2|κ| left E[part³]: `left` is T at the end where values are given, and 0 at the other."""
    start = prism.AtTime(prism.TimeCylinder(prism.WholeSpace(200, inwards=0.0), 2.0), time)
    condition = prism.Prescribed(start, lambda x, mu: mu.a * x[0]).diffused(jnp.asarray(kappa))
    targets = jax.jit(jax.vmap(lambda k: condition.draw(Harmonic.parameters, k)))(jax.random.split(KEY, 1000))
    norms = np.mean(np.asarray(targets.x[:, :-1]) ** 2, axis=1)
    assert np.all(targets.x[:, -1] == time)
    assert abs(norms.mean() - 1.0 - variance * 2.0 / 4.0) < 4 * norms.std() / np.sqrt(1000)


def test_data_are_drawn_row_by_row():
    at, values = jnp.arange(12.0).reshape(4, 3), jnp.arange(4.0)
    data = prism.Observed(at, 10.0 + values[:, None], values)
    targets = jax.jit(jax.vmap(lambda k: data.draw(Harmonic.parameters, k)))(jax.random.split(KEY, 40))
    assert set(np.asarray(targets.value)) == {0.0, 1.0, 2.0, 3.0}
    close(targets.x[:, 0], 3.0 * targets.value)
    close(targets.mu[:, 0], 10.0 + targets.value)


@pytest.mark.slow
def test_a_problem_given_by_its_boundary_values_is_solved():
    family, network = Harmonic(prism.Ball(4)), prism.Architecture(linear(12), 12, 2, 8, 2)
    settings = Settings.choose(family, sampling=Sampling(60, 60), architecture=network)
    outcome = execute(family, settings, Budget(steps=150), show=False)
    assert outcome.solution.training.evaluation is not None
    assert outcome.solution.training.evaluation.relative_l2 < 0.05


def test_a_target_along_a_vector_is_about_the_derivative():
    """And one without is about the value; of a u that takes more than a point, by what that changes as well."""
    u = lambda x, more=0.0: jnp.sin(x[0]) * x[1] ** 2 * jnp.exp(more)
    domain, g = prism.Sphere(4), lambda x, mu: 0.0 * x[0]
    at, flux = (prism.Prescribed(domain, g, along=along).draw(Harmonic.parameters, KEY) for along in (None, whirl))
    assert at.along is None
    close(at.of(u), u(at.x))
    close(flux.along, whirl(flux.x))
    close(flux.of(u), slope(u, flux.x, whirl(flux.x)))
    close(at.of(u, (0.3, 7.0)), u(at.x, 0.3))
    rate, change = slope(lambda x: u(x, 0.3), flux.x, flux.along), jnp.asarray(0.7)
    close(flux.of(u, (jnp.asarray(0.3), change)), rate + change * u(flux.x, 0.3))


def test_the_row_of_a_flux_is_its_formula():
    """√weight (v·∇u − g) / scale of a network written out."""
    family = Neumann(prism.Ball(4))
    model = roughened(Model.create(NETWORK, family.domain, family.parameters, KEY))
    objective = Objective(family, prism.Exact(), jnp.ones(()), Sampling(4, 4), condition_scale=jnp.asarray(0.3))
    batch = objective.draw(model, KEY)
    (rows,) = objective.rows(model, batch).conditions

    def formula(x, mu):
        u = lambda y: network_formula(model, y, mu)
        return 2.0 * (slope(u, x, x) - family.flux(x, family.parameters.named(mu))) / 0.3

    (targets,) = batch.targets
    close(rows, jax.vmap(formula)(targets.x, targets.mu))


def test_the_unit_of_conditions_counts_fluxes():
    """The largest |v·∇u − g| of N = 0 without any constraint: the largest |g|."""
    family = Neumann(prism.Ball(4))
    targets = jax.vmap(lambda key: family.conditions["flux"].draw(family.parameters, key))(jax.random.split(KEY, 20))
    close(condition_scale(family, [targets], jnp.asarray(1e-3)), jnp.max(jnp.abs(targets.value)))


def test_a_problem_given_by_its_fluxes_is_solved():
    family = Neumann(prism.Ball(4))
    settings = Settings.choose(family, sampling=Sampling(60, 60), architecture=NETWORK)
    outcome = execute(family, settings, Budget(steps=150), show=False)
    assert outcome.solution.training.evaluation.relative_l2 < 0.05


MISTAKES = {
    "two arguments": (
        lambda: prism.Prescribed(prism.Sphere(3), lambda x, mu: x[0], along=lambda x, mu: x),
        r"the vector field of a Prescribed condition takes \(x, mu\); write lambda x: \.\.\.",
    ),
    "another shape": (
        lambda: prism.Prescribed(prism.Sphere(3), lambda x, mu: x[0], along=lambda x: x[1:]).draw(
            Harmonic.parameters, KEY
        ),
        r"gives a vector of shape \(2,\); give \(3,\), one entry per coordinate",
    ),
    "a number": (
        lambda: prism.Prescribed(prism.Sphere(3), lambda x, mu: x[0], along=lambda x: 1.0).draw(
            Harmonic.parameters, KEY
        ),
        r"gives a vector of shape \(\); give \(3,\)",
    ),
}


@pytest.mark.parametrize(("build", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_field_that_does_not_fit_is_refused(build, message):
    with pytest.raises(prism.InputError, match=message):
        build()


@pytest.mark.parametrize("wrong", [{"points": 0}, {"weight": 0.0}, {"weight": float("inf")}])
def test_a_condition_that_asks_for_nothing_is_refused(wrong):
    with pytest.raises(prism.InputError, match=r"asks for nothing|whole number of 1 or more"):
        prism.Prescribed(prism.Sphere(3), lambda x, mu: x[0], **wrong)


def test_data_say_nothing_about_a_given_parameter():
    data = prism.Observed(jnp.zeros((2, 3)), jnp.ones((2, 1)), jnp.zeros(2))
    assert not data.at_every_parameter
    assert prism.Prescribed(prism.Sphere(3), lambda x, mu: x[0]).at_every_parameter
    with pytest.raises(prism.InputError, match="says nothing about a given μ; define draw_at"):
        data.draw_at(jnp.ones(1), Harmonic.parameters, KEY)
