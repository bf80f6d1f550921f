"""Whether the intervals of `invert` hold: how often they cover the truth, and whether what cannot be known is said.

Data are values of the exact solution at random points of the domain, with noise of 1 % of their root mean square; the
surrogate that inverts them is trained here and has an error of its own. The blind data are taken where u does not
depend on μ.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from prism.families import ReactionDiffusion, SineGordonBeta
from prism.inversion.estimate import Estimate
from prism.inversion.inference import invert
from prism.inversion.observations import Observations
from prism.numerics.keys import Purpose, child, items, stream
from prism.problem.domains import Domain, Sphere
from prism.problem.family import Family
from prism.shapes import Key, Parameter, Point
from prism.solution.solution import Solution
from prism.studies.figures import REFERENCE, legend_below, offsets, panels, styles
from prism.studies.trials import LEVEL, Measurement, Measurements, Study, TableRow, Tell, Trial, binomial_interval
from prism.training.loop import Budget

DIMENSION = 10
STEPS, FULL_STEPS = 300, 1_500
SECONDS_PER_STEP, SECONDS_BESIDE, INVERTING_SECONDS = 0.1, 10.0, 80.0
"""Of training, with its compilation, and of inverting all data sets of a family, as measured on two cores."""
OBSERVATIONS, NOISE = 200, 0.01
DATA_SETS, BLIND_SETS = 100, 20
SHARE_LABEL = "% (bars: binomial 95 %)"


@dataclass(frozen=True)
class Problem:
    """A family with its exact solution, and a part of its domain where that does not depend on μ."""

    name: str
    family: Family
    blind: Domain


class InitialFront(Domain):
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
    front = ReactionDiffusion.create(dimension, stream(0, Purpose.PROBLEM))
    return [
        Problem("sine-gordon-beta", SineGordonBeta.create(dimension, stream(0, Purpose.PROBLEM)), Sphere(dimension)),
        Problem("reaction-diffusion", front, InitialFront(space=front.domain.space, direction=front.direction)),  # pyright: ignore[reportCallIssue],
    ]


def plan(full: bool) -> list[float]:
    training = SECONDS_BESIDE + SECONDS_PER_STEP * (FULL_STEPS if full else STEPS)
    return [training, INVERTING_SECONDS] * len(problems(DIMENSION))


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each family, parameter and what was assumed."""
    measurements: list[Measurement] = []
    for problem in problems(DIMENSION):
        tell(f"training {problem.name} at {DIMENSION:,} dimensions")
        outcome = Trial("default").run(problem.family, Budget(steps=FULL_STEPS if full else STEPS))
        tell(f"inverting {DATA_SETS} data sets of {problem.name}, and {BLIND_SETS} blind ones")
        measurements += measure(problem, outcome.solution)
    return measurements


def measure(problem: Problem, solution: Solution) -> list[Measurement]:
    """Coverage under each assumption, from the same data sets; and how many of other, blind ones were flagged."""
    family, error = problem.family, solution.evaluate().relative_l2
    truths, data, noises = data_sets(family, stream(0, Purpose.CHECK))
    flags = invert(solution, blind_sets(problem, float(np.mean(noises)), stream(1, Purpose.CHECK)))
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
            "data sets": len(data),
            **_coverage(estimates, [float(mu[index]) for mu in truths], name),
            "blind sets": len(flags),
            "flagged": sum(not estimate.identifiable[name] for estimate in flags),
        }
        for index, name in enumerate(family.parameters.names)
        for assumption, estimates in assumed.items()
    ]


def data_sets(family: Family, key: Key) -> tuple[list[Parameter], list[Observations], list[float]]:
    """True parameters, what was observed under each, and the standard deviation of its noise: 1 % of the values."""
    truths, data, noises = [], [], []
    for one in items(key, DATA_SETS):
        mu = family.parameters.sample(child(one, Purpose.PARAMETERS))
        points, exact = _exact_values(family, family.domain, mu, one)
        noise = NOISE * float(np.sqrt(np.mean(exact**2)))
        truths.append(mu)
        data.append(Observations(points, exact + noise * _normals(one, len(exact))))
        noises.append(noise)
    return truths, data, noises


def blind_sets(problem: Problem, noise: float, key: Key) -> list[Observations]:
    """Exact values where they do not depend on μ, with noise of this standard deviation."""
    observed = []
    for one in items(key, BLIND_SETS):
        mu = problem.family.parameters.sample(child(one, Purpose.PARAMETERS))
        points, exact = _exact_values(problem.family, problem.blind, mu, one)
        observed.append(Observations(points, exact + noise * _normals(one, len(exact))))
    return observed


def _exact_values(family: Family, domain: Domain, mu: Parameter, key: Key) -> tuple[Array, Float[np.ndarray, "n"]]:
    points, values = _draw(family, domain, mu, items(child(key, Purpose.POINTS), OBSERVATIONS))
    return points, np.asarray(values, np.float64)


