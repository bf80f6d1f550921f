"""`advance`, compiled ahead of time: its memory is known, and judged, before anything is allocated."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from prism.errors import TooLarge
from prism.numerics.ahead import TracedFunction, trace
from prism.training.advance import TrainingState, advance
from prism.training.memory import SHARE, available_bytes, compiled_bytes
from prism.training.optimisers import Optimiser

GIBIBYTE = 1024.0**3


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


def refuse_too_large(
    program: Program, points: int, shapes: Callable[[int], TrainingState], available: float | None = None
) -> None:
    """Refuse a program for a batch of `points` that needs more memory than there is, and name a batch that fits.

    `shapes(n)` gives the shapes of the state for n points; `available` is in GiB.
    """
    limit = SHARE * (available_bytes() / GIBIBYTE if available is None else available)
    if program.gibibytes <= limit:
        return
    needed = lambda points: Program.trace(shapes(points), program.optimiser).gibibytes
    smallest = needed(1)
    if smallest > limit:
        raise TooLarge(points, smallest, limit, None)
    raise TooLarge(
        points, program.gibibytes, limit, _fitting_points(needed, (points, program.gibibytes), smallest, limit)
    )


def _fitting_points(needed: Callable[[int], float], asked: tuple[int, float], smallest: float, limit: float) -> int:
    """A batch that fits: by the line through what 1 and the asked points need, then checked by compiling it."""
    points, most = asked
    per_point = (most - smallest) / max(1, points - 1)
    guess = max(1, int(1 + 0.95 * (limit - smallest) / per_point))
    while guess > 1 and needed(guess) > limit:
        guess //= 2
    return guess
