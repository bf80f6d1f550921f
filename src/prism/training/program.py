"""`advance`, compiled ahead of time: its memory is known, and judged, before anything is allocated."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.errors import TooLarge
from prism.training.advance import TrainingState, advance
from prism.training.memory import SHARE, available_bytes, compiled_bytes
from prism.training.optimisers import Optimiser

GIBIBYTE = 1024.0**3
KEPT = 8
"""Compiled programs that are kept: other seeds of a problem, and other lengths of a run, share one."""


@dataclass(frozen=True)
class Program:
    """The executable of `advance` for one shape of state."""

    compiled: jax.stages.Compiled
    static: Any
    optimiser: Optimiser

    @staticmethod
    def compile(shapes: TrainingState, optimiser: Optimiser) -> "Program":
        """From a state, or from its shapes alone; a program like one of the last few is not compiled again."""
        arrays, static = eqx.partition(shapes, lambda leaf: eqx.is_array(leaf) or _is_shape(leaf))
        leaves, structure = jax.tree.flatten(arrays)
        kinds = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
        constants, frame = jax.tree.flatten(static)
        return Program(_compiled(optimiser, structure, kinds, frame, tuple(constants)), static, optimiser)

    def __call__(self, state: TrainingState, count: int, horizon: float) -> tuple[TrainingState, jax.Array]:
        arrays = eqx.filter(state, eqx.is_array)
        after, loss = self.compiled(arrays, jnp.asarray(count, jnp.int32), jnp.asarray(horizon, jnp.float32))
        return eqx.combine(after, self.static), loss

    @property
    def gibibytes(self) -> float:
        return compiled_bytes(self.compiled) / GIBIBYTE


@functools.lru_cache(maxsize=KEPT)
def _compiled(optimiser: Optimiser, structure: Any, kinds: tuple, frame: Any, constants: tuple) -> jax.stages.Compiled:
    """`advance` for arrays of these shapes and types; everything else that it reads is in the key."""
    arrays = jax.tree.unflatten(structure, [jax.ShapeDtypeStruct(*kind) for kind in kinds])
    static = jax.tree.unflatten(frame, constants)

    def run(arrays, count, horizon):
        after, loss = advance(eqx.combine(arrays, static), optimiser, count, horizon)
        return eqx.filter(after, eqx.is_array), loss

    count, horizon = jnp.zeros((), jnp.int32), jnp.zeros((), jnp.float32)
    lowered = jax.jit(run, donate_argnums=0).lower(arrays, count, horizon)
    options: Any = dict(optimiser.compiler_options) or None
    return lowered.compile(compiler_options=options)


def compile_within_memory(
    shapes: Callable[[int], TrainingState], optimiser: Optimiser, points: int, available: float | None = None
) -> Program:
    """The program for a batch of `points`, refused with a batch that fits where it needs more than there is.

    `shapes(n)` gives the shapes of the state for n points; `available` is in GiB.
    """
    program = Program.compile(shapes(points), optimiser)
    limit = SHARE * (available_bytes() / GIBIBYTE if available is None else available)
    if program.gibibytes <= limit:
        return program
    smallest = Program.compile(shapes(1), optimiser).gibibytes
    if smallest > limit:
        raise TooLarge(points, smallest, limit, None)
    fitting = _fitting_points(shapes, optimiser, (points, program.gibibytes), smallest, limit)
    raise TooLarge(points, program.gibibytes, limit, fitting)


def _fitting_points(shapes, optimiser: Optimiser, asked: tuple[int, float], smallest: float, limit: float) -> int:
    """A batch that fits: by the line through what 1 and the asked points need, then checked by compiling it."""
    points, needed = asked
    per_point = (needed - smallest) / max(1, points - 1)
    guess = max(1, int(1 + 0.95 * (limit - smallest) / per_point))
    while guess > 1 and Program.compile(shapes(guess), optimiser).gibibytes > limit:
        guess //= 2
    return guess


def _is_shape(leaf: object) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)
