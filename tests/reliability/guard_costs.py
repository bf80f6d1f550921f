"""Prints, as JSON, what a step costs with and without its guard, and what the checks of a family add to the start.

    python tests/reliability/guard_costs.py

Steps are timed in random order. The unguarded program is compiled twice: the difference between its two copies is the
noise of the measurement. A start is that of a new process, after the imports: the checks, then all that is compiled
before the first step.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.cli.options import SolveOptions
from prism.numerics.compilation import keep_programs
from prism.numerics.keys import Purpose, stream
from prism.problem.checks.family import check_family
from prism.solving.preparation import prepare
from prism.training import advance

DIMENSION, STEPS, ROUNDS, STARTS, FRESH_STARTS = 100, 20, 60, 7, 3
GUARDED, UNGUARDED, AGAIN = "guarded", "unguarded", "unguarded again"
CHECKED, UNCHECKED = "checked", "unchecked"


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


def options() -> SolveOptions:
    return SolveOptions("allen-cahn", DIMENSION, steps=STEPS, lift="dense:64+affine:4", width=32, depth=2, points=100)


def step_costs() -> dict[str, object]:
    """Seconds per step, by what share the guard lengthens it, and the difference between two copies of one program."""
    family = options().build_family()
    settings = options().build_settings(family)
    state = prepare(family, settings).state
    programs = {GUARDED: steps_of(state, settings.optimiser)}
    advance._step = unguarded
    programs |= {name: steps_of(state, settings.optimiser) for name in (UNGUARDED, AGAIN)}
    times: dict[str, list[float]] = {name: [] for name in programs}
    order, generator = list(programs), random.Random(0)
    for _ in range(ROUNDS):
        generator.shuffle(order)
        for name in order:
            times[name].append(seconds(programs[name]))
    median = {name: statistics.median(found) for name, found in times.items()}
    return {
        "seconds per step": median[GUARDED] / STEPS,
        "share of a step": 2.0 * median[GUARDED] / (median[UNGUARDED] + median[AGAIN]) - 1.0,
        "noise of that share": abs(median[AGAIN] / median[UNGUARDED] - 1.0),
    }


def start(checked: bool) -> None:
    """Print the seconds that a new process needs before its first step, and how many of them the checks take."""
    keep_programs()
    family = options().build_family()
    check = lambda: check_family(family, stream(0, Purpose.CHECK))
    own = seconds(check) if checked else 0.0
    print(json.dumps({"start": seconds(lambda: prepare(family, options().build_settings(family))) + own, "own": own}))


def start_costs() -> dict[str, object]:
    """How much later the first step is with the checks: programs kept from before, and all compiled anew."""
    with tempfile.TemporaryDirectory() as cache:
        started(CHECKED, cache)  # keeps the programs
        kept = [(started(CHECKED, cache), started(UNCHECKED, cache)) for _ in range(STARTS)]
        fresh = [(started(CHECKED, "off"), started(UNCHECKED, "off")) for _ in range(FRESH_STARTS)]
    later = lambda pairs: statistics.median(one["start"] - other["start"] for one, other in pairs)
    return {
        "seconds of checks": later(kept),
        "seconds of first checks": later(fresh),
        "seconds of checks alone": statistics.median(one["own"] for one, _ in kept),
        "seconds of the start": statistics.median(one["start"] for one, _ in kept),
    }


def started(how: str, cache: str) -> dict[str, float]:
    """The seconds of one start, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, how],
        env={**os.environ, "PRISM_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def measure() -> dict[str, object]:
    return {"dimension": DIMENSION, **start_costs(), **step_costs()}


if __name__ == "__main__":
    if sys.argv[1:]:
        start(sys.argv[1] == CHECKED)
    else:
        print(json.dumps(measure()))
