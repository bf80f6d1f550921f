"""The natural gradient: its factored kernel against the plain one, and what it finds against closed forms."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import CYLINDER, KEY, Terms, close, roughened
from jax.flatten_util import ravel_pytree

import prism
from prism.derivatives.estimators import Coordinates, Exact, Gaussian, Gram, Rademacher
from prism.families import SineGordon
from prism.networks.model import Architecture, Model
from prism.networks.modulation import CONCAT, NONE
from prism.objective.objective import Batch, Objective, Sampling
from prism.solving.runs import execute, first_state
from prism.solving.settings import Settings
from prism.training.loop import Budget
from prism.training.natural.jacobian import Weights
from prism.training.natural.rows import directional_rows, rows
from prism.training.natural.spring import Spring, damped_solve
from prism.training.program import Program

DIMENSION = 9
BALL = prism.Ball(DIMENSION)
NARROW = Architecture(3, 5, 2, 4, 1, affine=2)


def network(domain, architecture: Architecture = NARROW) -> Model:
    return roughened(eqx.filter_eval_shape(Model.create, architecture, domain, Terms.parameters, KEY))


def constant_sigma(x, mu):
    return jnp.linspace(0.5, 1.5, DIMENSION)


SEVERAL = Terms(
    BALL, {"lap": prism.Laplacian(), "third": prism.Partial(0, 0, 1), "trace": prism.WeightedTrace(constant_sigma)}
)
IN_TIME = Terms(CYLINDER, {"lap": prism.Laplacian(), "rate": prism.TimeDerivative()})
ALL = [
    Exact(),
    Coordinates(3),
    Coordinates(3, shared=True),
    Rademacher(2),
    Gaussian(2, shared=True),
    Gram(),
    Gram(2),
    Gram(2, shared=False),
]


class Conditioned(Terms):
    """With values asked for on the sphere, and data."""

    @property
    def conditions(self):
        at = jnp.cos(jnp.arange(3.0 * DIMENSION)).reshape(3, DIMENSION) / 4
        return {
            "boundary": prism.Prescribed(prism.Sphere(DIMENSION), lambda x, mu: mu.mu1 * x[0], points=3, weight=2.0),
            "data": prism.Observed(at, jnp.ones((3, 2)), jnp.arange(3.0), points=2, weight=0.5),
        }


CASES = {
    **{f"{estimator}": (SEVERAL, estimator, False) for estimator in ALL},
    "in time, Exact": (IN_TIME, Exact(), False),
    "in time, Coordinates": (IN_TIME, Coordinates(2), False),
    "conditions, Gram": (Conditioned(BALL, {"lap": prism.Laplacian()}), Gram(), False),
    "conditions, Coordinates": (Conditioned(BALL, {"lap": prism.Laplacian()}), Coordinates(2), False),
    "crossed, Gram": (SEVERAL, Gram(), True),
    "crossed, Coordinates": (SEVERAL, Coordinates(3), True),
}


def everything(objective: Objective, model: Model, batch: Batch):
    """All residuals, those of conditions in units where the sum of squares is N times the loss."""
    r = objective.residuals(model, batch, batch.key).reshape(-1)
    misses = [(r.size / m.size) ** 0.5 * m for m in objective.misses(model, batch)]
    return jnp.concatenate([r, *misses])


def _kernel(rows):
    flat = rows.reshape(len(rows), -1)
    return flat @ flat.T


@pytest.mark.parametrize(("family", "estimator", "crossed"), CASES.values(), ids=CASES)
def test_the_factored_jacobian_equals_the_plain_one(family, estimator, crossed):
    objective = Objective(family, estimator, jnp.asarray(3.0), Sampling(4, 2 if crossed else 4, crossed))
    compare_with_plain(objective, network(family.domain))


@pytest.mark.parametrize("modulation", [CONCAT, NONE], ids=["concat", "none"])
def test_a_network_with_one_head_or_none_is_factored_too(modulation):
    family = Terms(BALL, {"lap": prism.Laplacian()})
    objective = Objective(family, Coordinates(2), jnp.asarray(3.0), Sampling(4, 4))
    compare_with_plain(objective, network(BALL, replace(NARROW, modulation=modulation)))


def compare_with_plain(objective: Objective, model: Model) -> None:
    """Kernel, Jᵀc and Jδ against the Jacobian that reverse differentiation writes out."""

    @jax.jit
    def compare():
        batch = objective.draw(KEY)
        found, weights = rows(objective, model, batch, batch.key), Weights.of(model)
        at = lambda weights: everything(objective, weights.put(model), batch)
        plain = jax.jacrev(at)(weights)
        flat = jax.vmap(lambda row: ravel_pytree(row)[0])(plain)
        coefficients = jnp.arange(1.0, 1.0 + len(flat))
        change = jax.tree.map(lambda leaf: jnp.cos(jnp.arange(leaf.size)).reshape(leaf.shape), weights)
        return (
            (found.residuals, at(weights)),
            (found.jacobian.kernel(), flat @ flat.T),
            (found.jacobian.without_lift().kernel(), flat @ flat.T - _kernel(plain.lift)),
            (ravel_pytree(found.jacobian.pull(coefficients, weights))[0], coefficients @ flat),
            (found.jacobian.push(change), flat @ ravel_pytree(change)[0]),
            (found.jacobian.small, plain.small),
        )

    for found, expected in compare():
        close(found, expected)


def test_slopes_are_the_gradients_in_x():
    model = network(BALL)
    objective = Objective(SEVERAL, Exact(), jnp.asarray(3.0), Sampling(3, 3))

    @jax.jit
    def compare():
        batch = objective.draw(KEY)
        at = lambda points: objective.residuals(model, Batch(points, batch.parameters, batch.key), batch.key)
        jacobian = jax.jacrev(at)(batch.points)
        found = rows(objective, model, batch, batch.key)
        also = objective.residuals_and_slopes(model, batch, batch.key)
        return found.slopes, also[1], jnp.stack([jacobian[n, n] for n in range(3)])

    first, second, expected = compare()
    close(first, expected)
    close(second, expected)


def test_directional_rows_are_derivatives_along_a_direction():
    """In the mean over directions (v·∇r)² is |∇r|², in units of slope_scale; its rows are its derivatives."""
    model = network(BALL)
    family = Terms(BALL, {"lap": prism.Laplacian()})
    objective = Objective(family, Exact(), jnp.asarray(3.0), Sampling(2, 2), slope_scale=jnp.asarray(5.0))
    batch = objective.draw(KEY)

    @jax.jit
    def squares(keys):
        values = jax.vmap(lambda k: directional_rows(objective, model, batch, k)[0])(keys)
        return values**2, jnp.sum((0.6 * objective.residuals_and_slopes(model, batch, batch.key)[1]) ** 2, axis=1)

    drawn, expected = (np.asarray(part) for part in squares(jax.random.split(KEY, 4_000)))
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - expected) < 4 * error)

    @jax.jit
    def gradients():
        along = lambda weights: directional_rows(objective, weights.put(model), batch, KEY)[0]
        plain, coefficients = jax.jacrev(along)(Weights.of(model)), jnp.asarray([1.0, -2.0])
        expected = jax.tree.map(lambda rows: jnp.tensordot(coefficients, rows, 1), plain)
        found = directional_rows(objective, model, batch, KEY)[1].pull(coefficients, Weights.of(model).without_lift())
        return ravel_pytree((found.small, found.heads))[0], ravel_pytree((expected.small, expected.heads))[0]

    close(*gradients())


class Regression(prism.Family):
    """u = g: a least-squares problem for the affine part of the network, with one parameter that only scales r."""

    domain: prism.Domain
    parameters = prism.Uniform(a=(1.0, 2.0))
    terms = {}
    bend: float = 0.0

    def target(self, x):
        return 2.0 + x @ jnp.arange(1.0, 1.0 + x.shape[0]) + self.bend * jnp.sum(x**2)

    def residual(self, u, x, mu):
        return (u.value - self.target(x)) * mu.a

    def exact(self, x, mu):
        return self.target(x)


def affine_model(domain) -> Model:
    """Nothing but offset and affine part: the rest of the network is zero, and stays so."""
    architecture = Architecture(1, 1, 1, 2, 1, NONE, affine=1)
    model = Model.create(architecture, domain, Regression.parameters, KEY)
    silent = lambda m: (m.lift.weight, m.manifold.readout)
    return eqx.tree_at(silent, model, replace_fn=jnp.zeros_like)


def test_spring_reaches_the_closed_form_of_least_squares():
    domain = prism.Cube(3, -1.0, 1.0)
    objective = Objective(Regression(domain, 1.0), Exact(), jnp.ones(()), Sampling(40, 40))
    spring = Spring(in_kernel=True, slopes=False, bound=10.0)
    batch = objective.draw(KEY)

    @jax.jit
    def trained(model):
        step = lambda _, carry: spring.step(objective, *carry, batch, jnp.ones(()))[:2]
        return jax.lax.fori_loop(0, 150, step, (model, spring.init(model)))[0]

    model = trained(affine_model(domain))
    x, weight = np.asarray(batch.points), np.asarray(batch.parameters)[:, 0]
    design = np.concatenate([np.ones((40, 1)), x], axis=1)
    target = np.asarray(jax.vmap(objective.family.target)(batch.points))
    best, *_ = np.linalg.lstsq(weight[:, None] * design, weight * target, rcond=None)
    found = np.asarray(jax.vmap(lambda p, m: model.point(p, m).value)(batch.points, batch.parameters))
    np.testing.assert_allclose(found, design @ best, rtol=1e-6)


def test_one_slope_step_finds_the_slope():
    """r = a (q W·x + ... − b·x): its gradient in x gives all of b at once."""
    domain = prism.Cube(5, -1.0, 1.0)
    objective = Objective(Regression(domain), Exact(), jnp.ones(()), Sampling(6, 6))
    spring = Spring(slope_rate=1.0, slope_damping=1e-12)
    model = affine_model(domain)
    after, *_ = jax.jit(lambda m: spring.step(objective, m, spring.init(m), objective.draw(KEY), jnp.ones(())))(model)
    slope = after.lift.weight[:, 1] * model.generator.slope_offset
    np.testing.assert_allclose(slope, np.arange(1.0, 6.0), rtol=1e-6)


def test_damping_rescues_a_singular_kernel():
    singular = jnp.ones((4, 4), jnp.float32) - 1e-3 * jnp.eye(4, dtype=jnp.float32)  # not even semidefinite
    solution, damping = jax.jit(damped_solve)(singular, jnp.ones(4, jnp.float32), jnp.asarray(1e-6, jnp.float32))
    assert np.all(np.isfinite(solution))
    assert damping > 1e-4
    objective = Objective(SineGordon.create(5, KEY), Exact(), jnp.ones(()), Sampling(4, 4))
    model = network(prism.Ball(5))
    twice = objective.draw(KEY)
    same = Batch(jnp.tile(twice.points[:1], (4, 1)), jnp.tile(twice.parameters[:1], (4, 1)), twice.key)
    spring = Spring(damping=1e-30)
    after, _, info = jax.jit(lambda m: spring.step(objective, m, spring.init(m), same, jnp.ones(())))(model)
    assert info.finite
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(eqx.filter(after, eqx.is_array)))


def spring_settings(**changes) -> Settings:
    return Settings(optimiser=Spring(**changes), architecture=NARROW, sampling=Sampling(12, 12))


@pytest.mark.parametrize("kind", [{}, {"in_kernel": True}, {"slope_rows": True}], ids=str)
def test_a_resumed_run_equals_an_uninterrupted_one(kind):
    family = SineGordon.create(12, KEY)
    settings = spring_settings(**kind).completed(family)
    state = first_state(family, settings)
    program = Program.compile(state, settings.optimiser)
    whole, _ = program(first_state(family, settings), 12, 20.0)
    part, _ = program(state, 5, 20.0)
    resumed, _ = program(part, 7, 20.0)
    assert eqx.tree_equal(whole, resumed)


def test_spring_learns_a_family():
    family = SineGordon.create(20, KEY)
    bent = Architecture(24, 16, 2, 8, 2, lift_bias=1.0)
    outcome = execute(family, Settings(architecture=bent, sampling=Sampling(100, 100)), Budget(steps=60), show=False)
    assert outcome.skipped == 0
    assert outcome.evaluation is not None
    assert outcome.evaluation.skill is not None
    assert outcome.evaluation.skill < 0.5


def test_the_independent_loss_takes_its_target_from_other_directions():
    family, model = SineGordon.create(12, KEY), network(prism.Ball(12))
    spring = Spring()
    losses = []
    for independent in (False, True):
        objective = Objective(family, Coordinates(2), jnp.ones(()), Sampling(4, 4), independent)
        batch = objective.draw(KEY)
        _, _, info = jax.jit(lambda m, o=objective, b=batch: spring.step(o, m, spring.init(m), b, jnp.ones(())))(model)
        losses.append((float(info.loss), float(objective.loss(model, batch))))
    for found, expected in losses:
        np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert losses[0][0] != losses[1][0]


@pytest.mark.slow
def test_a_hundred_thousand_dimensions_and_four_hundred_points_fit():
    family = SineGordon.create(100_000, KEY)
    settings = Settings(optimiser=Spring(in_kernel=True), sampling=Sampling(400, 400)).completed(family)
    shapes = eqx.filter_eval_shape(first_state, family, settings)
    assert Program.compile(shapes, settings.optimiser).gibibytes < 6.0
