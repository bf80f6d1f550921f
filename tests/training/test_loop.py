"""The loop: a run's bits do not depend on where it was cut, and steps that fail are skipped, counted and named."""

import re
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY

import prism
from prism.errors import FailedRun, InputError
from prism.families import AllenCahn
from prism.networks.model import Model
from prism.objective.objective import Objective, Sampling
from prism.reporting.records import RunDirectory
from prism.solving.runs import Record, execute
from prism.solving.runs import first_state as completed_state
from prism.solving.settings import Settings
from prism.training import loop
from prism.training.advance import PATIENCE, TrainingState, advance
from prism.training.checkpoints import Checkpoints
from prism.training.guards import first_non_finite
from prism.training.loop import RESCUES, Budget, train
from prism.training.memory import SHARE
from prism.training.optimisers import Optimiser, StepInfo
from prism.training.program import Program, compile_within_memory

STEPS = 23
SMALL = prism.Architecture(lift_width=6, width=6, depth=2, generator_width=6, generator_depth=1)


def settings(points: int = 4, **changes) -> Settings:
    sampling = Sampling(points, points, crossed=False)
    return Settings(prism.Exact(), prism.Adam(), SMALL, sampling, **changes)


def first_state(family: prism.Family, chosen: Settings) -> TrainingState:
    return completed_state(family, chosen.completed(family))


def bare_state(family: prism.Family, points: int = 4, optimiser: Optimiser | None = None) -> TrainingState:
    """A state without the compilation that calibrating it takes: the network's weights are all 0.1."""
    shapes = eqx.filter_eval_shape(Model.create, SMALL, family.domain, family.parameters, KEY)
    is_shape = lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)
    model = jax.tree.map(lambda leaf: jnp.full(leaf.shape, 0.1) if is_shape(leaf) else leaf, shapes, is_leaf=is_shape)
    objective = Objective(family, prism.Exact(), jnp.ones(()), Sampling(points, points, crossed=False))
    state = TrainingState.create(model, optimiser or prism.Adam(), objective, KEY)
    return jax.tree.map(lambda leaf: leaf.copy() if eqx.is_array(leaf) else leaf, state)  # no array twice


def same(state: TrainingState) -> TrainingState:
    return state


def bits(tree) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]


def finite(tree) -> bool:
    return all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array)))


# Families that fail somewhere


class Fragile(prism.Family):
    """Δu + a u = 1 on a cube, where something is not finite for x₁ beyond `edge`."""

    domain: prism.Cube
    edge: float = eqx.field(static=True)
    parameters = prism.Uniform(a=(0.5, 1.5))
    terms = {"lap": prism.Laplacian()}

    def beyond(self, x, value):
        return jnp.where(x[0] > self.edge, value, 0.0)

    def residual(self, u, x, mu):
        return u.lap + mu.a * u.value - 1.0 + self.beyond(x, jnp.nan)


class FragileSource(Fragile):
    def residual(self, u, x, mu):
        return u.lap + mu.a * u.value - self.source(x, mu)

    def source(self, x, mu):
        return 1.0 + self.beyond(x, jnp.inf)


class FragileTerm(Fragile):
    def residual(self, u, x, mu):
        return u.lap + mu.a * u.value - 1.0

    def constraint(self):
        return prism.HardConstraint(factor=lambda x, mu: 1.0 + self.beyond(x, jnp.inf) * x[1] ** 2)


class FragileGradient(Fragile):
    def residual(self, u, x, mu):
        root = jnp.sqrt(jnp.maximum(0.0, u.value - u.value))
        return u.lap + mu.a * u.value - 1.0 + self.beyond(x, 1.0) * root


# Bits


def test_a_run_cut_anywhere_ends_with_the_same_bits(tmp_path, monkeypatch):
    start = lambda: first_state(AllenCahn.create(3, KEY), settings())  # a run uses up the state it starts from
    program = Program.compile(start(), settings().optimiser)

    def after(*chunks: int) -> TrainingState:
        state = start()
        for count in chunks:
            state, _ = program(state, count, float(STEPS))
        return state

    whole = after(STEPS)
    assert int(whole.step) == STEPS
    assert int(whole.skipped) == 0
    assert bits(whole.model) != bits(start().model)
    for chunks in ([1] * STEPS, [7, 16], [0, 22, 1]):
        assert bits(after(*chunks)) == bits(whole)

    state, template = after(7), eqx.filter_eval_shape(first_state, AllenCahn.create(3, KEY), settings())
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(int(state.step), state, {"seconds": 1.0})
    saved = checkpoints.newest(template)
    assert saved is not None
    assert bits(saved[0]) == bits(state)
    resumed, _ = program(saved[0], STEPS - 7, float(STEPS))
    assert bits(resumed) == bits(whole), "resumed from a file"

    for seconds in (1e-9, 1e9):  # one step a call; after the first, all of them in one
        monkeypatch.setattr(loop, "CHUNK_SECONDS", seconds)
        *_, last = train(program, start(), Budget(steps=STEPS), 0.0, same)
        assert (last.step, last.fraction, last.skipped) == (STEPS, 1.0, 0)
        assert bits(last.state) == bits(whole), "driven by the loop"


