"""Semilinear parabolic equations at one point (paper, section 5.10): one network for all μ beside two peers that are
retrained for each.

Relative L1 error, the mean of |û − u|/|u| at (0, 0.3) over 100 unseen μ, against references with an uncertainty; beside
it those of the large-d limit (the trivial answer) and of the best answer that ignores μ, and the errors of DeepBSDE and
deep splitting at the middle μ alone. The reduced study takes half a minute of steps at 10 and 100 dimensions; --full
three quarters of a minute at 10 to 10,000.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from prism.families import AllenCahnTime, Heat, SineGordonTime
from prism.families.semilinear import SemilinearFamily
from prism.numerics.keys import Purpose, stream
from prism.studies.figures import REFERENCE, legend_below, log_ticks, panels, styles
from prism.studies.peers.deep_bsde import deep_bsde
from prism.studies.peers.deep_splitting import deep_splitting
from prism.studies.peers.problem import PeerResult, SemilinearProblem
from prism.studies.trials import Measurement, Measurements, Study, TableRow, Tell, solved_by_default

DIMENSIONS, FULL_DIMENSIONS = (10, 100), (10, 100, 1_000, 10_000)
SECONDS, FULL_SECONDS = 30.0, 45.0
EQUATIONS: dict[str, type[SemilinearFamily]] = {
    "heat": Heat,
    "Allen-Cahn": AllenCahnTime,
    "Sine-Gordon": SineGordonTime,
}
OURS = "PRISM, all μ"


@dataclass(frozen=True)
class Effort:
    """Steps of the peers at a dimension: what they publish where that is cheap, fewer where a step takes a second."""

    bsde_steps: int
    steps_per_slice: int
    seconds: tuple[float, float]
    """About what DeepBSDE and deep splitting take, as measured on two cores."""


EFFORTS = {
    10: Effort(4_000, 500, (6.0, 6.0)),
    100: Effort(4_000, 250, (45.0, 17.0)),
    1_000: Effort(1_000, 100, (110.0, 60.0)),
    10_000: Effort(300, 25, (330.0, 135.0)),
}
SECONDS_BESIDE = 35.0
"""Of a run besides its steps: compilation, references and evaluation, as measured on two cores."""


def plan(full: bool) -> list[float]:
    ours, dimensions = SECONDS_BESIDE + (FULL_SECONDS if full else SECONDS), FULL_DIMENSIONS if full else DIMENSIONS
    return [one for dimension in dimensions for _ in EQUATIONS for one in (ours, *EFFORTS[dimension].seconds)]


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each equation, dimension and method."""
    measurements: list[Measurement] = []
    for dimension in FULL_DIMENSIONS if full else DIMENSIONS:
        for equation in EQUATIONS:
            tell(f"{equation} at {dimension:,} dimensions")
            ours = solved(equation, dimension, FULL_SECONDS if full else SECONDS)
            measurements += [ours, *peers(equation, dimension, tell)]
    return measurements


def solved(equation: str, dimension: int, seconds: float) -> Measurement:
    """The family, solved for all of its parameters."""
    family = EQUATIONS[equation].create(dimension, stream(0, Purpose.PROBLEM))
    outcome = solved_by_default(family, seconds)
    found = outcome.solution.training.evaluation
    assert found is not None  # these families know values
    mean = lambda name: float(np.mean([getattr(one, name) for one in found.by_parameter]))
    return {
        "d": dimension,
        "equation": equation,
        "method": OURS,
        "relative L1": mean("relative_l2"),  # at one point the relative L2 error at a μ is |û − u|/|u|
        "seconds": outcome.seconds,
        "steps": outcome.steps,
        "trivial": mean("trivial_error"),
        "μ-blind": mean("mu_blind_error"),
        "reference": found.reference_uncertainty,
    }


