"""The size of the residual on pairs never trained on: what can be said of a solution whose truth is not known.

It is measured in units of the residual of N = 0, beside that of the trivial answer, the constant N that leaves least.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.errors import FailedRun, InputError
from prism.networks.model import Model
from prism.numerics.keys import Purpose, child
from prism.objective.batches import Batch, Draws, Sampling, draw_batch
from prism.objective.estimation import judging_estimator
from prism.objective.residuals import residual, solution_value, span_width
from prism.objective.units import best_constant, constant_residuals, for_constants, residual_scale, root_mean_square
from prism.problem.conditions import Target
from prism.problem.family import Family
from prism.problem.terms import constrained_value
from prism.shapes import Key, Scalar

PAIRS, FEWEST_PAIRS = 1_000, 32
WORK = 2e7
"""Coordinates of the points; fewer points at large d."""


@dataclass(frozen=True)
class HeldOutResidual:
    """Root mean squares over held-out pairs, in units of the residual of N = 0."""

    pairs: int
    scaled_residual: float
    trivial_residual: float
    misses: dict[str, float]
    """Of each soft condition: the root mean square of u − g on fresh targets, in units of that of N = 0."""

    @property
    def size(self) -> float:
        """What tells how good the solution is."""
        return self.scaled_residual

    @property
    def trivial_size(self) -> float:
        """The same of the trivial answer."""
        return self.trivial_residual

    @property
    def is_as_good_as_can_be_told(self) -> bool:
        """Not known without the truth."""
        return False

    @property
    def skill(self) -> None:
        """Not known without the truth."""
        return None

    @property
    def residual(self) -> float:
        """The worst of the equation and its conditions."""
        return float(np.max([self.scaled_residual, *self.misses.values()]))  # one that is not a number stays that

    @property
    def is_better_than_trivial(self) -> bool:
        """Under soft conditions a constant may solve the equation alone: then there is nothing to compare with."""
        return self.scaled_residual < self.trivial_residual or bool(self.misses)

    def describe(self) -> list[str]:
        """For a reader."""
        return [
            f"scaled residual    {self.scaled_residual:.3e}   on {self.pairs:,} unseen pairs; 1 = predicting nothing",
            f"  trivial answer   {self.trivial_residual:.3e}   the best constant network",
            *[
                f"  misses {name:10}{miss:.3e}   a condition; 1 = predicting nothing"
                for name, miss in self.misses.items()
            ],
            "the error is not known: the family has no exact solution",
        ]

    def summary(self) -> str:
        """In one line."""
        return f"scaled residual {self.scaled_residual:.2g} (trivial {self.trivial_residual:.2g}), error not known"

    def as_json(self) -> dict[str, object]:
        """The numbers by name."""
        return asdict(self)


def held_out_residual(model: Model, family: Family, key: Key) -> HeldOutResidual:
    """The residual of a network on fresh pairs, beside the trivial answer's."""
    pairs = int(np.clip(WORK / family.domain.coordinates, FEWEST_PAIRS, PAIRS))
    sizes, missed = _sizes(model, family, Sampling(pairs, pairs), key)
    size, trivial, unit = (float(value) for value in sizes)
    unit = unit or 1.0
    misses = dict(zip(family.conditions, (float(miss) for miss in missed), strict=True))
    asked = {f'the miss of the condition "{name}"': miss for name, miss in misses.items()}
    _refuse_non_finite(type(family).__name__, unit, {"the residual": size, **asked})
    return HeldOutResidual(pairs, size / unit, trivial / unit, misses)


def _refuse_non_finite(kind: str, unit: float, sizes: Mapping[str, float]) -> None:
    """Refuse to judge a solution by what is not a number. Of N = 0 it is a matter of the equation alone."""
    if not math.isfinite(unit):
        raise InputError(
            f"the residual of {kind} is not finite on held-out pairs where N = 0; look at its source, its constraint "
            "and the bounds of its parameters"
        )
    for name, size in sizes.items():
        if not math.isfinite(size):
            raise FailedRun(f"{name} of the trained network is {size} on held-out pairs; train it at a lower rate")


@eqx.filter_jit
def residuals_at_pairs(model: Model, family: Family, pairs: int, key: Key) -> Float[Array, "N"]:
    """The residual at so many held-out pairs, in units of that of N = 0; of one estimate each."""
    estimator = judging_estimator(model, family)
    batch = draw_batch(family, estimator, Sampling(pairs, pairs), span_width(model, family), False, key)
    constant_batch = for_constants(batch, family, estimator, child(key, Purpose.WHOLE))
    return _in_chunks(model, family, batch) / residual_scale(family, constant_batch)


@eqx.filter_jit
def _sizes(model: Model, family: Family, sampling: Sampling, key: Key) -> tuple[Float[Array, "3"], list[Scalar]]:
    """Root mean squares of the residual, of the network, of the best constant and of N = 0; and of what each condition
    misses, in units of what it misses where N = 0."""
    estimator = judging_estimator(model, family)
    batch = draw_batch(family, estimator, sampling, span_width(model, family), True, key)
    constant_batch = for_constants(batch, family, estimator, child(key, Purpose.WHOLE), twice=True)
    best = best_constant(family, constant_batch)
    of_constant = lambda value, draws: constant_residuals(family, constant_batch, value, draws)
    constant = lambda value: _size(lambda draws: of_constant(value, draws), constant_batch)
    zero = constant(jnp.zeros(()))
    network = _size(lambda draws: _in_chunks(model, family, replace(batch, draws=draws)), batch)
    return jnp.stack([network, jnp.fmin(constant(best), zero), zero]), [_miss(model, family, t) for t in batch.targets]


def _miss(model: Model, family: Family, targets: Target) -> Scalar:
    """What a condition misses."""
    at_zero = lambda target: target.of(lambda x: constrained_value(family, jnp.zeros(()), x, target.mu))
    predicted = lambda target: target.of(lambda x: solution_value(model, family, x, target.mu))
    missed, unit = (root_mean_square(jax.vmap(u)(targets) - targets.value) for u in (predicted, at_zero))
    return missed / jnp.where(unit > 0, unit, 1.0)


def _in_chunks(model: Model, family: Family, batch: Batch) -> Float[Array, "N"]:
    """The residual of every pair, in chunks that bound the memory of its lift."""
    at = lambda pair: residual(model, family, pair.draws, pair.x, pair.mu)
    return batch.pairs().map(at, model.lift.workspace)


def _size(residuals: Callable[[Draws], Float[Array, "N"]], batch: Batch) -> Scalar:
    """√ mean r·r' of two independent estimates: the variance of one would be added to its square."""
    assert batch.second_draws is not None
    return jnp.sqrt(jnp.maximum(jnp.mean(residuals(batch.draws) * residuals(batch.second_draws)), 0.0))
