"""Lowest eigenvalues of the coupled oscillator (paper, Example 3), and what limits them.

In normal modes a product is exact: how far training brings it at 100 to 20,000 dimensions, blind to μ, and with a
network of its own for each coordinate. In its own coordinates neighbours interact: how the error falls with the terms
of a sum of products, and with the bond of a train. The anharmonic chain is compared with its reference. Relative errors
of λ are means over held-out μ. A grid solves the one-dimensional problems of the modes for one μ at a time; beside it
the network's time for another μ. With --full all runs take four times as long.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from prism.eigen.forms import Form, Product, Sum, Train
from prism.eigen.network import FactorArchitecture
from prism.eigen.runs import EigenOutcome, execute_levels
from prism.eigen.settings import EigenSettings
from prism.families.anharmonic_chain import AnharmonicChain
from prism.families.coupled_oscillator import CoupledOscillator, PlainCoupledOscillator
from prism.networks.modulation import FILM, NONE, ModulationSettings
from prism.references.matrix_product import levels_of_one
from prism.shapes import Named
from prism.studies.figures import REFERENCE, legend_below, log_ticks, panels, styles
from prism.studies.trials import Measurement, Measurements, Study, Tell
from prism.training.loop import Budget

FULL_FACTOR = 4.0
BESIDE = 24.0
"""Seconds that a piece takes besides its steps: compilation and evaluation, as measured on two cores."""
MIDDLE = {"mu1": 1.0, "mu2": 0.46}
TIMED = 3
"""Questions to the network whose median is told."""


@dataclass(frozen=True)
class Piece:
    """One run: how many dimensions, of which form, for how many seconds, of which potential."""

    dimension: int
    form: Form
    seconds: float
    kind: type[CoupledOscillator | PlainCoupledOscillator | AnharmonicChain] = CoupledOscillator
    shared: bool = True
    modulation: ModulationSettings = FILM

    @property
    def name(self) -> str:
        """For a reader."""
        if self.modulation == NONE:
            return "blind to μ"
        if self.kind is CoupledOscillator:
            return "shared network" if self.shared else "own networks"
        return f"{type(self.form).__name__.lower()} of {self.form.rank}"


DIMENSIONS = (100, 1_000, 10_000, 20_000)
PLAIN = PlainCoupledOscillator
PIECES = (
    *(Piece(d, Product(1), 60.0) for d in DIMENSIONS),
    *(Piece(d, Product(), 6.0, modulation=NONE) for d in DIMENSIONS),
    *(Piece(d, Product(), 30.0, shared=False) for d in (100, 1_000)),
    *(Piece(100, Sum(p), 20.0, PLAIN) for p in (1, 2, 4)),
    *(Piece(100, Train(p), 45.0, PLAIN) for p in (2, 3, 4)),
    *(Piece(d, Train(3), seconds, PLAIN) for d, seconds in ((1_000, 60.0), (10_000, 120.0), (20_000, 180.0))),
    *(Piece(50, Train(p), 45.0, AnharmonicChain) for p in (2, 3)),
)
COORDINATES = {CoupledOscillator: "modes", PLAIN: "plain", AnharmonicChain: "anharmonic"}
GRID_DIMENSION = 1_000


def plan(full: bool) -> list[float]:
    factor = FULL_FACTOR if full else 1.0
    return [*(piece.seconds * factor + BESIDE for piece in PIECES), BESIDE]


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each piece, and one of a grid."""
    measurements: list[Measurement] = []
    factor, asked = FULL_FACTOR if full else 1.0, None
    for piece in PIECES:
        tell(f"{piece.name} at {piece.dimension:,} dimensions")
        outcome = trained(piece, piece.seconds * factor)
        measurements.append(measured(piece, outcome))
        if piece.dimension == GRID_DIMENSION and piece.name == "shared network":
            asked = outcome
    tell(f"a grid at {GRID_DIMENSION:,} dimensions")
    return [*measurements, *([] if asked is None else [grid(asked)])]


def trained(piece: Piece, seconds: float) -> EigenOutcome:
    """One run."""
    potential = piece.kind.create(piece.dimension)
    excited = piece.form.excited if isinstance(piece.form, Product) else 0
    architecture = FactorArchitecture(modulation=piece.modulation, shared=piece.shared)
    settings = EigenSettings.choose(potential, piece.form, architecture, levels=1 + excited)
    outcome = execute_levels(potential, settings, Budget(minutes=seconds / 60.0), show=False)
    if outcome.interrupted_by is not None:
        raise KeyboardInterrupt(outcome.interrupted_by)
    return outcome


