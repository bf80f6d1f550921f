"""The natural gradient: what it finds against closed forms, what it promises, and what it refuses."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, Terms, linear, mostly_slow, roughened, value_of

import prism
from prism.derivatives.estimators import Coordinates, Exact
from prism.errors import InputError
from prism.families import SineGordon
from prism.networks.lifts.parts import Affine, Dense
from prism.networks.model import Architecture, Model
from prism.networks.modulation import NONE
from prism.objective.batches import Batch, Sampling
from prism.objective.rows import Objective, Slopes
from prism.solution.evaluation import evaluate
from prism.solving.preparation import first_state, state_shapes
from prism.solving.settings import Settings
from prism.training.advance import TrainingState
from prism.training.natural.spring import MOST_DAMPING, REVIEW_EVERY, Spring, SpringState
from prism.training.program import Program

D = 6
BALL = prism.Ball(D)
FAMILY = Terms(BALL, {"lap": prism.Laplacian()})
NARROW = Architecture(linear(2, 1), 3, 1, 2, 1)
IN_KERNEL = Spring(lift_in_kernel=True, lift_by_slopes=False)


def network(domain=BALL, architecture: Architecture = NARROW) -> Model:
    return roughened(eqx.filter_eval_shape(Model.create, architecture, domain, Terms.parameters, KEY))


@eqx.filter_jit
def step(spring: Spring, objective: Objective, model: Model, state: SpringState, batch: Batch):
    return spring.step(objective, model, state, batch, jnp.ones(()))


def objective_of(family, points: int, estimator=None, **options) -> Objective:
    return Objective(family, estimator or Exact(), jnp.ones(()), Sampling(points, points), **options)


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
    architecture = Architecture(linear(1, 1), 1, 1, 2, 1, NONE)
    model = Model.create(architecture, domain, Regression.parameters, KEY)
    silent = lambda m: (m.lift.weight, m.manifold.readout)
    return eqx.tree_at(silent, model, replace_fn=jnp.zeros_like)


def test_spring_reaches_the_closed_form_of_least_squares():
    domain = prism.Cube(3, -1.0, 1.0)
    objective, model = objective_of(Regression(domain, 1.0), 40), affine_model(domain)
    spring = Spring(lift_in_kernel=True, lift_by_slopes=False, bound=10.0)
    batch = objective.draw(model, KEY)

    @eqx.filter_jit
    def trained(objective, model, batch):
        once = lambda _, carry: spring.step(objective, *carry, batch, jnp.ones(()))[:2]
        return jax.lax.fori_loop(0, 150, once, (model, spring.init(model)))[0]

    model = trained(objective, model, batch)
    x, weight = np.asarray(batch.points), np.asarray(batch.parameters)[:, 0]
    design = np.concatenate([np.ones((40, 1)), x], axis=1)
    target = np.asarray(jax.vmap(objective.family.target)(batch.points))
    best, *_ = np.linalg.lstsq(weight[:, None] * design, weight * target, rcond=None)
    found = np.asarray(jax.vmap(lambda p, m: value_of(model, p, m))(batch.points, batch.parameters))
    np.testing.assert_allclose(found, design @ best, rtol=1e-6)


def test_one_slope_step_finds_the_slope():
    """r = a (q W·x + ... − b·x): its gradient in x gives all of b at once."""
    domain = prism.Cube(5, -1.0, 1.0)
    objective, model = objective_of(Regression(domain), 6), affine_model(domain)
    spring = Spring(lift_rate=1.0, lift_damping=1e-12)
    after, *_ = step(spring, objective, model, spring.init(model), objective.draw(model, KEY))
    found = after.lift.weight[:, 1] * model.generator.factor_offset
    np.testing.assert_allclose(found, np.arange(1.0, 6.0), rtol=1e-6)


def test_damping_rescues_a_batch_of_equal_pairs():
    objective, model = objective_of(FAMILY, 4), network()
    batch = objective.draw(model, KEY)
    repeated = lambda rows: jnp.tile(rows[:1], (4, 1))
    same = eqx.tree_at(lambda b: (b.points, b.parameters), batch, replace_fn=repeated)
    spring = Spring(damping=1e-30)
    after, _, info = step(spring, objective, model, spring.init(model), same)
    assert info.finite
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(eqx.filter(after, eqx.is_array)))


# What a step promised is looked up when the next one sees the same batch


def test_a_batch_is_seen_again_every_so_many_steps():
    spring = Spring()
    seen = [int(spring.batch_of(jnp.asarray(number))) for number in range(3 * REVIEW_EVERY + 1)]
    again = {number for number in range(1, len(seen)) if seen[number] == seen[number - 1]}
    assert again == {*range(1, REVIEW_EVERY, 2), *range(REVIEW_EVERY + 1, len(seen), REVIEW_EVERY)}
    new = [batch for number, batch in enumerate(seen) if number not in again]
    assert new == sorted(set(new)), "else every step has a batch that none had before"


def test_damping_and_the_rate_of_the_lift_follow_from_what_was_promised():
    objective, model, spring = objective_of(FAMILY, 4), network(), Spring()
    batch = eqx.tree_at(lambda b: b.number, objective.draw(model, KEY), jnp.asarray(7, jnp.int32))
    _, first, _ = step(spring, objective, model, spring.init(model), batch)
    assert int(first.batch_number) == 7
    now, slopes = float(first.squared_residuals), float(first.squared_slopes)
    assert first.predicted_squared_residuals < now

    def after(number: int, before: float, predicted: float, slopes: float, damping: float = 1e-2) -> list[float]:
        """Damping and rate of the lift once a step sees the batch whose residuals are `now`, from 1e-2 and 0.1."""
        promised = (damping, 0.1, before, predicted, slopes)
        promise = lambda s: (s.squared_residuals, s.predicted_squared_residuals, s.squared_slopes, s.batch_number)
        parts = lambda s: (s.damping, s.lift_rate, *promise(s))
        state = eqx.tree_at(parts, first, (*map(jnp.asarray, promised), jnp.asarray(number, jnp.int32)))
        _, found, _ = step(spring, objective, model, state, batch)
        return [float(found.damping), float(found.lift_rate)]

    kept, broken, promised_nothing = (2 * now, 0.5 * now), (1.1 * now, 0.5 * now), (now, 0.9999 * now)
    assert after(7, *kept, slopes) == pytest.approx([5e-3, 0.15])
    assert after(7, *broken, slopes) == pytest.approx([2e-2, 0.15])
    assert after(7, *promised_nothing, slopes) == pytest.approx([5e-3, 0.15])
    assert after(7, *kept, 0.5 * slopes) == pytest.approx([5e-3, 0.025]), "the slopes became larger"
    assert after(6, *broken, 0.5 * slopes) == pytest.approx([1e-2, 0.1]), "another batch says nothing"
    assert after(7, *kept, slopes, damping=spring.damping) == pytest.approx([spring.damping, 0.15])
    assert after(7, *broken, slopes, damping=MOST_DAMPING) == pytest.approx([MOST_DAMPING, 0.15])


def test_what_is_promised_is_kept_where_rows_are_linear():
    """u = g with the lift in place: the residuals after a step are the predicted ones."""
    domain = prism.Cube(3, -1.0, 1.0)
    objective, model = objective_of(Regression(domain, 1.0), 8), affine_model(domain)
    spring, batch = Spring(lift_by_slopes=False), objective.draw(model, KEY)
    after, first, _ = step(spring, objective, model, spring.init(model), batch)
    _, second, _ = step(spring, objective, after, first, batch)
    np.testing.assert_allclose(second.squared_residuals, first.predicted_squared_residuals, rtol=1e-10)
    assert second.squared_residuals < 0.9 * first.squared_residuals


# Runs


OPTIONS = {
    "slopes": (Spring(), None),
    "kernel": (IN_KERNEL, None),
    "slopes in the loss": (Spring(), Slopes(1)),
}


@pytest.mark.parametrize(("spring", "slopes"), mostly_slow(OPTIONS, "slopes in the loss"))
def test_a_resumed_run_equals_an_uninterrupted_one(spring, slopes):
    def start() -> TrainingState:
        state = TrainingState.create(network(), spring, objective_of(FAMILY, 5, slopes=slopes), KEY)
        return jax.tree.map(lambda leaf: leaf.copy() if eqx.is_array(leaf) else leaf, state)  # a run uses up its state

    program = Program.trace(start(), spring)
    whole, _ = program(start(), 13, 20.0)
    part, _ = program(start(), 5, 20.0)
    resumed, _ = program(part, 8, 20.0)
    assert int(whole.skipped) == 0
    assert eqx.tree_equal(whole, resumed)


def test_spring_learns_a_family():
    family = SineGordon.create(10, KEY)
    settings = Settings.choose(
        family, architecture=Architecture(Dense(16, bias=1.0) + Affine(4), 8, 2, 6, 1), sampling=Sampling(80, 80)
    )
    start = first_state(family, settings)
    state, _ = Program.trace(start, settings.optimiser)(start, 300, 300.0)
    assert int(state.skipped) == 0
    skill = evaluate(state.model, family, KEY, 1_000).skill
    assert skill is not None
    assert skill < 0.5


@pytest.mark.parametrize("independent", [False, True], ids=["shared", "independent"])
def test_the_loss_of_a_step_is_the_objectives(independent):
    """An independent one takes its target from other directions."""
    objective, model, spring = objective_of(FAMILY, 4, Coordinates(2), independent=independent), network(), Spring()
    batch = objective.draw(model, KEY)
    assert (batch.second_draws is not None) is independent
    _, _, info = step(spring, objective, model, spring.init(model), batch)
    rows = objective.rows(model, batch)
    np.testing.assert_allclose(info.loss, rows.loss(), rtol=1e-8)
    assert independent is (abs(float(info.loss) - float(jnp.mean(rows.equation**2))) > 1e-8)


# Refusals


@pytest.mark.parametrize(
    ("spring", "slopes", "message"),
    [
        (Spring(), Slopes(), r"not whole; give slopes=Slopes\(1\), or use Adam"),
        (IN_KERNEL, Slopes(), r"not whole; give slopes=Slopes\(1\), or use Adam"),
    ],
    ids=["whole", "whole, kernel"],
)
def test_slopes_that_it_cannot_use_are_refused_by_name(spring, slopes, message):
    with pytest.raises(InputError, match=message):
        spring.check(slopes)
    with pytest.raises(InputError, match=message):
        Settings.choose(FAMILY, optimiser=spring, slopes=slopes)


def test_slopes_that_it_can_use_are_taken():
    for spring, slopes in ((Spring(), None), (Spring(), Slopes(1)), (IN_KERNEL, None)):
        spring.check(slopes)


@pytest.mark.slow
def test_a_hundred_thousand_dimensions_and_four_hundred_points_fit():
    family = SineGordon.create(100_000, KEY)
    settings = Settings.choose(family, optimiser=Spring(lift_in_kernel=True), sampling=Sampling(400, 400))
    assert Program.trace(state_shapes(family, settings), settings.optimiser).gibibytes < 6.0
