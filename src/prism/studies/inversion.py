"""Whether the intervals of `invert` hold: how often they cover the truth, and whether what cannot be known is said.

Data are values of the exact solution at random points of the domain, with noise of 1 % of their rms; the surrogate that
inverts them is trained here and has an error of its own. The blind data are taken where u does not depend on μ.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from matplotlib.figure import Figure

from prism.families import ReactionDiffusion, SineGordonBeta
from prism.inversion.estimate import Estimate
from prism.inversion.inference import invert
from prism.inversion.observations import Observations
from prism.numerics.keys import CHECK, PROBLEM, stream
from prism.problem.domains import Domain, Sphere
from prism.problem.family import Family
from prism.shapes import Key, Parameter, Point
from prism.solution.solution import Solution
from prism.solving.settings import Settings
from prism.studies.trials import Row, Study, Tell, Trial
from prism.training.loop import Budget

DIMENSION = 10
STEPS, FULL_STEPS = 300, 1_500
OBSERVATIONS, NOISE = 200, 0.01
DATA_SETS, BLIND_SETS = 100, 20
WANTED = (88, 99)
"""Between which a true 95 % interval covers the truth in 100 data sets, but for 0.7 % of such studies."""


@dataclass(frozen=True)
class Problem:
    """A family with its exact solution, and a part of its domain where that does not depend on μ."""

    name: str
    family: Family
    blind: Domain


class Still(Domain):
    """(x, 0) with k·x = 0, where a front along k has the same value for every μ."""

    space: Domain
    direction: Float[Array, "d"]

    @property
    def dimension(self) -> int:
        return self.space.dimension

    @property
    def coordinates(self) -> int:
        return self.dimension + 1

    @property
    def bounds(self) -> tuple[float, float]:
        return self.space.bounds

    def sample(self, key: Key) -> Point:
        x = self.space.sample(key)
        return jnp.append(x - jnp.dot(self.direction, x) * self.direction, 0.0)


def problems(dimension: int) -> list[Problem]:
    front = ReactionDiffusion.create(dimension, stream(0, PROBLEM))
    return [
        Problem("sine-gordon-beta", SineGordonBeta.create(dimension, stream(0, PROBLEM)), Sphere(dimension)),
        Problem("reaction-diffusion", front, Still(space=front.domain.space, direction=front.direction)),  # pyright: ignore[reportCallIssue],
    ]


def run(full: bool, tell: Tell) -> list[Row]:
    """One row for each family, parameter and what was assumed."""
    rows: list[Row] = []
    for problem in problems(DIMENSION):
        tell(f"training {problem.name} at {DIMENSION:,} dimensions")
        outcome = Trial("default", Settings()).run(problem.family, Budget(steps=FULL_STEPS if full else STEPS))
        tell(f"inverting {DATA_SETS} data sets of {problem.name}, and {BLIND_SETS} blind ones")
        rows += measure(problem, outcome.solution)
    return rows


def measure(problem: Problem, solution: Solution) -> list[Row]:
    """Coverage under each assumption, from the same data sets."""
    family, error = problem.family, solution.evaluate().relative_l2
    keys = jax.random.split(stream(0, CHECK), DATA_SETS)
    truths = [family.parameters.sample(jax.random.fold_in(key, 1)) for key in keys]
    drawn = [observe(family, family.domain, mu, key) for mu, key in zip(truths, keys, strict=True)]
    data, noises = [one for one, _ in drawn], [noise for _, noise in drawn]
    blind = [blind_data(problem, mu, noise, key) for mu, noise, key in zip(truths, noises, keys, strict=True)]
    flags = invert(solution, blind[:BLIND_SETS])
    pairs = list(zip(data, noises, strict=True))
    assumed = {
        "noise estimated": invert(solution, data),
        "noise given": [invert(solution, one, noise=noise) for one, noise in pairs],
        "noise given, model error": [invert(solution, one, noise=noise, model_error=error) for one, noise in pairs],
    }
    return [
        {
            "family": problem.name,
            "d": family.domain.dimension,
            "relative L2": error,
            "parameter": name,
            "assumed": assumption,
            "data sets": DATA_SETS,
            **_coverage(estimates, [float(mu[index]) for mu in truths], name),
            "blind sets": BLIND_SETS,
            "flagged": sum(not estimate.identifiable[name] for estimate in flags),
        }
        for index, name in enumerate(family.parameters.names)
        for assumption, estimates in assumed.items()
    ]


def observe(family: Family, domain: Domain, mu: Parameter, key: Key) -> tuple[Observations, float]:
    """Exact values with noise, and its standard deviation: 1 % of their rms."""
    points, exact = _exact_values(family, domain, mu, key)
    noise = NOISE * float(np.sqrt(np.mean(exact**2)))
    return Observations(points, exact + noise * _normals(key, len(exact))), noise


def blind_data(problem: Problem, mu: Parameter, noise: float, key: Key) -> Observations:
    """Exact values where they do not depend on μ, with the noise of the others."""
    points, exact = _exact_values(problem.family, problem.blind, mu, key)
    return Observations(points, exact + noise * _normals(key, len(exact)))


def _exact_values(family: Family, domain: Domain, mu: Parameter, key: Key) -> tuple[Array, Float[np.ndarray, "n"]]:
    points, values = _draw(family, domain, mu, jax.random.split(key, OBSERVATIONS))
    return points, np.asarray(values, np.float64)


@eqx.filter_jit
def _draw(family: Family, domain: Domain, mu: Parameter, keys: Array) -> tuple[Array, Array]:
    points = jax.vmap(domain.sample)(keys)
    return points, jax.vmap(lambda x: family.exact(x, family.parameters.named(mu)))(points)


def _normals(key: Key, count: int) -> Float[np.ndarray, "n"]:
    return np.asarray(jax.random.normal(jax.random.fold_in(key, 2), (count,)), np.float64)


def _coverage(estimates: Sequence[Estimate], truths: Sequence[float], name: str) -> dict[str, object]:
    """How often the interval holds the truth, how often none is given, and how wide it is in the mean."""
    found = [estimate.parameters[name] for estimate in estimates]
    covered = [one.interval[0] <= truth <= one.interval[1] for one, truth in zip(found, truths, strict=True)]
    widths = [(one.interval[1] - one.interval[0]) / truth for one, truth in zip(found, truths, strict=True)]
    return {
        "covered": sum(covered),
        "not identifiable": sum(not one.identifiable for one in found),
        "width / value": float(np.median(widths)),
    }


def figure(rows: Sequence[Row]) -> Figure:
    """Coverage of every row beside what a true 95 % interval gives."""
    names = [f"{row['family']}, {row['parameter']}: {row['assumed']}" for row in rows]
    drawn = Figure(figsize=(9.0, 1.6 + 0.5 * len(rows)), layout="constrained")
    axis = drawn.subplots()
    low, high = (end * rows[0]["data sets"] / 100 for end in WANTED)
    axis.axvspan(low, high, color="#55a868", alpha=0.15, lw=0, label="what 95 % intervals give")
    axis.plot([row["covered"] for row in rows], range(len(rows)), "o", color="#2a5d9f", label="covered")
    axis.set(title=f"95 % intervals that hold the truth, of {rows[0]['data sets']}", xlim=(0, rows[0]["data sets"] + 1))
    axis.set_yticks(range(len(rows)), names)
    axis.invert_yaxis()
    axis.legend(fontsize=8, loc="lower left")
    return drawn


def finding(rows: Sequence[Row]) -> str:
    parts = [f"{row['family']}, {row['parameter']}, {row['assumed']}: {row['covered']}" for row in rows]
    return f"How many of {DATA_SETS} intervals of 95 % held the truth. {'; '.join(parts)}."


STUDY = Study(run, figure, finding=finding)
