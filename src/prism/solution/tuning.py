"""Fine-tuning at one μ (paper, section 4.4): a few numbers behind the lift, on points that are lifted once.

    min over θ of  mean r(x; μ, θ)²,     W = U diag(σ ∘ (1 + θ)) Vᵀ  with U, V and the generator frozen   (Theorem 3)

At a fixed μ and fixed points everything of the size of the dimension (the lift, the constraint, the source) is a
constant of this problem. `Stages` computes it once, for every family, constraint and estimator alike, so that a step
knows no dimension. The unknowns are few: a step is Levenberg and Marquardt's, with the whole Jacobian.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from prism.errors import FailedRun, InputError
from prism.networks.model import Model
from prism.networks.tunable import Diagonals, LastLayer, Modulators, Tunable
from prism.numerics.chunks import map_chunks
from prism.numerics.keys import Purpose, child, item, items, stream
from prism.numerics.least_squares import Levenberg
from prism.numerics.staging import Stages, Values
from prism.objective.batches import Sampling, pair_at
from prism.objective.estimation import judging_estimator
from prism.objective.residuals import span_width
from prism.objective.rows import Objective
from prism.objective.units import answer_at_zero, condition_scale, draw_constant_batch, residual_scale
from prism.problem.conditions import Condition
from prism.problem.family import Family
from prism.problem.terms import diffusivity
from prism.shapes import Key, Keys, Parameter, Scalar, Vector

POINTS, HELD_OUT = 400, 100
"""Points that are fitted, and points that decide which step is kept."""
SCALE_POINTS = 32
"""Points that measure the residual of N = 0, its unit."""
LEAST_GAIN, PATIENCE = 0.01, 3
"""A step that lowers the held-out residual by less than this part has gained nothing; so many in a row are the end."""
WORTHWHILE = 0.05
"""The part of the residual that has to go before tuning is said to have gained something."""
MOST_DAMPING = 1e8
"""Damping at which no step is left to take."""
DEFAULT_TUNABLES: tuple[Tunable, ...] = (Diagonals(), Modulators(), LastLayer())

Row = Callable[[Objective, Model, Parameter, Key], Scalar]
"""One row at a given μ, at the point that a key draws."""


@dataclass(frozen=True)
class Tuned:
    """A network at one μ, and what it took. Residuals are scaled (1 = predicting nothing), on points not fitted."""

    model: Model
    residual_before: float
    residual_after: float
    unknowns: int
    steps: int
    seconds: float
    seconds_per_step: float

    @property
    def gained(self) -> bool:
        """Whether the residual is smaller than before by more than a step's least gain."""
        return self.residual_after < (1.0 - WORTHWHILE) * self.residual_before

    @property
    def advice(self) -> str:
        """What to do where nothing was gained."""
        return (
            f"tuning gained nothing here (scaled residual {self.residual_before:.2e} before, {self.residual_after:.2e} "
            "after): the lift is frozen, and what is wrong lies in it. Train the run longer, or solve it again with "
            "bounds that hold this μ or with another lift"
        )


class CachedRows(eqx.Module):
    """Rows of one kind as functions of the unknowns θ, all that θ does not decide computed."""

    stages: Stages = eqx.field(static=True)
    shared: Values
    own: Values

    def __getitem__(self, which: slice) -> "CachedRows":
        return eqx.tree_at(lambda rows: rows.own, self, tuple(values[which] for values in self.own))

    def values(self, unknowns: Vector) -> Float[Array, "rows"]:
        """The rows at θ."""
        return jax.vmap(lambda own: self.stages.finish(self.shared, own, unknowns))(self.own)

    def values_and_jacobian(self, unknowns: Vector) -> tuple[Float[Array, "rows"], Float[Array, "rows n"]]:
        """The rows at θ, and their derivatives by θ."""
        one = lambda theta, own: self.stages.finish(self.shared, own, theta)
        return jax.vmap(jax.value_and_grad(one), in_axes=(None, 0))(unknowns, self.own)


