"""Fine-tuning at one μ (paper, section 4.4): a few numbers behind the lift, on points that are lifted once.

    min over θ of  mean r(x; μ, θ)²,     W = U diag(σ ∘ (1 + θ)) Vᵀ  with U, V and the generator frozen   (Theorem 3)

At a fixed μ and fixed points everything of the size of the dimension (the lift, the constraint, the source) is a
constant of this problem. `Stages` computes it once, for every family, constraint and estimator alike, so that a step
knows no dimension. The unknowns are few: a step is Levenberg and Marquardt's, with the whole Jacobian.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.networks.model import Model
from prism.networks.tunable import Diagonals, LastLayer, Modulators, Part
from prism.numerics.chunks import chunk_of
from prism.numerics.keys import TUNING, stream
from prism.numerics.least_squares import Levenberg
from prism.numerics.staging import Stages, Values
from prism.objective.residuals import residual, solution_value
from prism.problem.conditions import Condition
from prism.shapes import Key, Keys, Parameter, Scalar, Vector
from prism.solution.solution import Solution
from prism.solving.settings import default_estimator
from prism.training.natural.spring import Spring

POINTS, HELD_OUT = 400, 100
"""Points that are fitted, and points that decide which step is kept."""
AT_REST = 32
"""Points that measure the residual of u = 0, its unit."""
SETTLED, PATIENCE = 0.01, 3
"""A step that lowers the held-out residual by less than this part has gained nothing; so many in a row are the end."""
HOPELESS = 1e8
"""Damping at which no step is left to take."""
DEFAULT_PARTS: tuple[Part, ...] = (Diagonals(), Modulators(), LastLayer())

Row = Callable[[Solution, Parameter, Key], Scalar]


class Kind(NamedTuple):
    """The equation's rows or a condition's: one row, its weight, and the least unit to measure it in."""

    row: Row
    weight: float
    least: Scalar


@dataclass(frozen=True)
class Tuned:
    """A solution at one μ, and what it took. Residuals are scaled (1 = predicting nothing), on points not fitted."""

    solution: Solution
    residual_before: float
    residual_after: float
    unknowns: int
    steps: int
    seconds: float
    seconds_per_step: float


class Rows(eqx.Module):
    """weight · row(θ) for one kind of row, the equation's or a condition's, up to its unknowns."""

    stages: Stages = eqx.field(static=True)
    shared: Values
    own: Values
    weight: Scalar

    def __getitem__(self, which: slice) -> "Rows":
        return eqx.tree_at(lambda rows: rows.own, self, tuple(values[which] for values in self.own))

    def values(self, unknowns: Vector) -> Float[Array, "rows"]:
        return jax.vmap(lambda own: self.weight * self.stages.finish(self.shared, own, unknowns))(self.own)

    def values_and_slopes(self, unknowns: Vector) -> tuple[Float[Array, "rows"], Float[Array, "rows n"]]:
        one = lambda theta, own: self.weight * self.stages.finish(self.shared, own, theta)
        return jax.vmap(jax.value_and_grad(one), in_axes=(None, 0))(unknowns, self.own)


class Tuning(eqx.Module):
    """The least-squares problem at one μ: rows that are fitted, rows that judge, and unknowns that change nothing."""

    fitted: tuple[Rows, ...]
    judging: tuple[Rows, ...]
    start: Vector

    @staticmethod
    def prepare(solution: Solution, mu: Parameter, parts: Sequence[Part], key: Key, points: int) -> "Tuning":
        """Everything of the size of the dimension, once."""
        rows = []
        start, _ = unknowns_of(solution.model, parts)
        if not start.size:
            raise InputError("the network has none of the numbers that are to be tuned; choose other parts")
        for number, kind in enumerate(kinds_of_rows(solution)):
            keys = jax.random.split(jax.random.fold_in(key, number), points)
            rows.append(cached_rows(solution, mu, parts, kind, keys))
        share = max(1, points * POINTS // (POINTS + HELD_OUT))
        return Tuning(tuple(r[:share] for r in rows), tuple(r[share:] for r in rows), start)

    def look(self, unknowns: Vector) -> tuple[Float[Array, "rows"], Float[Array, "rows n"]]:
        values, slopes = zip(*[rows.values_and_slopes(unknowns) for rows in self.fitted], strict=True)
        return jnp.concatenate(values), jnp.concatenate(slopes)

    def judge(self, unknowns: Vector) -> Scalar:
        """The root mean square of the rows that are not fitted."""
        return jnp.sqrt(jnp.mean(jnp.concatenate([rows.values(unknowns) for rows in self.judging]) ** 2))

    @property
    def count(self) -> int:
        return sum(rows.own[0].shape[0] for rows in self.fitted)


@eqx.filter_jit
def step(tuning: Tuning, state: Levenberg) -> tuple[Levenberg, Scalar]:
    """One step, and how its unknowns are judged. No array in it knows the dimension."""
    state = state.step(tuning.look)
    return state, tuning.judge(state.unknowns)


def fine_tune(
    solution: Solution,
    mu: Parameter,
    parts: Sequence[Part] = DEFAULT_PARTS,
    seconds: float = 20.0,
    seed: int = 0,
    points: int = POINTS + HELD_OUT,
) -> Tuned:
    """Tune the parts at one μ until nothing is gained or `seconds`, compilation included, are over."""
    if not 0.0 < seconds < float("inf"):
        raise InputError(f"{seconds:g} seconds are no budget; give a positive number")
    begun = time.perf_counter()
    tuning = Tuning.prepare(solution, mu, parts, stream(seed, TUNING), points)
    state, judged = step(tuning, Levenberg.start(tuning.start, tuning.count))
    before = best = float(judged)
    kept, steps, idle, compiled, a_step = state.unknowns, 0, 0, time.perf_counter(), 0.0
    while idle < PATIENCE and state.damping < HOPELESS and time.perf_counter() - begun + a_step < seconds:
        state, judged = step(tuning, state)
        steps, idle = steps + 1, idle + int(state.moved)
        if float(judged) < best:
            idle = 0 if float(judged) < (1.0 - SETTLED) * best else idle
            best, kept = float(judged), state.unknowns
        a_step = (time.perf_counter() - compiled) / steps
    model = settled(solution.model, mu, parts, kept)
    taken = time.perf_counter() - begun
    return Tuned(Solution(model, solution.family), before, best, kept.size, steps, taken, a_step)


def kinds_of_rows(solution: Solution) -> list[Kind]:
    """The equation with weight 1, and every condition that says something at a given μ with its own."""
    estimator = default_estimator(solution.family, Spring())

    def equation(solution: Solution, mu: Parameter, key: Key) -> Scalar:
        x = solution.family.domain.sample(key)
        return residual(solution.model, solution.family, estimator, x, mu, jax.random.fold_in(key, 1))

    conditions = solution.family.conditions.values()
    says = [condition for condition in conditions if type(condition).draw_at is not Condition.draw_at]
    least = jnp.abs(solution.model.amplitude)
    return [
        Kind(equation, 1.0, jnp.zeros(())),
        *[Kind(_miss(condition), condition.weight, least) for condition in says],
    ]


def _miss(condition: Condition) -> Row:
    def miss(solution: Solution, mu: Parameter, key: Key) -> Scalar:
        wanted = condition.draw_at(mu, solution.family.parameters, key)
        assert wanted is not None
        return solution_value(solution.model, solution.family, wanted.x, mu) - wanted.value

    return miss


def unknowns_of(model: Model, parts: Sequence[Part]) -> tuple[Vector, Callable[[Vector], Any]]:
    """No change, as one vector, and the way back from a vector to the parts' trees."""
    return ravel_pytree([part.start(model) for part in parts])


