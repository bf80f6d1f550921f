"""Prints, as JSON, what a step costs with and without its guard, and what the checks of a family cost at the start."""

import json
import statistics
import time
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.cli.options import SolveOptions
from prism.numerics.compilation import keep_programs
from prism.numerics.keys import Purpose, stream
from prism.problem.checks.family import check_family
from prism.problem.fingerprint import fingerprint
from prism.solving.preparation import prepare
from prism.training import advance

DIMENSION, STEPS, ROUNDS = 100, 20, 15


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    jax.block_until_ready(work())
    return time.perf_counter() - begun


def unguarded(state, optimiser, horizon):
    """A step that is taken whatever it holds."""
    decay = state.rate_factor * jnp.maximum(0.0, 1.0 - state.step / horizon)
    batch = state.next_batch(optimiser)
    model, inner, info = optimiser.step(state.objective, state.model, state.optimiser_state, batch, decay)
    after = advance.TrainingState(
        model,
        inner,
        state.objective,
        state.key_data,
        state.step + 1,
        state.skipped,
        state.skipped_in_a_row,
        state.rate_factor,
    )
    return after, info.loss, jnp.ones((), bool)


def steps_of(state, optimiser) -> Callable[[], object]:
    """Many steps in one compiled call, compiled."""
    arrays, static = eqx.partition(state, eqx.is_array)
    count, horizon = jnp.asarray(STEPS, jnp.int32), jnp.asarray(1000.0)

    def run(arrays):
        after, loss = advance.advance(eqx.combine(arrays, static), optimiser, count, horizon)
        return eqx.filter(after, eqx.is_array), loss

    compiled = jax.jit(run).lower(arrays).compile()
    return lambda: compiled(arrays)


def measure() -> dict[str, object]:
    keep_programs()
    options = SolveOptions(
        "allen-cahn", DIMENSION, steps=STEPS, lift="dense:64+affine:4", width=32, depth=2, points=100
    )
    family = options.build_family()
    settings = options.build_settings(family)
    state = prepare(family, settings).state
    guarded = steps_of(state, settings.optimiser)
    advance._step = unguarded
    without = steps_of(state, settings.optimiser)
    check = lambda: check_family(family, stream(0, Purpose.CHECK))
    first = seconds(check)
    jax.clear_caches()  # as in a new process, which finds the programs that were kept
    pairs = [(seconds(guarded), seconds(without)) for _ in range(ROUNDS)]
    return {
        "dimension": DIMENSION,
        "seconds per step": statistics.median(with_it for with_it, _ in pairs) / STEPS,
        "share of a step": statistics.median(with_it / without_it for with_it, without_it in pairs) - 1.0,
        "seconds of checks": seconds(check),
        "seconds of first checks": first,
        "seconds of the fingerprint": seconds(lambda: fingerprint(family)),
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
