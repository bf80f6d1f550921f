"""The rows of one batch: scaled residuals of the equation, of its conditions and of its gradient in x.

    loss = mean r² + Σ_c mean (√weight_c (u − g))² [ + mean |∇ₓr|² ]

r and ∇ₓr in units in which they start at one, u − g in units of its largest miss (`objective/units.py`).

Each kind of row is a formula at one sample, a method of `Objective`. Every optimiser, fine-tuning and trust read those
formulas, at the points and along the directions of one `Batch`; `Objective.rows` evaluates all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.estimators import Estimator
from prism.errors import InputError
from prism.networks.lifts.lift import Lifted
from prism.networks.model import Model
from prism.numerics.keys import Purpose, child
from prism.objective.batches import Batch, Draws, Pair, Sampling, draw_batch, redraw
from prism.objective.failures import first_failure
from prism.objective.residuals import batch_residuals, residual, solution_value, span_width
from prism.objective.worst_case import WorstCase, ascended
from prism.problem.conditions import Condition, Target
from prism.problem.family import Family
from prism.shapes import Key, Point, Scalar

MOST_WRITTEN_OUT = 4
"""Up to so many directions of slopes are written out one by one."""
Result = TypeVar("Result")


@dataclass(frozen=True)
class Slopes:
    """The residual's gradient ∇ₓr as a part of the loss: the whole of it, or along some random directions per pair."""

    directions: int | None = None

    def __post_init__(self):
        if self.directions is not None and self.directions < 1:
            raise InputError(f"Slopes({self.directions}) takes no direction; give 1 or more, or Slopes() for the whole")


def each_direction(function: Callable[[Point], Result], directions: Float[Array, "k coordinates"]) -> Result:
    """The function of every direction. A few are written out one by one: an axis of one or two of them would keep XLA
    from joining the products of a batch, which doubles the time of a step."""
    if len(directions) > MOST_WRITTEN_OUT:
        return jax.vmap(function)(directions)
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *[function(v) for v in directions])


class Rows(eqx.Module):
    """The scaled rows of one batch."""

    equation: Float[Array, "N"]
    """r / scale of every pair."""
    second: Float[Array, "N"] | None
    """The same along other directions, where the loss is the product of both."""
    conditions: tuple[Float[Array, "_"], ...]
    """√weight (u − g) / condition_scale of every target, condition by condition."""
    slopes: Float[Array, "N k"] | None
    """Entries whose squares add up to |∇ₓr / slope_scale|² of every pair, or to an unbiased estimate of that."""

    def loss(self) -> Scalar:
        """Σ over the kinds of rows of their mean square."""
        loss = jnp.mean(self.equation * (self.equation if self.second is None else self.second))
        for misses in self.conditions:
            loss = loss + jnp.mean(misses**2)
        return loss if self.slopes is None else loss + jnp.mean(jnp.sum(self.slopes**2, axis=1))


