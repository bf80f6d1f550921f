"""Errors on points and parameters never trained on, beside what an answer without learning would score.

    relative L2 = √(Σ(û−u)² / Σu²),    skill = relative L2 / μ-blind error

- trivial: the best multiple a·φ(x) of the hard constraint's factor (for the ball 1 − |x|²);
- μ-blind: the mean over μ of the exact solution, the best answer that ignores μ;
- affine: the family's own first-order answer, where it has one.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prism.errors import FailedRun, InputError
from prism.networks.model import Model
from prism.numerics.chunks import chunk_size, map_chunks
from prism.numerics.keys import Purpose, child, item, items
from prism.objective.residuals import solution_value
from prism.problem.family import Family
from prism.problem.terms import constrained_value
from prism.shapes import Key, Parameter

POINTS, PARAMETERS = 20_000, 100
"""The paper's evaluation, section 5.1."""
NODES = 36
"""Quadrature nodes of the mean over μ."""
WORK = 8e9
"""How many coordinates of exact solutions a full evaluation may compute; fewer points at large d."""
VANISHING = 1e-6
"""A μ-blind error below this is rounding: the solution does not depend on μ and there is no skill to speak of."""
ROUNDING = 1e-6
"""A relative error below this is that of single precision."""

Column = Array | np.ndarray


class Sample(eqx.Module):
    """Per point: the truth, the prediction, the baselines, and which parameter it was taken at."""

    exact: Column
    predicted: Column
    factor: Column
    at_zero: Column
    blind: Column
    affine: Column | None
    index: Column


@dataclass(frozen=True)
class ParameterError:
    """The relative L2 errors at one held-out parameter."""

    mu: dict[str, float]
    relative_l2: float
    trivial_error: float
    mu_blind_error: float


@dataclass(frozen=True)
class Evaluation:
    """Errors of the final state on the held-out sample."""

    points: int
    parameters: int
    relative_l2: float
    relative_l2_standard_error: float
    relative_l1: float
    trivial_error: float
    mu_blind_error: float
    affine_error: float | None
    skill: float | None
    by_parameter: tuple[ParameterError, ...]
    largest_error: float
    """The largest |û − u| over the root mean square of u."""
    trivial_largest_error: float
    mu_blind_largest_error: float
    trivial_answer: str
    """What the trivial error is that of."""
    reference_uncertainty: float | None = None
    """Where the truth is a reference: the mean of its uncertainties over that of its values."""

    @property
    def size(self) -> float:
        """What tells how good the solution is."""
        return self.relative_l2

    @property
    def trivial_size(self) -> float:
        """The same of the trivial answer."""
        return self.trivial_error

    @property
    def residual(self) -> None:
        """Not needed where the error is known."""
        return None

    @property
    def is_better_than_trivial(self) -> bool:
        """Or as good as it can be told."""
        return self.relative_l2 < self.trivial_error or self.is_as_good_as_can_be_told

    @property
    def is_as_good_as_can_be_told(self) -> bool:
        """Within rounding, or within the uncertainty of what it is compared with."""
        return self.relative_l2 <= max(ROUNDING, self.reference_uncertainty or 0.0)

    def describe(self) -> list[str]:
        """The errors for a reader, each beside what it is measured against."""
        lines = [
            f"relative L2 error  {self.relative_l2:.3e} ± {self.relative_l2_standard_error:.0e}   "
            f"on {self.points:,} points and {self.parameters} parameters never trained on",
            f"  at the worst     {self.largest_error:.3e}   the largest error, over the root mean square of u",
            f"  trivial baseline {self.trivial_error:.3e}   {self.trivial_answer}",
            f"  μ-blind baseline {self.mu_blind_error:.3e}   the mean over μ of the exact solution",
        ]
        if self.reference_uncertainty is not None:
            lines.append(f"  reference        {self.reference_uncertainty:.0e}       its own relative uncertainty")
        if self.affine_error is not None:
            lines.append(f"  affine baseline  {self.affine_error:.3e}   first order in x, exact in μ")
        if self.skill is None:
            return [*lines, "skill              null        the solution does not depend on μ"]
        learned = f"{shown_factor(1.0 / self.skill)} times as good as the best answer that ignores μ"
        verdict = learned if self.skill < 1.0 else "it has not learned μ"
        if self.relative_l2 >= self.trivial_error:
            verdict += "; no better than the trivial answer"
        elif self.trivial_error < self.mu_blind_error:
            verdict += f", {shown_factor(self.trivial_error / self.relative_l2)} times as good as the trivial one"
        return [*lines, f"skill              {self.skill:<11.3g} error / μ-blind error: {verdict}"]

    def summary(self) -> str:
        """In one line."""
        skill = "" if self.skill is None else f", skill {self.skill:.2g}"
        baselines = f"trivial {self.trivial_error:.2g}, μ-blind {self.mu_blind_error:.2g}"
        return f"relative L2 error {self.relative_l2:.2g} ({baselines}{skill})"

    def as_json(self) -> dict[str, object]:
        """Everything but the list over parameters."""
        return {name: value for name, value in asdict(self).items() if name != "by_parameter"}