class Tuning(eqx.Module):
    """The least-squares problem at one μ: rows that are fitted, rows that judge, and unknowns that change nothing."""

    fitted: tuple[CachedRows, ...]
    judging: tuple[CachedRows, ...]
    start: Vector

    @staticmethod
    def prepare(
        model: Model, family: Family, mu: Parameter, tunables: Sequence[Tunable], key: Key, points: int
    ) -> "Tuning":
        """Everything of the size of the dimension, once."""
        start, _ = unknowns_of(model, tunables)
        if not start.size:
            raise InputError("the network has none of the numbers that are to be tuned; choose other parts")
        objective = objective_at(model, family, mu, child(key, Purpose.UNITS))
        rows = []
        for number, row in enumerate(kinds_of_rows(family)):
            keys = items(item(key, number), points)
            rows.append(cached_rows(objective, model, mu, tunables, row, keys))
        share = max(1, points * POINTS // (POINTS + HELD_OUT))
        return Tuning(tuple(r[:share] for r in rows), tuple(r[share:] for r in rows), start)

    def linearised(self, unknowns: Vector) -> tuple[Float[Array, "rows"], Float[Array, "rows n"]]:
        """The rows that are fitted, and their derivatives by the unknowns."""
        values, jacobians = zip(*[rows.values_and_jacobian(unknowns) for rows in self.fitted], strict=True)
        return jnp.concatenate(values), jnp.concatenate(jacobians)

    def judge(self, unknowns: Vector) -> Scalar:
        """The root mean square of the rows that are not fitted."""
        return jnp.sqrt(jnp.mean(jnp.concatenate([rows.values(unknowns) for rows in self.judging]) ** 2))

    @property
    def count(self) -> int:
        return sum(rows.own[0].shape[0] for rows in self.fitted)


@eqx.filter_jit
def step(tuning: Tuning, state: Levenberg) -> tuple[Levenberg, Scalar]:
    """One step, and how its unknowns are judged. No array in it knows the dimension."""
    state = state.step(tuning.linearised)
    return state, tuning.judge(jnp.asarray(state.unknowns))


def fine_tune(
    model: Model,
    family: Family,
    mu: Parameter,
    tunables: Sequence[Tunable] = DEFAULT_TUNABLES,
    seconds: float = 20.0,
    seed: int = 0,
    points: int = POINTS + HELD_OUT,
) -> Tuned:
    """Tune a network at one μ until nothing is gained or `seconds`, compilation included, are over."""
    if not 0.0 < seconds < float("inf"):
        raise InputError(f"seconds={seconds:g} is no budget; give a positive number")
    begun = time.perf_counter()
    tuning = Tuning.prepare(model, family, mu, tunables, stream(seed, Purpose.TUNING), points)
    state, judged = step(tuning, Levenberg.start(tuning.start, tuning.count))
    before = best = float(judged)
    if not math.isfinite(before):
        raise FailedRun(
            f"the residual is {before} at this μ before tuning; the equation or the network has no value there"
        )
    kept, steps, idle, compiled, per_step = state.unknowns, 0, 0, time.perf_counter(), 0.0
    while idle < PATIENCE and state.damping < MOST_DAMPING and time.perf_counter() - begun + per_step < seconds:
        state, judged = step(tuning, state)
        steps, idle = steps + 1, idle + int(state.moved)
        if float(judged) < best:
            idle = 0 if float(judged) < (1.0 - LEAST_GAIN) * best else idle
            best, kept = float(judged), state.unknowns
        per_step = (time.perf_counter() - compiled) / steps
    tuned = settled(model, mu, tunables, jnp.asarray(kept))
    return Tuned(tuned, before, best, kept.size, steps, time.perf_counter() - begun, per_step)


@eqx.filter_jit
def objective_at(model: Model, family: Family, mu: Parameter, key: Key) -> Objective:
    """The objective at one μ, its rows in units of those of N = 0 there."""
    estimator = judging_estimator(model, family)
    batch = draw_constant_batch(family, estimator, Sampling(SCALE_POINTS, 1, crossed=True), key)
    batch = eqx.tree_at(lambda b: b.parameters, batch, mu[None])
    scale, targets, kappa = residual_scale(family, batch), [], diffusivity(family)
    for number, condition in enumerate(family.conditions.values()):
        keys = items(item(child(key, Purpose.CONDITIONS), number), SCALE_POINTS)
        draw = partial(condition.diffused(kappa).draw_at, mu, family.parameters)
        targets += [jax.vmap(draw)(keys)] if condition.at_every_parameter else []
    return Objective(
        family,
        estimator,
        scale,
        Sampling(POINTS, POINTS),
        condition_scale=condition_scale(family, targets, answer_at_zero(family, batch, scale)),
    )


def kinds_of_rows(family: Family) -> list[Row]:
    """The equation's row, and one for each condition that says something at a given μ."""

    def equation(objective: Objective, model: Model, mu: Parameter, key: Key) -> Scalar:
        pair = pair_at(objective.family, objective.estimator, mu, span_width(model, objective.family), key)
        return objective.equation(model, pair)

    conditions = [condition for condition in family.conditions.values() if condition.at_every_parameter]
    return [equation, *[_condition_row(condition) for condition in conditions]]


def _condition_row(condition: Condition) -> Row:
    def row(objective: Objective, model: Model, mu: Parameter, key: Key) -> Scalar:
        family = objective.family
        target = condition.diffused(diffusivity(family)).draw_at(mu, family.parameters, key)
        return objective.condition(model, condition, target)

    return row


def unknowns_of(model: Model, tunables: Sequence[Tunable]) -> tuple[Vector, Callable[[Vector], Any]]:
    """No change, as one vector, and the way back from a vector to a tree per tunable."""
    return ravel_pytree([tunable.start(model) for tunable in tunables])


def cached_rows(
    objective: Objective, model: Model, mu: Parameter, tunables: Sequence[Tunable], row: Row, keys: Keys
) -> CachedRows:
    """One row for each key, with all that the unknowns do not decide computed."""
    arrays, static = eqx.partition((objective, model, mu), eqx.is_array)
    start, tree = unknowns_of(model, tunables)

    def one(arrays: Any, key: Key, unknowns: Vector) -> Scalar:
        objective, changed, mu = eqx.combine(arrays, static)
        for tunable, change in zip(tunables, tree(unknowns), strict=True):
            changed = tunable.apply(changed, mu, change)
        return row(objective, changed, mu, key)

    stages = Stages.of(one, arrays, keys[0], start)

    @jax.jit
    def compute(arrays: Any, keys: Keys) -> tuple[Values, Values]:
        once = stages.begin(arrays)
        coordinates = objective.family.domain.coordinates
        return once.lasting, map_chunks(lambda key: stages.advance(once, key), keys, coordinates)

    return CachedRows(stages, *compute(arrays, keys))


@eqx.filter_jit
def settled(model: Model, mu: Parameter, tunables: Sequence[Tunable], unknowns: Vector) -> Model:
    """The network with ordinary weights that the unknowns mean."""
    _, tree = unknowns_of(model, tunables)
    for tunable, change in zip(tunables, tree(unknowns), strict=True):
        model = tunable.settle(model, mu, change)
    return model
