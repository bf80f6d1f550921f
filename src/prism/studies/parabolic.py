"""Semilinear parabolic equations at one point (paper, section 5.10): one network for all μ beside two peers that are
retrained for each.

Relative L1 error of u(0, 0.3) over 100 unseen μ, against references with an uncertainty; beside it the large-d limit
(the trivial answer), the best answer that ignores μ, and DeepBSDE and deep splitting at the middle μ alone. The reduced
study takes half a minute of steps at 10 and 100 dimensions; --full two minutes at 10 to 10,000.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from prism.families import AllenCahnTime, Heat, SineGordonTime
from prism.families.semilinear import SemilinearFamily, initial_state
from prism.numerics.keys import Purpose, stream
from prism.shapes import Point, Scalar
from prism.studies.figures import REFERENCE, legend_below, log_ticks, panels, styles
from prism.studies.peers.deep_bsde import deep_bsde
from prism.studies.peers.deep_splitting import deep_splitting
from prism.studies.peers.problem import PeerResult, SemilinearProblem
from prism.studies.trials import Measurement, Measurements, Study, Tell, report_by_default

DIMENSIONS, FULL_DIMENSIONS = (10, 100), (10, 100, 1_000, 10_000)
SECONDS, FULL_SECONDS = 30.0, 120.0
EQUATIONS: dict[str, tuple[type[SemilinearFamily], Callable[[Point], Scalar]]] = {
    "heat": (Heat, lambda x: initial_state(jnp.sum(x * x))),
    "Allen-Cahn": (AllenCahnTime, lambda x: jnp.arctan(jnp.max(x))),
    "Sine-Gordon": (SineGordonTime, lambda x: initial_state(jnp.sum(x * x))),
}
OURS = "PRISM, all μ"


@dataclass(frozen=True)
class Effort:
    """Steps of the peers at a dimension: what they publish where that is cheap, fewer where a step takes a second."""

    bsde_steps: int
    steps_per_slice: int


EFFORTS = {10: Effort(4_000, 500), 100: Effort(4_000, 500), 1_000: Effort(1_000, 250), 10_000: Effort(300, 60)}


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each equation, dimension and method."""
    measurements: list[Measurement] = []
    for dimension in FULL_DIMENSIONS if full else DIMENSIONS:
        for equation in EQUATIONS:
            tell(f"{equation} at {dimension:,} dimensions")
            ours = solved(equation, dimension, FULL_SECONDS if full else SECONDS)
            measurements += [ours, *peers(equation, dimension, ours, tell)]
    return measurements


def solved(equation: str, dimension: int, seconds: float) -> Measurement:
    """The family, solved for all of its parameters."""
    family = EQUATIONS[equation][0].create(dimension, stream(0, Purpose.PROBLEM))
    report = report_by_default(family, seconds)
    return {
        "d": dimension,
        "equation": equation,
        "method": OURS,
        "relative L1": report["relative_l1"],
        "trivial": report["trivial_error"],
        "μ-blind": report["mu_blind_error"],
        "reference": report["reference_uncertainty"],
        "seconds": report["seconds"],
        "steps": report["steps"],
    }


def peers(equation: str, dimension: int, ours: Measurement, tell: Tell) -> list[Measurement]:
    """The peers at the middle of the parameters, each trained for it alone."""
    kind, initial = EQUATIONS[equation]
    family = kind.create(dimension, stream(0, Purpose.PROBLEM))
    middle = np.asarray(family.parameters.middle(), np.float64)
    named = family.parameters.named(jnp.asarray(middle, jnp.float32))
    problem = SemilinearProblem(dimension, family.domain.horizon, initial, lambda u: family.reaction(u, named))
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
        error = abs(found.value - truth) / abs(truth)
        times = {"seconds": found.seconds + found.compile_seconds, "steps": found.steps}
        measurements.append({**ours, "method": name, "relative L1": error, **times})
    return measurements


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


STUDY = Study(run, figure)
