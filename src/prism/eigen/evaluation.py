"""Errors of levels at parameters never trained on, in double precision, beside what they are measured against.

    relative error at μ = (λ(μ) − λ*(μ)) / |λ*(μ)|,      skill = mean |relative error| / μ-blind error

- trivial: the potential's own first answer;
- μ-blind: the mean over μ of the exact level, the best number that ignores μ.

Where the level is not known but has a reference, a few parameters are compared with that.
"""

from dataclasses import asdict, dataclass

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from prism.eigen.deviation import deviation
from prism.eigen.levels import levels_over
from prism.eigen.network import TensorNetwork
from prism.eigen.precise import FEWER_NODES, NODES, doubled, exact_levels, held_out, level_reference, levels_at
from prism.eigen.quadrature import BLOCK, gauss
from prism.problem.potential import Potential
from prism.shapes import Key
from prism.solution.evaluation import shown_factor

PARAMETERS, FEWEST, WORK = 64, 16, 6e7
"""Most and fewest held-out μ, and the evaluations at nodes that they may take in all."""
MOST_DEVIATION, MOST_QUADRATURE, MOST_EXCESS = 0.1, 1e-4, 1e-6
"""Of λ: of its local energy, of quadrature, and by which it may lie below the truth, that raise no doubt."""
FEW, CHECKED = 8, 2
"""μ that are compared with a reference, and those whose quadrature and deviation are looked at."""


@dataclass(frozen=True)
class LevelError:
    """The lowest level at one held-out parameter."""

    mu: dict[str, float]
    level: float
    exact: float
    relative_error: float


