"""Many steps inside one compiled call, guarded against non-finite ones.

The number of steps and the horizon of the decay are arguments, so one executable serves any chunking of a run and
a run's bits do not depend on where it was cut.
"""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt32

from prism.numerics.keys import item
from prism.training.optimisers import Optimiser

PATIENCE = 25
"""Non-finite steps in a row after which a run counts as failing."""


class TrainingState(eqx.Module):
    """All that a run is: saved whole in every checkpoint."""

    model: Any
    """The network: a module of equinox."""
    optimiser_state: Any
    objective: Any
    """What is minimised: it draws a batch for a network, and gives the loss of one."""
    key_data: UInt32[Array, "words"]
    step: Int[Array, ""]
    skipped: Int[Array, ""]
    skipped_in_a_row: Int[Array, ""]
    rate_factor: Float[Array, ""]

    @staticmethod
    def create(model: Any, optimiser: Optimiser, objective: Any, key: Array) -> "TrainingState":
        zero = jnp.zeros((), jnp.int32)
        data, one = jax.random.key_data(key), jnp.ones((), jnp.float32)
        return TrainingState(model, optimiser.init(model), objective, data, zero, zero, zero, one)

    def next_batch(self, optimiser: Optimiser) -> Any:
        """The batch of the next step, which the key and the number of the batch decide; points that climb are others
        for every network, so that none of their batches is seen again."""
        number = optimiser.batch_of(self.step) if self.objective.repeats_batches else self.step
        batch = self.objective.draw(self.model, item(jax.random.wrap_key_data(self.key_data), number))
        return replace(batch, number=number)


def advance(
    state: TrainingState, optimiser: Optimiser, count: Int[Array, ""], horizon: Float[Array, ""]
) -> tuple[TrainingState, Float[Array, ""]]:
    """Up to `count` steps at rates decaying linearly to zero at step `horizon`; and their mean loss (of none: NaN).

    A step whose loss or gradient is not finite leaves the state as it was and is counted. The call ends early after
    PATIENCE of them in a row.
    """
    arrays, static = eqx.partition(state, eqx.is_array)
    end = state.step + count

    def unfinished(carry) -> Array:
        arrays, _ = carry
        return (arrays.step < end) & (arrays.skipped_in_a_row < PATIENCE)

    def body(carry):
        arrays, total = carry
        now = eqx.combine(arrays, static)
        after, loss, finite = _step(now, optimiser, horizon)
        return eqx.filter(after, eqx.is_array), total + jnp.where(finite, loss, 0.0)

    arrays, total = jax.lax.while_loop(unfinished, body, (arrays, jnp.zeros(())))
    after = eqx.combine(arrays, static)
    good = (after.step - state.step) - (after.skipped - state.skipped)
    return after, jnp.where(good > 0, total / jnp.maximum(good, 1), jnp.nan)


def _step(state: TrainingState, optimiser: Optimiser, horizon: Array) -> tuple[TrainingState, Array, Array]:
    decay = state.rate_factor * jnp.maximum(0.0, 1.0 - state.step / horizon)
    batch = state.next_batch(optimiser)
    model, inner, info = optimiser.step(state.objective, state.model, state.optimiser_state, batch, decay)
    keep = lambda new, old: jnp.where(info.finite, new, old) if eqx.is_array(new) else new
    model, inner = jax.tree.map(keep, (model, inner), (state.model, state.optimiser_state))
    failed = (~info.finite).astype(jnp.int32)
    after = TrainingState(
        model,
        inner,
        state.objective,
        state.key_data,
        state.step + 1,
        state.skipped + failed,
        jnp.where(info.finite, 0, state.skipped_in_a_row + 1),
        state.rate_factor,
    )
    return after, info.loss, info.finite
