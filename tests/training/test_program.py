"""The compiled loop: a run's bits do not depend on where it was cut, and a batch that cannot fit is refused."""

import equinox as eqx
import jax.numpy as jnp
import pytest
from helpers import KEY
from training.states import Fragile, bare_state, bits

import prism
from prism.errors import Proposal, TooLarge
from prism.families import AllenCahn
from prism.training import loop
from prism.training.advance import TrainingState
from prism.training.checkpoints import Checkpoints
from prism.training.loop import Budget, train
from prism.training.memory import SHARE
from prism.training.optimisers import Optimiser, StepInfo
from prism.training.program import Program, refuse_too_large

STEPS = 23


def test_a_run_cut_anywhere_ends_with_the_same_bits(tmp_path, monkeypatch):
    start = lambda: bare_state(AllenCahn.create(3, KEY))  # a run uses up the state it starts from
    program = Program.trace(start(), prism.Adam())

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

    state, template = after(7), eqx.filter_eval_shape(bare_state, AllenCahn.create(3, KEY))
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(int(state.step), state, {"seconds": 1.0})
    saved = checkpoints.newest(template)
    assert saved is not None
    assert bits(saved[0]) == bits(state)
    resumed, _ = program(saved[0], STEPS - 7, float(STEPS))
    assert bits(resumed) == bits(whole), "resumed from a file"

    for seconds in (1e-9, 1e9):  # one step per call; after the first, all of them in one
        monkeypatch.setattr(loop, "CHUNK_SECONDS", seconds)
        *_, last = train(program, start(), Budget(steps=STEPS), 0.0, lambda state: state)
        assert (last.step, last.fraction, last.skipped) == (STEPS, 1.0, 0)
        assert bits(last.state) == bits(whole), "driven by the loop"


def test_a_program_like_an_earlier_one_is_not_compiled_again():
    family = AllenCahn.create(3, KEY)
    first = Program.trace(bare_state(family), prism.Adam())
    assert Program.trace(bare_state(family), prism.Adam()).traced is first.traced
    assert Program.trace(bare_state(family), prism.Adam(0.1)).traced is not first.traced


class Hungry(Optimiser):
    """Forms a matrix of all pairs of points, so that memory grows with the square of the batch."""

    rate = 1.0

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
    program = lambda points: Program.trace(shapes(points), optimiser)
    advice = lambda share: [Proposal("width", 7, "an architecture of width=7")]
    least, most = program(1).gibibytes, program(2000).gibibytes
    assert most > 10 * least
    refuse = lambda points, fewest, available: refuse_too_large(
        program(points), points, shapes, advice, fewest, available
    )
    refuse(2000, 1, 1.01 * most / SHARE)
    available = 0.4 * most / SHARE
    with pytest.raises(TooLarge, match=r"a batch of 2000 points needs .* GiB .*Sampling\(\d+, \d+\) fits$") as caught:
        refuse(2000, 1, available)
    fitting = caught.value.proposals["points"]
    assert f"; sampling=prism.Sampling({fitting}, {fitting}) fits" in str(caught.value)
    assert 100 < fitting < 2000
    refuse(fitting, 1, available)
    with pytest.raises(TooLarge, match=r"a batch of 2000 points needs .*; an architecture of width=7 fits$"):
        refuse(2000, fitting + 1, available)
