"""Gradient-enhanced training: the residual's gradient in the loss, along one random direction per pair (amortised: from
the same jets as the residual), or not at all.

Allen-Cahn and Sine-Gordon in the ball (paper, table of gPINN), and the equation of Korteweg and de Vries, which the
paper trains in this way. Adam with the paper's network, and SPRING with the default one. The time of a step is compared
in rounds that go through both in turn; errors are over unseen μ after the same seconds of training.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure

from prism.families import AllenCahn, GKdV, SineGordon
from prism.numerics.keys import Purpose, stream
from prism.numerics.texts import counted
from prism.objective.rows import Slopes
from prism.problem.family import Family
from prism.solving.settings import Settings, default_optimiser
from prism.studies.figures import REFERENCE, legend_below, log_ticks, panels, styles
from prism.studies.steppers import EACH_ROUND, Stepper, measured, ratio_quartiles, speed
from prism.studies.trials import Measurement, Measurements, Study, TableRow, Tell
from prism.training.optimisers import Adam, Optimiser

DIMENSIONS, FULL_DIMENSIONS = (100, 1_000), (100, 1_000, 10_000, 100_000)
SECONDS, FULL_SECONDS = 10.0, 20.0
OPTIMISERS: dict[str, Callable[[Family], Optimiser]] = {"adam": lambda family: Adam(), "spring": default_optimiser}
PLAIN, ENHANCED = "residual", "residual and its gradient"
LOSSES: dict[str, Slopes | None] = {PLAIN: None, ENHANCED: Slopes(1)}


@dataclass(frozen=True)
class Problem:
    """An equation at a dimension, and about how many seconds both losses of one optimiser take besides training."""

    equation: str
    dimension: int
    family: Family
    seconds_beside: float


def problems(full: bool) -> list[Problem]:
    """The paper's two at every dimension, then the wave, which has one of its own."""
    seconds = {100: 25.0, 1_000: 42.0, 10_000: 33.0, 100_000: 36.0}
    found = [
        Problem(name, dimension, kind.create(dimension, stream(0, Purpose.PROBLEM)), seconds.get(dimension, 40.0))
        for dimension in (FULL_DIMENSIONS if full else DIMENSIONS)
        for name, kind in (("allen-cahn", AllenCahn), ("sine-gordon", SineGordon))
    ]
    return [*found, Problem("gkdv", 1, GKdV.create(), 31.0)]


def plan(full: bool) -> list[float]:
    seconds = FULL_SECONDS if full else SECONDS
    return [one.seconds_beside + len(LOSSES) * seconds for one in problems(full) for _ in OPTIMISERS]


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each problem, optimiser and loss."""
    measurements: list[Measurement] = []
    for problem in problems(full):
        for optimiser in OPTIMISERS:
            tell(f"{problem.equation} at {counted(problem.dimension, 'dimension')}, {optimiser}")
            measurements += compared(problem, optimiser, FULL_SECONDS if full else SECONDS)
    return measurements


def compared(problem: Problem, optimiser: str, seconds: float) -> list[Measurement]:
    """Both losses."""
    family = problem.family
    chosen = lambda slopes: Settings.choose(family, optimiser=OPTIMISERS[optimiser](family), slopes=slopes)
    steppers = {loss: Stepper(family, chosen(slopes)) for loss, slopes in LOSSES.items()}
    labels = {"d": problem.dimension, "equation": problem.equation, "optimiser": optimiser}
    return measured("loss", steppers, seconds, labels)


def summary(measurements: Measurements) -> list[TableRow]:
    """One line per problem and optimiser: the time of a step with the gradient over that without, and both errors."""
    return [_line(plain, enhanced) for plain, enhanced in _pairs(measurements)]


def _line(plain: Mapping, enhanced: Mapping) -> TableRow:
    lower, median, upper = _ratios(plain, enhanced)
    line: TableRow = {name: plain[name] for name in ("d", "equation", "optimiser")}
    line |= {"steps/s": speed(plain)}
    line |= {"time with the gradient": median, "quartiles": f"{lower:.2f} to {upper:.2f}"}
    line |= {"steps": f"{plain['steps']:,} and {enhanced['steps']:,}", "relative L2": plain["relative L2"]}
    line |= {"with the gradient": enhanced["relative L2"]}
    line |= {name: plain[name] for name in ("trivial", "μ-blind", "skill")}
    return line | {"skill with the gradient": enhanced["skill"]}


def _pairs(measurements: Measurements) -> list[tuple[Mapping, Mapping]]:
    """The two losses of each problem and optimiser."""
    cell = lambda one: (one["d"], one["equation"], one["optimiser"])
    plain, enhanced = ({cell(one): one for one in measurements if one["loss"] == loss} for loss in LOSSES)
    return [(plain[at], enhanced[at]) for at in plain]


def _ratios(plain: Mapping, enhanced: Mapping) -> tuple[float, float, float]:
    return ratio_quartiles(enhanced[EACH_ROUND], plain[EACH_ROUND])


def finding(measurements: Measurements) -> str:
    """What the gradient costs, and what it does to the error, by optimiser."""
    texts = []
    for optimiser in dict.fromkeys(one["optimiser"] for one in measurements):
        pairs = [pair for pair in _pairs(measurements) if pair[0]["optimiser"] == optimiser]
        costs = [_ratios(*pair)[1] for pair in pairs]
        errors = [enhanced["relative L2"] / plain["relative L2"] for plain, enhanced in pairs]
        lower = sum(ratio < 1.0 for ratio in errors)
        texts.append(
            f"With {optimiser} a step takes {min(costs):.2f} to {max(costs):.2f} times as long, and after equal "
            f"seconds the error is {min(errors):.2g} to {max(errors):.2g} times that of the plain loss, lower in "
            f"{lower} of {len(pairs)} cells."
        )
    return " ".join(texts)


def figure(measurements: Measurements) -> Figure:
    """Errors over the dimension with both losses and optimisers, one panel per equation."""
    equations = list(dict.fromkeys(one["equation"] for one in measurements))
    optimisers = list(dict.fromkeys(one["optimiser"] for one in measurements))
    looks = styles(f"{optimiser}, {loss}" for optimiser in optimisers for loss in LOSSES)
    drawn, (plots,) = panels(1, len(equations), (4.2 * len(equations), 4.4), sharey=True)
    for axes, equation in zip(plots, equations, strict=True):
        here = [one for one in measurements if one["equation"] == equation]
        for label in looks:
            rows = [one for one in here if f"{one['optimiser']}, {one['loss']}" == label]
            axes.plot([one["d"] for one in rows], [one["relative L2"] for one in rows], label=label, **looks[label])
        first = [plain for plain, _ in _pairs(here) if plain["optimiser"] == optimisers[0]]
        for baseline, line in (("trivial", ":"), ("μ-blind", "--")):
            values = [one[baseline] for one in first]
            marker = {"marker": "_", "ms": 16} if len(first) == 1 else {}
            axes.plot([one["d"] for one in first], values, line, color=REFERENCE, label=baseline, **marker)
        axes.set(xscale="log", yscale="log", title=equation, xlabel="dimensions")
        log_ticks(axes.xaxis)
    plots[0].set_ylabel(f"relative L2 after {measurements[0]['seconds']:g} s")
    legend_below(drawn, plots[0], 3)
    return drawn


STUDY = Study(run, plan, figure, summary, finding)
