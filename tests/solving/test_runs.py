"""Whole runs: steps that fail, errors on the way that agree with the one at the end, and what is written down."""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY
from training.states import SMALL, Fragile, FragileSource, finite

import prism
from prism.errors import FailedRun
from prism.families import AllenCahn
from prism.objective.batches import Sampling
from prism.reporting.records import RunDirectory
from prism.solving.preparation import first_state, state_shapes
from prism.solving.runs import Record, execute
from prism.solving.settings import Settings
from prism.training.advance import PATIENCE
from prism.training.checkpoints import Checkpoints
from prism.training.loop import Budget


def settings(points: int = 4, **changes) -> Settings:
    return Settings(prism.Exact(), prism.Adam(), SMALL, Sampling(points, points), **changes)


class FragileWithTruth(Fragile):
    """With something to compare u with."""

    def exact(self, x, mu):
        return jnp.sin(mu.a * jnp.sum(x))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run whose batches of 4 points hold one beyond 0.97 in 9 times, and what it wrote down."""
    directory = RunDirectory.new(tmp_path_factory.mktemp("runs") / "run", force=False)
    family = FragileWithTruth(prism.Cube(3), 0.97)
    return execute(family, settings(), Budget(steps=200), Record(directory, {}), show=False), directory


def test_some_failing_steps_do_not_stop_a_run(recorded):
    outcome, _ = recorded
    assert outcome.steps == 200
    assert 5 < outcome.skipped < 60
    assert finite(outcome.solution)
    assert np.isfinite(outcome.loss)
    assert outcome.report()["skipped_steps"] == outcome.skipped


def test_the_errors_written_down_agree_with_the_one_at_the_end(recorded):
    """Two samples of one error: within 4 of their combined standard errors, and neither is drawn on a curve."""
    outcome, directory = recorded
    report, last = outcome.report(), directory.metrics()[-1]
    assert last["step"] == report["steps"] == 200
    shown, held_out = last["relative_l2"], report["relative_l2"]
    errors = last["relative_l2_standard_error"], report["relative_l2_standard_error"]
    assert abs(shown - held_out) < 4 * math.hypot(*errors)
    assert 0.0 < errors[1] < errors[0] < 0.1 * held_out, "the comparison says something"


def test_a_run_that_only_fails_is_given_up_and_says_why(tmp_path):
    # The 8 points of the check miss the twentieth beyond 0.95; a batch of 200 does not.
    family, directory = FragileSource(prism.Cube(3), 0.95), RunDirectory.new(tmp_path / "run", force=False)
    often = settings(200, checkpoint_seconds=1e-6)
    with pytest.raises(FailedRun, match=r"the source of FragileSource is not finite at a = \d.*steps skipped"):
        execute(family, often, Budget(steps=10**6), Record(directory, {}), show=False)
    saved = Checkpoints(directory.checkpoints).newest(state_shapes(family, often))
    assert saved is not None
    assert finite(saved[0].model)
    assert all(record["step"] < PATIENCE for record in directory.metrics()), "back to the checkpoint each time"


def test_the_shapes_of_a_state_are_those_of_the_state():
    family, chosen = AllenCahn.create(3, KEY), settings()
    state = first_state(family, chosen)
    assert eqx.tree_equal(eqx.filter_eval_shape(lambda: state), state_shapes(family, chosen))