def shown_factor(factor: float) -> str:
    """A factor with the digits that mean something: 3.1, 45.0, 312, 12,300."""
    return f"{factor:.1f}" if factor < 100.0 else f"{float(f'{factor:.3g}'):,.0f}"


def affordable_points(dimension: int) -> int:
    """The paper's 20,000 points, or as many as the work of their exact solutions allows."""
    return int(min(POINTS, max(PARAMETERS, WORK / (dimension * (NODES + 3)))))


def evaluate(model: Model, family: Family, key: Key, points: int | None = None) -> Evaluation:
    """Errors and baselines on `points` held-out points, each with one of 100 held-out parameters."""
    sample, parameters = held_out_sample(model, family, key, points or affordable_points(family.domain.dimension))
    return summarise(sample, parameters, family.parameters.names)


def held_out_sample(model: Model, family: Family, key: Key, count: int) -> tuple[Sample, np.ndarray]:
    """So many held-out points, and the parameters they are taken at."""
    parameter_keys = items(child(key, Purpose.PARAMETERS), min(PARAMETERS, count))
    parameters = jax.vmap(family.parameters.sample)(parameter_keys)
    chunks = list(_stream(model, family, parameters, child(key, Purpose.POINTS), count))
    whole = jax.tree.map(lambda *parts: np.concatenate(parts).astype(np.float64)[:count], *chunks)
    return whole, np.asarray(parameters)


def error_at(model: Model, family: Family, mu: Parameter, key: Key, points: int = 2_000) -> float:
    """The relative L2 error at one μ."""
    return float(errors_at(model, family, mu[None], key, points)[0])


def errors_at(model: Model, family: Family, parameters: Array, key: Key, points: int = 2_000) -> np.ndarray:
    """The relative L2 error at each of some μ, on the same points."""
    count = int(np.clip(WORK / (family.domain.coordinates * len(parameters)), 16, points))
    return np.asarray(_errors(model, family, parameters, items(key, count)), np.float64)


@eqx.filter_jit
def _errors(model: Model, family: Family, parameters: Array, keys: Array) -> Array:
    def at_point(key: Key) -> tuple[Array, Array]:
        x = family.domain.sample(key)
        exact = jax.vmap(lambda mu: family.exact(x, family.parameters.named(mu)))(parameters)
        predicted = jax.vmap(lambda mu: solution_value(model, family, x, mu))(parameters)
        return (predicted - exact) ** 2, exact**2

    errors, sizes = map_chunks(at_point, keys, family.domain.coordinates * len(parameters), most=len(keys))
    return jnp.sqrt(jnp.sum(errors, axis=0) / jnp.sum(sizes, axis=0))


def _stream(model: Model, family: Family, parameters: Array, key: Key, count: int) -> Iterator[Sample]:
    """The sample in chunks that bound the memory."""
    chunk = chunk_size(count, family.domain.coordinates, most=2_000)
    for number in range(math.ceil(count / chunk)):
        first = number * chunk
        yield jax.device_get(_measure(model, family, parameters, key, jnp.arange(first, first + chunk)))


@eqx.filter_jit
def _measure(model: Model, family: Family, parameters: Array, key: Key, numbers: Array) -> Sample:
    nodes, weights = family.parameters.quadrature(NODES)
    named = family.parameters.named
    points = jax.vmap(lambda number: family.domain.sample(item(key, number)))(numbers)
    index = numbers % parameters.shape[0]

    def one(x: Array, which: Array) -> Sample:
        mu = parameters[which]
        at_zero = constrained_value(family, jnp.zeros(()), x, mu)
        return Sample(
            exact=family.exact(x, named(mu)),
            predicted=solution_value(model, family, x, mu),
            factor=constrained_value(family, jnp.ones(()), x, mu) - at_zero,
            at_zero=at_zero,
            blind=jnp.zeros(()),
            affine=family.affine(x, named(mu)) if family.has_affine else None,
            index=which,
        )

    exact_at = jax.vmap(lambda x, mu: family.exact(x, named(mu)), in_axes=(0, None))
    add_node = lambda total, node: (total + node[1] * exact_at(points, node[0]), None)
    blind, _ = jax.lax.scan(add_node, jnp.zeros(points.shape[0]), (nodes, weights))
    sample = jax.vmap(one)(points, index)
    return eqx.tree_at(lambda s: s.blind, sample, blind)


