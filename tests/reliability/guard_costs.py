"""Prints, as JSON, what a step costs with and without its guard, and what the checks of a family add to the start.

    python tests/reliability/guard_costs.py

Steps are of Allen-Cahn in 100 dimensions (`STEPS`: default settings, Adam, a small network), compiled as in a run, on
one core so that nothing waits for another thread, programs in random order. The unguarded program is compiled twice:
a guarded step is compared with the mean of both. A start is that of a new process, after the
imports: the checks, then all that is compiled before the first step.
"""

import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.cli.options import SolveOptions
from prism.numerics import ahead
from prism.numerics.compilation import keep_programs
from prism.numerics.keys import Purpose, stream
from prism.problem.checks.family import check_family
from prism.solving.preparation import first_state, prepare
from prism.training import advance
from prism.training.program import Program

DIMENSION, SECONDS_PER_CALL, ROUNDS, STARTS = 100, 0.25, 60, 5
GUARDED, UNGUARDED, AGAIN = "guarded", "unguarded", "unguarded again"
CHECKED, UNCHECKED = "checked", "unchecked"
SMALL = {"lift": "dense:64+affine:4", "width": 32, "depth": 2, "points": 100}
STEPS = {
    "spring": SolveOptions("allen-cahn", DIMENSION, steps=1000),
    "adam": SolveOptions("allen-cahn", DIMENSION, steps=1000, optimiser="adam"),
    "small spring": SolveOptions("allen-cahn", DIMENSION, steps=1000, **SMALL),
}
"""Steps with the default settings, and small ones, of which a guard is a larger share."""
STARTED = (("allen-cahn", 100), ("hjb-log", 250))


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


def program_of(state, optimiser) -> Program:
    """Many steps in one call, compiled."""
    ahead._traced.cache_clear()  # it does not see that advance._step was replaced
    program = Program.trace(state, optimiser)
    program.compile()
    return program


def copied(state):
    """A copy of the state, which a program may use up."""
    return jax.block_until_ready(jax.tree.map(lambda leaf: jnp.array(leaf) if eqx.is_array(leaf) else leaf, state))


def after_steps(program: Program, state, steps: int):
    """The arrays after so many steps."""
    return eqx.filter(program(state, steps, 1000.0), eqx.is_array)


def standard_error(values: list[float]) -> float:
    """Of the median, by the median deviation from it, as for a normal law."""
    middle = statistics.median(values)
    deviation = 1.4826 * statistics.median(abs(value - middle) for value in values)
    return (math.pi / 2 / len(values)) ** 0.5 * deviation


def step_costs(options: SolveOptions) -> dict[str, float]:
    """Seconds per step, by what share the guard lengthens it, and the difference between two copies of one program."""
    family = options.build_family()
    settings = options.build_settings(family)
    state, optimiser = first_state(family, settings), settings.optimiser
    programs, guarded = {GUARDED: program_of(state, optimiser)}, advance._step
    advance._step = unguarded
    programs |= {name: program_of(state, optimiser) for name in (UNGUARDED, AGAIN)}
    advance._step = guarded
    run = lambda name, steps: seconds(partial(after_steps, programs[name], copied(state), steps))
    steps = max(1, round(SECONDS_PER_CALL / min(run(GUARDED, 1) for _ in range(3))))
    times: dict[str, list[float]] = {name: [] for name in programs}
    order, generator = list(programs), random.Random(0)
    for _ in range(ROUNDS):
        generator.shuffle(order)
        for name in order:
            times[name].append(run(name, steps) / steps)
    shares = [
        2.0 * one / (other + again) - 1.0
        for one, other, again in zip(*(times[name] for name in (GUARDED, UNGUARDED, AGAIN)), strict=True)
    ]
    median = {name: statistics.median(found) for name, found in times.items()}
    return {
        "seconds per step": median[GUARDED],
        "share of a step": statistics.median(shares),
        "standard error": standard_error(shares),
        "between copies": abs(median[AGAIN] / median[UNGUARDED] - 1.0),
    }


def start(checked: bool, name: str, dimension: int) -> None:
    """Print the seconds that a new process needs before its first step."""
    keep_programs()
    options = SolveOptions(name, dimension, steps=20)
    family = options.build_family()
    check = lambda: check_family(family, stream(0, Purpose.CHECK))
    own = seconds(check) if checked else 0.0
    print(json.dumps({"start": seconds(lambda: prepare(family, options.build_settings(family))) + own}))


def start_costs(name: str, dimension: int) -> dict[str, float]:
    """How much later the first step of a family is with the checks: the first time, and once it is known."""
    first, later = [], []
    for _ in range(STARTS):
        with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as unchecked:
            first.append((started(CHECKED, cache, name, dimension), started(UNCHECKED, unchecked, name, dimension)))
            later.append((started(CHECKED, cache, name, dimension), started(UNCHECKED, cache, name, dimension)))
    delay = lambda pairs: statistics.median(one - other for one, other in pairs)
    return {
        "seconds of first checks": delay(first),
        "seconds of the first start": statistics.median(one for one, _ in first),
        "seconds of later checks": delay(later),
        "seconds of a later start": statistics.median(one for one, _ in later),
    }


def started(how: str, cache: str, name: str, dimension: int) -> float:
    """The seconds of one start, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, how, name, str(dimension)],
        env={**os.environ, "PRISM_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)["start"]


def measure() -> dict[str, object]:
    """Starts on all cores, then steps on one."""
    starts = {f"{name}, {dimension} D": start_costs(name, dimension) for name, dimension in STARTED}
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return {"starts": starts, "steps": {name: step_costs(options) for name, options in STEPS.items()}}


if __name__ == "__main__":
    if sys.argv[1:]:
        start(sys.argv[1] == CHECKED, sys.argv[2], int(sys.argv[3]))
    else:
        print(json.dumps(measure()))