def cached_rows(solution: Solution, mu: Parameter, parts: Sequence[Part], kind: Kind, keys: Keys) -> Rows:
    """One row for each key, in units of the same rows of u = 0, with all that the unknowns do not decide computed."""
    arrays, static = eqx.partition((solution, mu), eqx.is_array)
    start, tree = unknowns_of(solution.model, parts)

    def one(arrays: Any, key: Key, unknowns: Vector) -> Scalar:
        solution, mu = eqx.combine(arrays, static)
        model = solution.model
        for part, change in zip(parts, tree(unknowns), strict=True):
            model = part.apply(model, mu, change)
        return kind.row(Solution(model, solution.family), mu, key)

    stages = Stages.of(one, arrays, keys[0], start)

    @jax.jit
    def compute(arrays: Any, keys: Keys) -> tuple[Values, Values, Scalar]:
        solution, mu = eqx.combine(arrays, static)
        silent = Solution(Model.silent(solution.family.domain, solution.family.parameters), solution.family)
        chunk = chunk_of((keys.shape[0], solution.family.domain.coordinates))
        at_rest = jax.lax.map(lambda key: kind.row(silent, mu, key), keys[:AT_REST], batch_size=min(chunk, AT_REST))
        once = stages.begin(arrays)
        own = jax.lax.map(lambda key: stages.advance(once, key), keys, batch_size=chunk)
        return once.lasting, own, jnp.sqrt(jnp.mean(at_rest**2))

    shared, own, unit = compute(arrays, keys)
    unit = jnp.maximum(unit, kind.least)
    return Rows(stages, shared, own, kind.weight**0.5 / jnp.where(unit > 0, unit, 1.0))


@eqx.filter_jit
def settled(model: Model, mu: Parameter, parts: Sequence[Part], unknowns: Vector) -> Model:
    """The network with ordinary weights that the unknowns mean."""
    _, tree = unknowns_of(model, parts)
    for part, change in zip(parts, tree(unknowns), strict=True):
        model = part.settle(model, mu, change)
    return model
