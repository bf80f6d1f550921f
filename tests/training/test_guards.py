"""What fails is named, at the very batch of the step that failed."""

import re

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import mostly_slow
from training.states import Fragile, FragileGradient, FragileSource, FragileTerm, Steep, bare_state

import prism
from prism.derivatives.estimators import Coordinates
from prism.errors import FailedRun
from prism.training import advance, loop
from prism.training.guards import first_non_finite
from prism.training.loop import Budget, train
from prism.training.optimisers import Optimiser, StepInfo
from prism.training.program import Program


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Fragile, r"the residual of Fragile is not finite at a = .* though u and its terms are"),
        (FragileSource, r"the source of FragileSource is not finite at a = "),
        (FragileTerm, r"u\.(lap|value) is not finite at a = "),
        (FragileGradient, r"the gradient of the loss in \w.* is not finite"),
    ],
)
def test_what_fails_is_named(kind, message):
    state = bare_state(kind(prism.Cube(2), 0.5), 8)
    assert re.search(message, first_non_finite(state, prism.Adam()))


def test_a_weight_that_is_not_finite_is_named():
    state = bare_state(Fragile(prism.Cube(2), 2.0), 8)
    broken = eqx.tree_at(lambda s: s.model.manifold.readout, state, replace_fn=lambda w: w.at[0].set(jnp.nan))
    assert "the weight manifold.readout of the network is not finite" in first_non_finite(broken, prism.Adam())


class Watching(Optimiser):
    """Changes nothing, and fails where the residual of the batch is not finite."""

    rate = 1.0

    def init(self, model):
        return jnp.zeros(())

    def step(self, objective, model, state, batch, decay):
        r = objective.equations(model, batch, batch.draws)
        return model, state, StepInfo(jnp.ones(()), jnp.all(jnp.isfinite(r)))


CASES = {
    "a point": (FragileSource(prism.Cube(2), 0.7), prism.Exact(), "the source of FragileSource is not finite at {}"),
    "a direction": (Steep(prism.Cube(2)), Coordinates(1), "u.lap is not finite at {}"),
}


@pytest.mark.parametrize(("family", "estimator", "sentence"), mostly_slow(CASES, "a direction"))
def test_the_batch_that_failed_is_the_one_that_is_looked_at(family, estimator, sentence, monkeypatch):
    """One point and one direction per batch: the next batch would not have failed, or elsewhere."""
    watching = Watching()
    start = lambda: bare_state(family, 1, watching, estimator)
    monkeypatch.setattr(advance, "PATIENCE", 1)
    monkeypatch.setattr(loop, "PATIENCE", 1)
    monkeypatch.setattr(loop, "RESCUES", 0)
    program = Program.trace(start(), watching)
    with pytest.raises(FailedRun, match=r"training failed at step \d+") as caught:
        list(train(program, start(), Budget(steps=1000), 0.0, lambda state: state))
    failed = int(re.search(r"at step (\d+)", str(caught.value))[1]) - 1
    batch = eqx.tree_at(lambda s: s.step, start(), jnp.asarray(failed, jnp.int32)).next_batch(watching)
    assert not np.all(np.isfinite(start().objective.equations(start().model, batch, batch.draws)))
    assert sentence.format(f"a = {float(batch.parameters[0, 0]):.4g}") in str(caught.value)