@dataclass(frozen=True)
class LevelEvaluation:
    """Errors of the final state; those that need the truth are None where it is not known."""

    parameters: int
    relative_l2: float | None
    """Root mean square of the relative errors of the lowest level."""
    relative_l1: float | None
    """Mean size of these."""
    largest_error: float | None
    lowest_excess: float | None
    """The smallest of (λ − λ*)/|λ*| with its sign: below zero by no more than quadrature and reference are wrong."""
    trivial_error: float | None
    mu_blind_error: float | None
    skill: float | None
    excited_errors: tuple[float, ...]
    """Mean relative errors of the levels above."""
    quadrature_error: float
    """The largest relative change of the lowest level with fewer nodes."""
    relative_deviation: float
    """σ of the local energy over |λ|, the mean over some parameters: 0 for an eigenfunction."""
    reference_uncertainty: float | None
    """Where the truth is a reference: the mean of its relative uncertainties."""
    by_parameter: tuple[LevelError, ...]

    def as_json(self) -> dict[str, object]:
        """By name, without the rows of single parameters."""
        return {name: value for name, value in asdict(self).items() if name != "by_parameter"}

    def describe(self) -> list[str]:
        """For a reader, each error beside what it is measured against."""
        checks = [
            f"  quadrature       {self.quadrature_error:.1e}   the change of λ with fewer nodes",
            f"  deviation        {self.relative_deviation:.1e}   σ of the local energy over λ, 0 for an eigenfunction",
        ]
        if self.relative_l1 is None:
            return ["the exact level is not known, nor a reference for it", *checks]
        lines = [
            f"relative error of λ  {self.relative_l1:.2e}   the mean over {self.parameters} μ never trained on",
            f"  at the worst     {self.largest_error:.1e}",
        ]
        if self.trivial_error is not None:
            lines.append(f"  trivial baseline {self.trivial_error:.1e}   the potential's own first answer")
        if self.mu_blind_error is not None:
            lines.append(f"  μ-blind baseline {self.mu_blind_error:.1e}   the mean over μ of the exact λ")
        if self.reference_uncertainty is not None:
            lines.append(f"  reference        {self.reference_uncertainty:.0e}   its own relative uncertainty")
        for number, error in enumerate(self.excited_errors, start=1):
            lines.append(f"  level {number}          {error:.1e}   its mean relative error")
        lines += checks
        if self.skill is not None:
            better = f"{shown_factor(1.0 / self.skill)} times as good as the best number that ignores μ"
            told = better if self.skill < 1.0 else "it has not learned μ"
            lines.append(f"skill                {self.skill:<8.3g}   error / μ-blind error: {told}")
        return lines

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons not to take it for a solution."""
        found = []
        if self.skill is not None and self.skill >= 1.0:
            found.append(
                f"no better than the best number that ignores the parameters (skill {self.skill:.2g}): train longer"
            )
        if (
            self.relative_l1 is not None
            and self.trivial_error is not None
            and self.relative_l1 >= self.trivial_error > 1e-9
        ):
            found.append(f"no better than the trivial answer ({self.relative_l1:.2g} against {self.trivial_error:.2g})")
        if self.skill is None and self.trivial_error is None and self.relative_deviation > MOST_DEVIATION:
            found.append(f"the local energy varies by {100 * self.relative_deviation:.2g} % of λ: train longer")
        if self.quadrature_error > MOST_QUADRATURE:
            found.append(
                f"λ changes by {self.quadrature_error:.1g} of itself with fewer nodes, so that it is no bound: the "
                "functions are too narrow for their intervals, lower half_width"
            )
        allowed = self.quadrature_error + (self.reference_uncertainty or 0.0) + MOST_EXCESS
        if self.lowest_excess is not None and self.lowest_excess < -allowed:
            found.append(f"λ is {-self.lowest_excess:.1g} of itself below the true level, which cannot be")
        return tuple(found)


def evaluate_levels(
    tensor: TensorNetwork, potential: Potential, count: int, key: Key, references: int = FEW
) -> LevelEvaluation:
    """The errors at held-out parameters; against so many references where the level is not known."""
    many = int(np.clip(WORK / (potential.dimension * NODES), FEWEST, PARAMETERS))
    mus = held_out(potential, key, many if potential.has_exact else references)
    found = levels_at(tensor, potential, mus, count)
    some = mus[:CHECKED]
    fewer = levels_at(tensor, potential, some, 1, FEWER_NODES)[:, 0]
    spread = doubled(_deviations_at, tensor, potential, some)
    few = found[: len(fewer), 0]
    checks = {
        "quadrature_error": float(np.max(np.abs(fewer - few) / np.abs(few))),
        "relative_deviation": float(np.mean(spread / np.abs(few))),
    }
    if potential.has_exact:
        return _compared(potential, mus, found, exact_levels(potential, mus, count), None, checks)
    if not potential.has_reference:
        unknown = dict.fromkeys(
            ("relative_l2", "relative_l1", "largest_error", "lowest_excess", "trivial_error", "mu_blind_error", "skill")
        )
        return LevelEvaluation(
            len(mus), **unknown, excited_errors=(), **checks, reference_uncertainty=None, by_parameter=()
        )
    truths = [level_reference(potential, np.asarray(mu, np.float64)) for mu in mus]
    values = np.asarray([[truth.value] for truth in truths])
    uncertainty = float(np.mean([truth.uncertainty / abs(truth.value) for truth in truths]))
    return _compared(potential, mus, found, values, uncertainty, checks)


def _deviations_at(tensor: TensorNetwork, potential: Potential, mus: Array) -> Array:
    return jax.lax.map(lambda mu: deviation(tensor, potential, mu, gauss(NODES), BLOCK), mus)


def _trivial_at(potential: Potential, mus: Array) -> Array:
    return jax.vmap(lambda mu: potential.trivial(potential.parameters.named(mu)))(mus)


def _compared(
    potential: Potential,
    mus: Float[Array, "n p"],
    found: Float[np.ndarray, "n levels"],
    exact: Float[np.ndarray, "n known"],
    uncertainty: float | None,
    checks: dict[str, float],
) -> LevelEvaluation:
    known = exact.shape[1]
    errors = (found[:, :known] - exact) / np.abs(exact)
    sizes, ground = np.abs(errors), exact[:, 0]
    blind = float(np.mean(np.abs(np.mean(ground) - ground) / np.abs(ground))) if len(ground) > FEW else None
    trivial = None
    if potential.has_trivial:
        answers = doubled(_trivial_at, potential, mus)
        trivial = float(np.mean(np.abs(answers - ground) / np.abs(ground)))
    mean = float(np.mean(sizes[:, 0]))
    names, rows = potential.parameters.names, np.asarray(mus, float)
    return LevelEvaluation(
        parameters=len(mus),
        relative_l2=float(np.sqrt(np.mean(errors[:, 0] ** 2))),
        relative_l1=mean,
        largest_error=float(np.max(sizes[:, 0])),
        lowest_excess=float(np.min(errors[:, 0])),
        trivial_error=trivial,
        mu_blind_error=blind,
        skill=mean / blind if blind else None,
        excited_errors=tuple(float(size) for size in np.mean(sizes[:, 1:], axis=0)),
        **checks,
        reference_uncertainty=uncertainty,
        by_parameter=tuple(
            LevelError(dict(zip(names, map(float, row), strict=True)), *map(float, values))
            for row, *values in zip(rows, found[:, 0], ground, errors[:, 0], strict=True)
        ),
    )


class QuickLevels:
    """The relative error of the lowest level at a few held-out parameters, shown while training."""

    def __init__(self, potential: Potential, nodes: int, work: float, key: Key):
        count = int(np.clip(work / (potential.dimension * nodes), 1, 16))
        self._mus = held_out(potential, key, count)
        self._exact = exact_levels(potential, self._mus, 1)[:, 0]
        self._potential, self._nodes = potential, nodes

    def relative_errors(self, tensor: TensorNetwork) -> Float[np.ndarray, "n"]:
        """At each of them, in the precision of the network."""
        found = _quick(tensor, self._potential, self._mus, self._nodes)
        return (np.asarray(found, np.float64) - self._exact) / np.abs(self._exact)


@eqx.filter_jit
def _quick(tensor: TensorNetwork, potential: Potential, mus: Array, nodes: int) -> Array:
    return levels_over(tensor, potential, mus, 1, nodes)[:, 0]
