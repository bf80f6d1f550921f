"""`advance`, compiled ahead of time: its memory is known, and judged, before anything is allocated."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from prism.errors import Proposal, TooLarge
from prism.numerics.ahead import TracedFunction, trace
from prism.numerics.memory import available_bytes
from prism.training.advance import TrainingState, advance
from prism.training.memory import SHARE, compiled_bytes
from prism.training.optimisers import Optimiser

GIBIBYTE = 1024.0**3
TRIES = 3
"""How many batches are compiled in search of one that fits."""


@dataclass(frozen=True)
class Program:
    """`advance` for one shape of state: traced first, compiled by `compile`."""

    traced: TracedFunction
    optimiser: Optimiser

    @staticmethod
    def trace(state: TrainingState, optimiser: Optimiser) -> "Program":
        """From a state, or from its shapes alone."""
        count, horizon = jnp.zeros((), jnp.int32), jnp.zeros((), jnp.float32)
        options = optimiser.compiler_options
        return Program(trace(advance, state, optimiser, count, horizon, options=options, donate=(0,)), optimiser)

    def __call__(self, state: TrainingState, count: int, horizon: float) -> tuple[TrainingState, jax.Array]:
        return self.traced(state, self.optimiser, jnp.asarray(count, jnp.int32), jnp.asarray(horizon, jnp.float32))

    def lower(self) -> None:
        """What of compiling is work of Python, done before a thread compiles."""
        self.traced.lower()

    def compile(self) -> jax.stages.Compiled:
        """The executable, compiled when it is first asked for."""
        return self.traced.compile()

    @property
    def gibibytes(self) -> float:
        return compiled_bytes(self.compile()) / GIBIBYTE

    @property
    def state_gibibytes(self) -> float:
        """Of these, what the state takes, whatever the batch."""
        analysis = self.compile().memory_analysis()
        return 0.0 if analysis is None else analysis.argument_size_in_bytes / GIBIBYTE


def refuse_too_large(
    program: Program,
    points: int,
    shapes: Callable[[int], TrainingState],
    advice: Callable[[float], Iterable[Proposal]],
    fewest: int = 1,
    available: float | None = None,
) -> None:
    """Refuse a program for a batch of `points` that needs more memory than there is, and name a batch that fits.

    `shapes(n)` gives the shapes of the state for n points. Where less than the `fewest` points fit, `advice` says what
    else to make smaller so that no more than a part of the memory is needed; `available` is in GiB.
    """
    limit = SHARE * (available_bytes() / GIBIBYTE if available is None else available)
    if program.gibibytes <= limit:
        return
    needed = lambda points: Program.trace(shapes(points), program.optimiser).gibibytes
    fitting = _fitting_points(needed, program, points, fewest, limit)
    if fitting is None:
        proposals = advice(limit / program.gibibytes)
    else:
        proposals = [Proposal("points", fitting, shapes(fitting).objective.sampling.argument)]
    raise TooLarge(
        f"a batch of {points} points needs {program.gibibytes:.1f} GiB and {limit:.1f} GiB may be used", proposals
    )


def _fitting_points(
    needed: Callable[[int], float], program: Program, points: int, fewest: int, limit: float
) -> int | None:
    """A batch that fits: beside the state, memory grows at least as the batch does. Checked by compiling it, a few
    times at most."""
    state = program.state_gibibytes
    guess = int(0.95 * points * (limit - state) / max(program.gibibytes - state, 1e-9))
    for _ in range(TRIES):
        if guess < fewest:
            return None
        if needed(guess) <= limit:
            return guess
        guess //= 2
    return None