class Objective(eqx.Module):
    """What is minimised over a network: the mean squares of the rows of a batch.

    r is estimated once (its variance is added to the loss) or, where `independent`, as the product of two independent
    estimates (unbiased; paper, Theorem A.3, Remark A.1).

    `scale` is the root mean square of the residual of N = 0, so that a loss of 1 means "as wrong as predicting nothing"
    at every dimension; `slope_scale` that of its gradient in x, `condition_scale` the largest of the amplitude and
    |u − g| of N = 0 at the targets.
    """

    family: Family
    estimator: Estimator
    scale: Scalar
    sampling: Sampling = eqx.field(static=True)
    independent: bool = eqx.field(static=True, default=False)
    slopes: Slopes | None = eqx.field(static=True, default=None)
    slope_scale: Scalar = eqx.field(default_factory=lambda: jnp.ones(()))
    condition_scale: Scalar = eqx.field(default_factory=lambda: jnp.ones(()))
    worst_case: WorstCase | None = eqx.field(static=True, default=None)
    """How points climb to where this network is worst, where they do."""

    @property
    def repeats_batches(self) -> bool:
        """Whether the batch of a number is the same for every network."""
        return self.worst_case is None

    def draw(self, model: Model, key: Key) -> Batch:
        """A batch for this network."""
        width = span_width(model, self.family)
        batch = draw_batch(self.family, self.estimator, self.sampling, width, self.independent, key)
        if self.worst_case is None:
            return batch
        return ascended(self.worst_case, model, self.family, self.estimator, batch, child(key, Purpose.ASCENT))

    def first_failure(self, model: Model, batch: Batch) -> str | None:
        """A sentence that names what of this batch is not finite; None where all is."""
        return first_failure(model, self.family, batch)

    def redraw(self, model: Model, batch: Batch, key: Key) -> Batch:
        """The same points and parameters with other directions, a second draw of them where the loss takes two."""
        return redraw(batch, self.family, self.estimator, span_width(model, self.family), key, self.independent)

    def equation(self, model: Model, pair: Pair, probe: Lifted | None = None) -> Scalar:
        """r / scale at one pair; `probe` is added to what leaves the lift."""
        return residual(model, self.family, pair.draws, pair.x, pair.mu, probe) / self.scale

    def condition(self, model: Model, condition: Condition, target: Target, probe: Sequence[Lifted] = ()) -> Scalar:
        """√weight (u − g) / condition_scale at one target; `probe` is added to what leaves the lift there, and to its
        derivative along the target's vector."""
        u = lambda x, *added: solution_value(model, self.family, x, target.mu, *added)
        miss = target.of(u, probe) - target.value
        return condition.weight**0.5 * miss / self.condition_scale

    def slope(self, model: Model, pair: Pair, v: Point, probe: Sequence[Lifted] = ()) -> Scalar:
        """v·∇ₓr / slope_scale at one pair; `probe` is added to what leaves the lift, and to its derivative along v."""
        at = lambda x, *added: residual(model, self.family, pair.draws, x, pair.mu, *added)
        return jax.jvp(at, (pair.x, *probe[:1]), (v, *probe[1:]))[1] / self.slope_scale

    def equation_and_slopes(self, model: Model, pair: Pair) -> tuple[Scalar, Float[Array, "k"]]:
        """r / scale at one pair, and from the same jets ∇ₓr / slope_scale, or v·∇ₓr / slope_scale along each direction,
        divided by the root of their number."""
        at = lambda x: residual(model, self.family, pair.draws, x, pair.mu)
        if self.slopes is None or self.slopes.directions is None:
            r, slopes = jax.value_and_grad(at)(pair.x)
            return r / self.scale, slopes / self.slope_scale
        r, slopes = each_direction(lambda v: jax.jvp(at, (pair.x,), (v,)), self.slope_directions(pair))
        return r[0] / self.scale, slopes / (self.slope_scale * self.slopes.directions**0.5)

    def slope_directions(self, pair: Pair) -> Float[Array, "k coordinates"]:
        """Normal vectors v, one per direction that `slopes` asks for: E (v·∇ₓr)² = |∇ₓr|²."""
        count = 0 if self.slopes is None else self.slopes.directions or 0
        return jax.random.normal(pair.key, (count, pair.x.shape[0]))

    def equations(self, model: Model, batch: Batch, draws: Draws) -> Float[Array, "N"]:
        """r / scale of every pair of the batch, along the first or the second draw of its directions."""
        return batch_residuals(model, self.family, batch, draws) / self.scale

    def rows(self, model: Model, batch: Batch) -> Rows:
        """Every row of the batch."""
        if self.slopes is None:
            equation, slopes = self.equations(model, batch, batch.draws), None
        else:
            equation, slopes = batch.pairs().vmap(lambda pair: self.equation_and_slopes(model, pair))
        second = None if batch.second_draws is None else self.equations(model, batch, batch.second_draws)
        conditions = zip(self.family.conditions.values(), batch.targets, strict=True)
        misses = [jax.vmap(lambda t, c=c: self.condition(model, c, t))(targets) for c, targets in conditions]
        return Rows(equation, second, tuple(misses), slopes)

    def loss(self, model: Model, batch: Batch) -> Scalar:
        """The loss of the batch."""
        return self.rows(model, batch).loss()