def measured(piece: Piece, outcome: EigenOutcome) -> Measurement:
    """What the tables tell of a run."""
    report = outcome.report()
    excited = report["excited_errors"]
    return {
        "d": piece.dimension,
        "coordinates": COORDINATES[piece.kind],
        "what": piece.name,
        "steps": outcome.steps,
        "seconds": outcome.seconds,
        "error of λ": report["relative_l1"],
        "at the worst": report["largest_error"],
        "first excited": excited[0] if excited else None,  # pyright: ignore[reportIndexIssue]
        "mean field": report["trivial_error"],
        "μ-blind": report["mu_blind_error"],
        "skill": report["skill"],
        "σ / λ": report["relative_deviation"],
        "peak MB": report["peak_rss_mb"],
        "one μ, seconds": None,
    }


def grid(outcome: EigenOutcome) -> Measurement:
    """λ of one μ by the one-dimensional problems on a grid, and how long the trained network takes for another μ."""
    potential, mu = outcome.solution.potential, Named(MIDDLE)
    begun = time.perf_counter()
    total = sum(float(levels_of_one(potential, i, mu, 1)[0]) for i in range(potential.dimension))
    seconds = time.perf_counter() - begun
    exact = float(potential.exact(mu, 1)[0])
    return {
        **dict.fromkeys(measured(PIECES[0], outcome)),
        "d": potential.dimension,
        "coordinates": "modes",
        "what": f"grid (network: {asking_seconds(outcome):.2g} s)",
        "error of λ": abs(total - exact) / exact,
        "one μ, seconds": seconds,
    }


def asking_seconds(outcome: EigenOutcome) -> float:
    """The median time for the levels of one μ, compiled before."""
    ask = partial(outcome.solution, **MIDDLE)
    ask()
    taken = []
    for _ in range(TIMED):
        begun = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - begun)
    return float(np.median(taken))


def figure(measurements: Measurements) -> Figure:
    """The error over the dimension in normal modes, and over the rank in the oscillator's own coordinates."""
    drawn, ((left, right),) = panels(1, 2, (10.5, 4.2))
    modes = [one for one in measurements if one["coordinates"] == "modes" and one["steps"] is not None]
    looks = styles(one["what"] for one in modes)
    for name, look in looks.items():
        rows = [one for one in modes if one["what"] == name]
        left.plot([one["d"] for one in rows], [one["error of λ"] for one in rows], label=name, **look)
    rows = [one for one in modes if one["what"] == modes[0]["what"]]
    for name, line in (("mean field", ":"), ("μ-blind", "--")):
        left.plot([one["d"] for one in rows], [one[name] for one in rows], line, color=REFERENCE, label=name)
    left.axhline(1e-6, color=REFERENCE, lw=0.8, label="1e-6")
    left.set(xscale="log", yscale="log", xlabel="dimensions", ylabel="relative error of λ", title="normal modes")
    log_ticks(left.xaxis)
    plain = [one for one in measurements if one["coordinates"] == "plain" and one["d"] == 100]
    kinds = styles(one["what"].split()[0] for one in plain)
    for kind, look in kinds.items():
        rows = [one for one in plain if one["what"].split()[0] == kind]
        right.plot([rank(one) for one in rows], [one["error of λ"] for one in rows], label=f"{kind}, 100 D", **look)
    right.set(yscale="log", xlabel="terms of the sum, bond of the train", title="its own coordinates")
    right.legend(fontsize=9)
    legend_below(drawn, left)
    return drawn


def rank(measurement: Mapping[str, Any]) -> int:
    """The terms or the bond that a row is of."""
    return int(measurement["what"].split()[-1])


def finding(measurements: Measurements) -> str:
    """How good the modes are, and what more terms and more bond bring in the oscillator's own coordinates."""
    modes = [one for one in measurements if one["what"] == "shared network"]
    reached = sum(one["error of λ"] < 1e-6 for one in modes)
    worst = max(one["error of λ"] for one in modes)
    plain = {one["what"]: one for one in measurements if one["coordinates"] == "plain" and one["d"] == 100}
    spread = lambda kind: [one["error of λ"] for name, one in plain.items() if name.startswith(kind)]
    chain = min(one["error of λ"] for one in measurements if one["coordinates"] == "anharmonic")
    sums, trains = spread("sum"), spread("train")
    return (
        f"In normal modes {reached} of {len(modes)} dimensions end below 1e-6 (at the worst {worst:.2g}). In its own "
        f"coordinates at 100 D more terms of a sum leave {sums[0]:.2g} at {sums[-1]:.2g}, a train falls from "
        f"{trains[0]:.2g} to {trains[-1]:.2g} with its bond. The anharmonic chain is {chain:.1g} off its reference "
        "at best."
    )


STUDY = Study(run, plan, figure, finding=finding)