# The rate and the counts, with an optimiser that only writes down what it is given


class Recorder(Optimiser):
    """Remembers the decay of every step; those that `fails` names are not finite and would break the model."""

    length: int = eqx.field(static=True)
    fails: frozenset[int] = eqx.field(static=True, default=frozenset())

    def init(self, model):
        return jnp.zeros((), jnp.int32), jnp.full(self.length, jnp.nan)

    def step(self, objective, model, state, batch, decay):
        count, decays = state
        failed = jnp.isin(count, jnp.asarray(sorted(self.fails) or [-1]))
        scale = jnp.where(failed, jnp.nan, 1.0)
        broken = jax.tree.map(lambda leaf: leaf * scale if eqx.is_inexact_array(leaf) else leaf, model)
        after = count + 1, decays.at[count].set(decay)
        return broken, after, StepInfo(jnp.where(failed, jnp.nan, 2.0), ~failed)


def recorded_state(recorder: Recorder) -> TrainingState:
    return bare_state(Fragile(prism.Cube(2), 0.5), optimiser=recorder)


def run_steps(state: TrainingState, recorder: Recorder, count: int, horizon: float) -> tuple[TrainingState, float]:
    after, loss = eqx.filter_jit(advance)(state, recorder, jnp.asarray(count), jnp.asarray(horizon))
    return after, float(loss)


def test_the_rate_decays_linearly_to_zero():
    recorder = Recorder(12)
    after, loss = run_steps(recorded_state(recorder), recorder, 12, 10.0)
    # Rates are single precision.
    np.testing.assert_allclose(after.optimiser[1], [*(1.0 - np.arange(10) / 10), 0.0, 0.0], atol=1e-7)
    assert loss == 2.0
    halved = eqx.tree_at(lambda s: s.rate_factor, recorded_state(recorder), jnp.asarray(0.5, jnp.float32))
    after, _ = run_steps(halved, recorder, 3, 10.0)
    np.testing.assert_allclose(after.optimiser[1][:3], [0.5, 0.45, 0.4], atol=1e-7)


def test_failed_steps_leave_the_state_alone_and_are_counted():
    # A failed step does not advance the recorder's own count, so naming one step makes all later ones fail.
    recorder = Recorder(100, frozenset({3}))
    before = recorded_state(recorder)
    after, loss = run_steps(before, recorder, 50, 100.0)
    assert int(after.step) == 3 + PATIENCE, "the call ends early"
    assert int(after.skipped) == int(after.skipped_in_a_row) == PATIENCE
    assert int(after.optimiser[0]) == 3
    assert loss == 2.0, "the mean over the steps that counted"
    assert bits(after.model) == bits(before.model)


def test_a_failing_run_goes_back_and_halves_its_rate():
    recorder = Recorder(100, frozenset({3}))
    program = Program.compile(recorded_state(recorder), recorder)
    failing, seen = [], []

    def restore(state: TrainingState) -> TrainingState:
        failing.append(int(state.skipped))
        return recorded_state(recorder)  # at step 0, as from a checkpoint

    def run() -> None:
        for progress in train(program, recorded_state(recorder), Budget(steps=1000), 0.0, restore):
            seen.append((progress.step, float(progress.state.rate_factor), finite(progress.state.model)))

    with pytest.raises(FailedRun, match=rf"training failed at step {3 + PATIENCE}: .*rate lowered {RESCUES} times"):
        run()
    assert failing == [PATIENCE * (k + 1) for k in range(RESCUES)]
    factors = [factor for _, factor, _ in seen]
    assert sorted(set(factors), reverse=True) == [0.5**k for k in range(RESCUES + 1)]
    assert [step for step, factor, _ in seen].count(0) == RESCUES, "back to the checkpoint each time"
    assert all(finite for _, _, finite in seen)


# The budget of minutes, by a clock that only the program moves


class Clock:
    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@dataclass(frozen=True)
class Pretended(Program):
    """A program whose k-th step of a run takes `seconds[k]` (the last for all that follow) and does nothing."""

    clock: Clock | None = None
    seconds: tuple[float, ...] = (0.01,)
    horizons: tuple[list, ...] = ()

    def __call__(self, state, count, horizon):
        assert self.clock is not None
        first = int(state.step)
        taken = [self.seconds[min(k, len(self.seconds) - 1)] for k in range(first, first + count)]
        self.clock.now += sum(taken)
        self.horizons[0].append((first, count, horizon))
        return eqx.tree_at(lambda s: s.step, state, jnp.asarray(first + count, jnp.int32)), jnp.ones(())


