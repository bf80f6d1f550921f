"""Whole runs: steps that fail, errors on the way that agree with the one at the end, and what is written down."""

import math
import os
import signal

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
from prism.solving import runs
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
    record = Record(directory, {})  # unchecked: its exact solution is something to compare with, and solves nothing
    return execute(family, settings(), Budget(steps=200), record, show=False, check=False), directory


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
    assert last.step == report["steps"] == 200
    shown, held_out = last.relative_l2, report["relative_l2"]
    errors = last.relative_l2_standard_error, report["relative_l2_standard_error"]
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
    assert all(record.step < PATIENCE for record in directory.metrics()), "back to the checkpoint each time"


def test_the_shapes_of_a_state_are_those_of_the_state():
    family, chosen = AllenCahn.create(3, KEY), settings()
    state = first_state(family, chosen)
    assert eqx.tree_equal(eqx.filter_eval_shape(lambda: state), state_shapes(family, chosen))


# What is no result


def test_a_training_whose_steps_were_all_skipped_is_no_result(tmp_path):
    directory = RunDirectory.new(tmp_path / "run", force=False)
    with pytest.raises(FailedRun, match=r"training failed: all of its 3 steps were skipped, for .*not finite"):
        execute(FragileSource(prism.Cube(3), -1.0), settings(), Budget(3), Record(directory, {}), False, check=False)
    assert Checkpoints(directory.checkpoints).newest_record() is None
    assert not directory.model.exists()


class WithTruthInPlaces(Fragile):
    """Whose exact solution does not exist at some points."""

    def exact(self, x, mu):
        return jnp.where(x[0] > 0.9, jnp.nan, mu.a * jnp.sum(x))


def test_what_was_trained_is_kept_where_the_exact_solution_does_not_exist():
    outcome = execute(WithTruthInPlaces(prism.Cube(3), 2.0), settings(), Budget(steps=2), show=False, check=False)
    assert outcome.steps == 2
    assert outcome.unmeasured is not None
    assert "the exact solution is not finite at" in outcome.unmeasured
    assert outcome.solution.training.doubts == (outcome.unmeasured,)


def test_a_signal_during_compilation_leaves_the_earlier_run_in_the_directory(tmp_path, monkeypatch):
    family, record = Fragile(prism.Cube(3), 2.0), lambda: Record(RunDirectory.new(tmp_path / "run", force=True), {})
    execute(family, settings(), Budget(steps=2), record(), show=False, check=False, judge=False)
    before = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    prepare = runs.prepare

    def interrupted(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        return prepare(*arguments)

    monkeypatch.setattr(runs, "prepare", interrupted)
    with pytest.raises(KeyboardInterrupt):
        execute(family, settings(), Budget(steps=1), record(), show=False, check=False, judge=False)
    assert sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir()) == before
