"""Many steps in one call: their rates, their batches, and those that fail."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from training.states import Fragile, Recorder, bare_state, bits, recorded_state

import prism
from prism.training.advance import PATIENCE, TrainingState, advance


def run_steps(state: TrainingState, recorder: Recorder, count: int, horizon: float) -> tuple[TrainingState, float]:
    after, loss = eqx.filter_jit(advance)(state, recorder, jnp.asarray(count), jnp.asarray(horizon))
    return after, float(loss)


def test_the_rate_decays_linearly_to_zero():
    recorder = Recorder(12)
    after, loss = run_steps(recorded_state(recorder), recorder, 12, 10.0)
    # Rates are single precision.
    np.testing.assert_allclose(after.optimiser_state[1], [*(1.0 - np.arange(10) / 10), 0.0, 0.0], atol=1e-7)
    assert loss == 2.0
    halved = eqx.tree_at(lambda s: s.rate_factor, recorded_state(recorder), jnp.asarray(0.5, jnp.float32))
    after, _ = run_steps(halved, recorder, 3, 10.0)
    np.testing.assert_allclose(after.optimiser_state[1][:3], [0.5, 0.45, 0.4], atol=1e-7)


def test_failed_steps_leave_the_state_alone_and_are_counted():
    # A failed step does not advance the recorder's own count, so naming one step makes all later ones fail.
    recorder = Recorder(100, frozenset({3}))
    before = recorded_state(recorder)
    after, loss = run_steps(before, recorder, 50, 100.0)
    assert int(after.step) == 3 + PATIENCE, "the call ends early"
    assert int(after.skipped) == int(after.skipped_in_a_row) == PATIENCE
    assert int(after.optimiser_state[0]) == 3
    assert loss == 2.0, "the mean over the steps that counted"
    assert bits(after.model) == bits(before.model)


def test_no_step_has_no_loss():
    recorder = Recorder(1)
    _, loss = run_steps(recorded_state(recorder), recorder, 0, 10.0)
    assert np.isnan(loss)


class EverySecond(prism.Adam):
    """Sees every batch twice."""

    def batch_of(self, step):
        return step - step % 2


@pytest.mark.parametrize(("optimiser", "repeats"), [(prism.Adam(), False), (EverySecond(), True)], ids=["own", "twice"])
def test_seed_and_number_decide_a_batch(optimiser, repeats):
    state = bare_state(Fragile(prism.Cube(2), 2.0))
    at = lambda step: eqx.tree_at(lambda s: s.step, state, jnp.asarray(step, jnp.int32)).next_batch(optimiser)
    first, same, second, third = at(0), at(0), at(1), at(2)
    points = lambda batch: batch.points.tobytes() + batch.parameters.tobytes()
    assert eqx.tree_equal(first, same)
    assert (points(first) == points(second)) is repeats
    assert [int(batch.number) for batch in (first, second, third)] == ([0, 0, 2] if repeats else [0, 1, 2])
    assert points(third) not in (points(first), points(second))