@pytest.mark.parametrize("spent", [0.0, 4.0])
@pytest.mark.parametrize("seconds", [(0.01,), (0.3, 0.01), (0.001,), (0.4,)], ids=str)
def test_minutes_are_kept(monkeypatch, seconds, spent):
    clock = Clock()
    monkeypatch.setattr(loop, "time", clock)
    program = Pretended(None, None, clock, seconds, ([],))
    recorder = Recorder(1)
    *_, last = train(program, recorded_state(recorder), Budget(minutes=0.1), spent, same)
    assert last.seconds == pytest.approx(spent + clock.now)
    # Spent up to the step that would not fit any more.
    assert 6.0 - seconds[-1] - 1e-6 <= last.seconds <= 6.0 + 1e-6
    first, count, horizon = program.horizons[0][-1]
    assert first + count == last.step
    assert horizon == pytest.approx(last.step, abs=1.0 + 0.01 * last.step), "the rate ends near zero"


def test_a_spent_budget_takes_no_step(monkeypatch):
    program = Pretended(None, None, Clock(), (0.01,), ([],))
    state = recorded_state(Recorder(1))
    assert list(train(program, state, Budget(minutes=0.1), 6.0, same)) == []
    later = eqx.tree_at(lambda s: s.step, state, jnp.asarray(10, jnp.int32))
    assert list(train(program, later, Budget(steps=10), 0.0, same)) == []
    assert list(train(program, later, Budget(steps=5), 0.0, same)) == []


@pytest.mark.parametrize(
    "budget", [{}, {"steps": 1, "minutes": 1.0}, {"steps": 0}, {"minutes": 0.0}, {"minutes": float("inf")}], ids=str
)
def test_a_budget_is_one_positive_number(budget):
    with pytest.raises(InputError, match=r"--steps|--minutes"):
        Budget(**budget)


# Steps that are not finite


def test_some_failing_steps_do_not_stop_a_run():
    # One batch of 4 points in 9 holds a point beyond 0.97.
    outcome = execute(Fragile(prism.Cube(3), 0.97), settings(), Budget(steps=200), show=False)
    assert outcome.steps == 200
    assert 5 < outcome.skipped < 60
    assert finite(outcome.solution)
    assert np.isfinite(outcome.loss)
    assert outcome.report()["skipped_steps"] == outcome.skipped


def test_a_run_that_only_fails_is_given_up_and_says_why(tmp_path):
    # The 8 points of the check miss the twentieth beyond 0.95; a batch of 200 does not.
    family, directory = FragileSource(prism.Cube(3), 0.95), RunDirectory.new(tmp_path / "run", force=False)
    often = settings(200, checkpoint_seconds=1e-6)
    with pytest.raises(FailedRun, match=r"the source of FragileSource is not finite at a = \d.*steps skipped"):
        execute(family, often, Budget(steps=10**6), Record(directory, {}), show=False)
    template = eqx.filter_eval_shape(first_state, family, often)
    saved = Checkpoints(directory.checkpoints).newest(template)
    assert saved is not None
    assert finite(saved[0].model)
    assert all(record["step"] < PATIENCE for record in directory.metrics()), "back to the checkpoint each time"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Fragile, r"the residual of Fragile is not finite at a = .* though u and its terms are"),
        (FragileTerm, r"u\.(lap|value) is not finite at a = "),
        (FragileGradient, r"the gradient of the loss in \w.* is not finite"),
    ],
)
def test_what_fails_is_named(kind, message):
    state = bare_state(kind(prism.Cube(2), 0.5), 8)
    assert re.search(message, first_non_finite(state))


def test_a_weight_that_is_not_finite_is_named():
    state = bare_state(Fragile(prism.Cube(2), 2.0), 8)
    broken = eqx.tree_at(lambda s: s.model.manifold.readout, state, replace_fn=lambda w: w.at[0].set(jnp.nan))
    assert "the weight manifold.readout of the network is not finite" in first_non_finite(broken)


# Memory


class Hungry(Optimiser):
    """Forms a matrix of all pairs of points, so that memory grows with the square of the batch."""

    def init(self, model):
        return jnp.zeros(())

    def step(self, objective, model, state, batch, decay):
        products = jnp.cumsum(batch.points @ batch.points.T, axis=1)
        loss = jnp.mean(products @ products)
        return model, state + loss, StepInfo(loss, jnp.isfinite(loss))


def test_a_batch_that_does_not_fit_is_refused_and_the_one_named_is_accepted():
    optimiser = Hungry()
    family = Fragile(prism.Cube(2), 0.5)
    shapes = lambda points: eqx.filter_eval_shape(bare_state, family, points, optimiser)
    least, most = (Program.compile(shapes(points), optimiser).gibibytes for points in (1, 2000))
    assert most > 10 * least
    assert compile_within_memory(shapes, optimiser, 2000, 1.01 * most / SHARE).gibibytes == most
    available = 0.4 * most / SHARE
    with pytest.raises(InputError, match=r"a batch of 2000 points needs .* GiB .*--points \d+ fits") as caught:
        compile_within_memory(shapes, optimiser, 2000, available)
    fitting = int(re.search(r"--points (\d+) fits", str(caught.value))[1])
    assert 100 < fitting < 2000
    assert compile_within_memory(shapes, optimiser, fitting, available).gibibytes <= SHARE * available
    with pytest.raises(InputError, match=r"one point alone needs .* smaller --dim"):
        compile_within_memory(shapes, optimiser, 2000, 0.5 * least)