def peers(equation: str, dimension: int, tell: Tell) -> list[Measurement]:
    """The peers at the middle of the parameters, each trained for it alone."""
    family = EQUATIONS[equation].create(dimension, stream(0, Purpose.PROBLEM))
    middle = np.asarray(family.parameters.middle(), np.float64)
    named = family.parameters.named(jnp.asarray(middle, jnp.float32))
    problem = SemilinearProblem(dimension, family.domain.horizon, family.initial, lambda u: family.reaction(u, named))
    truth = float(family.known_values(middle[None]).values[0, 0])
    effort, key = EFFORTS[dimension], stream(0, Purpose.TRAINING)
    methods: dict[str, Callable[[], PeerResult]] = {
        "DeepBSDE, one μ": lambda: deep_bsde(problem, key, steps=effort.bsde_steps),
        "deep splitting, one μ": lambda: deep_splitting(problem, key, steps_per_slice=effort.steps_per_slice),
    }
    measurements: list[Measurement] = []
    for name, train in methods.items():
        tell(f"{equation} at {dimension:,} dimensions, {name}")
        found = train()
        measurements.append(
            {
                "d": dimension,
                "equation": equation,
                "method": name,
                "relative L1": abs(found.value - truth) / abs(truth),
                "seconds": found.seconds + found.compile_seconds,
                "steps": found.steps,
            }
        )
    return measurements


def summary(measurements: Measurements) -> list[TableRow]:
    """One line for each equation and dimension: every method's error and seconds; those of a peer are for one μ."""
    lines: dict[tuple, TableRow] = {}
    for one in measurements:
        line = lines.setdefault((one["d"], one["equation"]), {name: one[name] for name in ("d", "equation")})
        line[one["method"]] = one["relative L1"]
        line[f"{one['method']}: s (steps)"] = f"{one['seconds']:.0f} ({one['steps']:,})"
        if one["method"] == OURS:
            line |= {"large-d limit": one["trivial"], "ignores μ": one["μ-blind"], "reference ±": one["reference"]}
    return list(lines.values())


def finding(measurements: Measurements) -> str:
    """Where the network is below the answers that need none, and below its peers."""
    ours = [one for one in measurements if one["method"] == OURS]
    same = lambda one, other: (one["d"], one["equation"]) == (other["d"], other["equation"])
    peers_of = lambda one: [other for other in measurements if other["method"] != OURS and same(one, other)]
    below = sum(one["relative L1"] < min(one["trivial"], one["μ-blind"]) for one in ours)
    unsure = sum(one["relative L1"] < one["reference"] for one in ours)
    better = sum(one["relative L1"] < min(peer["relative L1"] for peer in peers_of(one)) for one in ours)
    return (
        f"One network for all μ is below the large-d limit and below the answer that ignores μ in {below} of "
        f"{len(ours)} cells; in {unsure} its error is below the uncertainty of the reference. In {better} cells it is "
        f"below the better of two networks trained for one μ. Its largest error is "
        f"{max(one['relative L1'] for one in ours):.1e}."
    )


def figure(measurements: Measurements) -> Figure:
    """Errors over the dimension, one panel per equation."""
    equations = list(dict.fromkeys(one["equation"] for one in measurements))
    looks = styles(dict.fromkeys(one["method"] for one in measurements))
    drawn, (plots,) = panels(1, len(equations), (4.2 * len(equations), 4.2), sharey=True)
    for axes, equation in zip(plots, equations, strict=True):
        here = [one for one in measurements if one["equation"] == equation]
        for method in looks:
            rows = [one for one in here if one["method"] == method]
            axes.plot([one["d"] for one in rows], [one["relative L1"] for one in rows], label=method, **looks[method])
        first = [one for one in here if one["method"] == here[0]["method"]]
        for column, line, meaning in (("trivial", ":", "large-d limit"), ("μ-blind", "--", "ignores μ")):
            axes.plot([one["d"] for one in first], [one[column] for one in first], line, color=REFERENCE, label=meaning)
        axes.set(xscale="log", yscale="log", title=equation, xlabel="dimensions")
        log_ticks(axes.xaxis)
    plots[0].set_ylabel("relative L1 error at (0, 0.3)")
    legend_below(drawn, plots[0])
    return drawn


STUDY = Study(run, plan, figure, summary, finding)
