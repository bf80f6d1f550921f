"""What a run needs at the least, in closed form: known before anything is traced.

    weights and the optimiser's state · points · directions · derivatives along these · SPRING's rows and kernel

Each need names the settings that make it smaller. What is compiled, which is measured afterwards
(`training/program.py`), is never less.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import jax.numpy as jnp

from prism.networks.lifts.parts import parts_of
from prism.networks.sizes import weights_of
from prism.solving.reducible import (
    DEPTH,
    DIM,
    ESTIMATOR,
    GENERATOR_WIDTH,
    PARAMS,
    POINTS,
    SLOPES,
    WIDTH,
    ProblemSize,
    Reducible,
    lift_sizes,
)
from prism.solving.settings import Settings


@dataclass(frozen=True)
class Need:
    """So many numbers for one thing, and the settings that make it smaller, the most effective first. `what` begins a
    sentence: "the lift needs"."""

    what: str
    numbers: int
    reduced_by: tuple[Reducible, ...]


def total_bytes(found: Iterable[Need]) -> int:
    return number_bytes() * sum(need.numbers for need in found)


def needs(problem: ProblemSize, settings: Settings) -> list[Need]:
    """All that is counted, of a run under these settings."""
    lift = lift_sizes(problem, settings)
    return [*_state_needs(problem, settings, lift), *_batch_needs(problem, settings, lift)]


def _state_needs(problem: ProblemSize, settings: Settings, lift: tuple[Reducible, ...]) -> list[Need]:
    """Weights, with what the optimiser keeps beside each."""
    optimiser, w = settings.optimiser, weights_of(settings.architecture, problem.extent)
    copies = optimiser.copies
    return [
        Need("the lift needs", optimiser.lift_copies * w.lift, (*lift, DIM)),
        Need("the lift needs", optimiser.follower_copies * w.followers, (*lift, DIM)),
        Need("the lift needs", copies * w.sites, (*lift, DIM)),
        Need("the network behind the lift needs", copies * w.entry, (WIDTH, *lift)),
        Need("the network behind the lift needs", copies * w.hidden, (WIDTH, DEPTH)),
        Need("the generator of modulations needs", copies * w.generator, (GENERATOR_WIDTH,)),
        Need("the generator of modulations needs", copies * w.heads, (GENERATOR_WIDTH, WIDTH, *lift)),
    ]


def _batch_needs(problem: ProblemSize, settings: Settings, lift: tuple[Reducible, ...]) -> list[Need]:
    """Points, directions and, of a natural gradient, rows by all weights and their kernel."""
    sampling, extent = settings.sampling, problem.extent
    sides = (POINTS, PARAMS) if sampling.crossed else (POINTS,)
    found = [
        Need("a batch of points needs", sampling.points * extent.coordinates, (POINTS, DIM)),
        Need("a batch of parameters needs", sampling.params * extent.parameters, sides[-1:]),
        *_direction_needs(problem, settings, sides, lift),
    ]
    if not settings.optimiser.natural:
        return found
    parts, numbers = parts_of(settings.architecture.lift).parts, 0
    if settings.optimiser.trains_followers:
        numbers = sum(part.follower_count(extent.dimension, sampling.pairs) for part in parts)
    w = weights_of(settings.architecture, extent)
    slopes = 0 if settings.slopes is None else settings.slopes.directions or 0
    rows = sampling.pairs * (1 + slopes) + problem.targets
    reduced = (SLOPES, *sides) if slopes > 1 else sides
    written_out = w.sites + w.entry + w.hidden + w.generator
    return [
        *found,
        Need("the lift needs", numbers, (*lift, DIM)),
        Need(
            "the derivatives of a batch by all weights need",
            rows * written_out,
            (*reduced, WIDTH, *lift, GENERATOR_WIDTH),
        ),
        Need("the kernel of a batch needs", rows * rows, reduced),
    ]


def _direction_needs(
    problem: ProblemSize, settings: Settings, sides: tuple[Reducible, ...], lift: tuple[Reducible, ...]
) -> list[Need]:
    """The directions of the estimator, and what leaves the lift along them at every pair."""
    estimator, parts = settings.estimator, parts_of(settings.architecture.lift).parts
    width = sum(part.channel_count for part in parts)
    if problem.order is None:
        return []
    along = estimator.direction_count(problem.order, problem.extent.dimension, width)
    reduced = (ESTIMATOR,) if (estimator.given_count or 1) > 1 else (DIM,)
    linear = sum(part.channel_count for part in parts if part.is_linear and not part.follows_slopes)
    seen = settings.sampling.pairs * along * linear
    draws = 1 if estimator.shared else settings.sampling.points
    return [
        Need("the set of all directions needs", draws * along, (*reduced, *sides[:1])),
        Need("the derivative along all directions needs", seen, (*reduced, *sides, *lift)),
    ]


def number_bytes() -> int:
    """Of one real number, in the precision that is computed in."""
    return jnp.result_type(float).itemsize