@eqx.filter_jit
def _draw(family: Family, domain: Domain, mu: Parameter, keys: Array) -> tuple[Array, Array]:
    points = jax.vmap(domain.sample)(keys)
    return points, jax.vmap(lambda x: family.exact(x, family.parameters.named(mu)))(points)


def _normals(key: Key, count: int) -> Float[np.ndarray, "n"]:
    return np.asarray(jax.random.normal(child(key, Purpose.NOISE), (count,)), np.float64)


def _coverage(estimates: Sequence[Estimate], truths: Sequence[float], name: str) -> dict[str, object]:
    """How often the interval holds the truth, how often none is given, and how wide it is in the median."""
    found = [estimate.parameters[name] for estimate in estimates]
    covered = [one.interval[0] <= truth <= one.interval[1] for one, truth in zip(found, truths, strict=True)]
    widths = [(one.interval[1] - one.interval[0]) / truth for one, truth in zip(found, truths, strict=True)]
    return {
        "covered": sum(covered),
        "not identifiable": sum(not one.identifiable for one in found),
        "width / value": float(np.median(widths)),
    }


def summary(measurements: Measurements) -> list[TableRow]:
    """Every measurement, with the interval in which the probability of covering the truth lies."""
    table = []
    for one in measurements:
        low, high = binomial_interval(one["covered"], one["data sets"])
        row = dict(one)
        row["covered"] = f"{one['covered']} ({100 * low:.0f} to {100 * high:.0f} %)"
        table.append(row)
    return table


def figure(measurements: Measurements) -> Figure:
    """Share of intervals that hold the truth, and of blind data sets that were flagged, with binomial 95 % bars."""
    cases = {(one["family"], one["parameter"]): one for one in reversed(measurements)}
    places = {case: float(place) for place, case in enumerate(reversed(cases))}
    drawn, ((covered, flagged),) = panels(1, 2, (11.0, 1.9 + 0.75 * len(cases)), sharey=True, width_ratios=(2, 1))
    looks = styles(one["assumed"] for one in measurements)
    for assumption, offset in zip(looks, offsets(len(looks), 0.2), strict=True):
        here = [one for one in measurements if one["assumed"] == assumption]
        along = [places[one["family"], one["parameter"]] + offset for one in here]
        _plot_shares(covered, along, here, ("covered", "data sets"), {"label": assumption, **looks[assumption]})
    grey = {"color": REFERENCE, "marker": "o"}
    _plot_shares(flagged, list(places.values()), [cases[case] for case in places], ("flagged", "blind sets"), grey)
    for case, place in places.items():
        text = f"{cases[case]['flagged']} of {cases[case]['blind sets']}"
        flagged.text(0.97, place - 0.12, text, ha="right", fontsize=9, transform=flagged.get_yaxis_transform())
    covered.axvline(100 * LEVEL, color=REFERENCE, ls="--", label=f"{100 * LEVEL:g} %")
    covered.set(title=f"intervals that hold the truth, of {measurements[0]['data sets']} data sets", xlabel=SHARE_LABEL)
    flagged.set(title="blind data sets that were flagged", xlabel=SHARE_LABEL)
    covered.set_yticks(list(places.values()), [f"{family}\n{parameter}" for family, parameter in places])
    covered.set_ylim(len(cases) - 0.5, -0.5)
    legend_below(drawn, covered)
    return drawn


def _plot_shares(
    axes: Axes, places: Sequence[float], here: Measurements, columns: tuple[str, str], look: dict[str, str]
) -> None:
    """Percentages at their places along y, with Clopper and Pearson's intervals; `columns` of successes and trials."""
    counts = [(one[columns[0]], one[columns[1]]) for one in here]
    shares = np.asarray([100.0 * successes / trials for successes, trials in counts])
    low, high = 100.0 * np.asarray([binomial_interval(*count) for count in counts]).T
    bars = np.stack([shares - low, high - shares]).clip(min=0.0)
    axes.errorbar(
        shares,
        places,
        xerr=bars,
        ls="none",
        capsize=3,
        color=look["color"],
        marker=look["marker"],
        label=look.get("label"),
    )
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=(1, 2, 5, 10)))


def finding(measurements: Measurements) -> str:
    parts = [
        f"{one['family']}, {one['parameter']}, {one['assumed']}: {one['covered']} of {one['data sets']}"
        for one in measurements
    ]
    flagged, blind = (sum(one[column] for one in measurements) for column in ("flagged", "blind sets"))
    return (
        f"Intervals of 95 % that held the truth. {'; '.join(parts)}. "
        f"Flagged where μ has no effect: {100 * flagged / blind:.0f} %."
    )


STUDY = Study(run, plan, figure, summary, finding)