def summarise(sample: Sample, parameters: np.ndarray, names: tuple[str, ...]) -> Evaluation:
    """The numbers from the sample, in float64."""
    return compare(answers_of(sample), parameters, names, "the best multiple of the constraint's factor")


def answers_of(sample: Sample) -> "Answers":
    """What each answer says, in float64; the trivial one is fitted to the sample."""
    target = sample.exact - sample.at_zero
    multiple = np.sum(target * sample.factor) / np.sum(sample.factor**2)
    return Answers(
        truth=sample.exact,
        predicted=sample.predicted,
        trivial=sample.at_zero + multiple * sample.factor,
        blind=sample.blind,
        affine=sample.affine,
        index=sample.index,
    )


@dataclass(frozen=True)
class Answers:
    """At each place: the truth, several answers, and which parameter it was taken at."""

    truth: Column
    predicted: Column
    trivial: Column
    blind: Column
    affine: Column | None
    index: Column


def compare(answers: Answers, parameters: np.ndarray, names: tuple[str, ...], trivial_answer: str) -> Evaluation:
    """Every answer with the truth."""
    refuse_non_finite(answers, parameters, names)
    truth = answers.truth
    error, trivial, blind = (answer - truth for answer in (answers.predicted, answers.trivial, answers.blind))
    blind_error, l2 = relative_l2(blind, truth), relative_l2(error, truth)
    by_parameter = []
    for number, mu in enumerate(parameters):
        here = answers.index == number
        named = {name: float(value) for name, value in zip(names, mu, strict=True)}
        by_parameter.append(
            ParameterError(named, *(relative_l2(one[here], truth[here]) for one in (error, trivial, blind)))
        )
    return Evaluation(
        points=len(truth),
        parameters=len(parameters),
        relative_l2=l2,
        relative_l2_standard_error=standard_error(error**2, truth**2),
        relative_l1=float(np.sum(np.abs(error)) / np.sum(np.abs(truth))),
        trivial_error=relative_l2(trivial, truth),
        mu_blind_error=blind_error,
        affine_error=None if answers.affine is None else relative_l2(answers.affine - truth, truth),
        skill=l2 / blind_error if blind_error > VANISHING else None,
        by_parameter=tuple(by_parameter),
        largest_error=largest_error(error, truth),
        trivial_largest_error=largest_error(trivial, truth),
        mu_blind_largest_error=largest_error(blind, truth),
        trivial_answer=trivial_answer,
    )


def refuse_non_finite(answers: Answers, parameters: np.ndarray, names: tuple[str, ...]) -> None:
    """Refuse to measure an error where the truth or the prediction is not a number, and say at which parameter."""
    for values, what, failure, advice in (
        (answers.truth, "the exact solution", InputError, "correct it, or take bounds where it exists"),
        (answers.predicted, "the prediction of the network", FailedRun, "train it again at a lower rate"),
    ):
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            mu = parameters[int(np.asarray(answers.index)[wrong[0]])]
            where = ", ".join(f"{name} = {value:.4g}" for name, value in zip(names, mu, strict=True))
            count = f"at {len(wrong):,} of {len(values):,} held-out points, the first at {where}"
            raise failure(f"{what} is not finite {count}; {advice}")
    if not np.any(answers.truth):
        raise InputError(
            "the exact solution is zero at all held-out points, and an error relative to it has no meaning"
        )


def relative_l2(error: Column, exact: Column) -> float:
    """Infinite, or not a number, where the truth vanishes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sqrt(np.sum(error**2) / np.sum(exact**2)))


def largest_error(error: Column, exact: Column) -> float:
    return float(np.max(np.abs(error)) / np.sqrt(np.mean(exact**2)))


def standard_error(error: Column, size: Column) -> float:
    """Of √(mean error / mean size), by the delta method for a ratio of means."""
    if not np.any(size):
        return math.nan
    ratio = np.mean(error) / np.mean(size)
    if ratio == 0.0:
        return 0.0
    deviation = np.std(error - ratio * size) / (np.mean(size) * math.sqrt(len(error)))
    return float(deviation / (2.0 * math.sqrt(ratio)))
