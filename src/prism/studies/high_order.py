"""Equations of high order in few dimensions (paper, section 5.11): series against nested reverse differentiation.

The same network, loss and batches, differentiated in two ways: all partial derivatives of the equation as one series
behind the lift, or one reverse pass inside the other. Adam, 100 points and 50 of every condition; the paper's network,
deeper and wider ones. Errors are over unseen μ after the same seconds of training; last comes what the default of
`prism solve` reaches in them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prism.families import KP, GKdV, KdV2D
from prism.families.solitons import SolitonFamily
from prism.networks.lifts.parts import Dense
from prism.networks.model import Architecture
from prism.solving.settings import Settings
from prism.studies.figures import REFERENCE, legend_below, offsets, panels, styles
from prism.studies.peers.nested import NestedObjective
from prism.studies.steppers import EACH_ROUND, Stepper, measured, ratio_quartiles, speed
from prism.studies.trials import Measurement, Measurements, Study, TableRow, Tell
from prism.training.optimisers import Adam

EQUATIONS: dict[str, type[SolitonFamily]] = {"kdv2d": KdV2D, "kp": KP, "gkdv": GKdV}


@dataclass(frozen=True)
class Network:
    """Layers of equal width; and about how many seconds it takes to compile and time both ways, on two cores."""

    width: int
    depth: int
    seconds_beside: float


NETWORKS = {
    "base": Network(128, 4, 27.0),
    "8 layers": Network(128, 8, 34.0),
    "16 layers": Network(128, 16, 44.0),
    "width 256": Network(256, 4, 33.0),
    "width 512": Network(512, 4, 42.0),
}
DEFAULT = "default"
WAY, SERIES, NESTED = "derivatives", "series", "nested reverse"
SECONDS, FULL_SECONDS, SECONDS_BESIDE = 10.0, 60.0, 15.0
"""Of training, and what the default's run takes besides, as measured on two cores."""


def plan(full: bool) -> list[float]:
    seconds = FULL_SECONDS if full else SECONDS
    networks = [one.seconds_beside + 2 * seconds for one in NETWORKS.values()]
    return [*networks, SECONDS_BESIDE + seconds] * len(EQUATIONS)


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each equation, network and way of differentiation."""
    measurements: list[Measurement] = []
    seconds = FULL_SECONDS if full else SECONDS
    for equation, kind in EQUATIONS.items():
        family = kind.create()
        for name, network in NETWORKS.items():
            tell(f"{equation}, {name}")
            architecture = Architecture(Dense(network.width), network.width, network.depth)
            settings = Settings.choose(family, optimiser=Adam(), architecture=architecture)
            ways = {
                SERIES: Stepper(family, settings),
                NESTED: Stepper(family, settings, NestedObjective.of),
            }
            measurements += measured(WAY, ways, seconds, {"equation": equation, "network": name})
        tell(f"{equation}, {DEFAULT}")
        ways = {SERIES: Stepper(family, Settings.choose(family))}
        measurements += measured(WAY, ways, seconds, {"equation": equation, "network": DEFAULT})
    return measurements


def summary(measurements: Measurements) -> list[TableRow]:
    """One line per equation and network: steps per second of both ways, their ratio within a round with its quartiles,
    and both errors."""
    return [_line(series, _nested_of(series, measurements)) for series in _of(SERIES, measurements)]


def _line(series: Mapping, nested: Mapping | None) -> TableRow:
    names = ("equation", "network")
    line: TableRow = {name: series[name] for name in names} | {"steps/s": speed(series)}
    lower, median, upper = (None, None, None) if nested is None else _ratios(series, nested)
    line |= {f"steps/s, {NESTED}": None if nested is None else speed(nested), "ratio": median}
    line |= {"quartiles": None if lower is None else f"{lower:.2f} to {upper:.2f}"}
    line |= {"FLOP ratio": None if nested is None else nested["FLOP per step"] / series["FLOP per step"]}
    line |= {"s": f"{series['seconds']:g}", "relative L2": series["relative L2"]}
    line |= {f"relative L2, {NESTED}": None if nested is None else nested["relative L2"]}
    return line | {name: series[name] for name in ("trivial", "μ-blind", "skill")}


def _of(way: str, measurements: Measurements) -> list[Mapping]:
    return [one for one in measurements if one[WAY] == way]


def _nested_of(series: Mapping, measurements: Measurements) -> Mapping | None:
    """The same equation and network, differentiated the other way."""
    same = lambda other: all(series[name] == other[name] for name in ("equation", "network"))
    return next((other for other in _of(NESTED, measurements) if same(other)), None)


def _ratios(series: Mapping, nested: Mapping) -> tuple[float, float, float]:
    return ratio_quartiles(nested[EACH_ROUND], series[EACH_ROUND])


def finding(measurements: Measurements) -> str:
    """How much faster, and what that does to the error after equal seconds."""
    pairs = [(one, other) for one in _of(SERIES, measurements) if (other := _nested_of(one, measurements)) is not None]
    texts = []
    for equation in dict.fromkeys(one["equation"] for one, _ in pairs):
        speeds = {one["network"]: _ratios(one, other)[1] for one, other in pairs if one["equation"] == equation}
        texts.append(f"{equation} {', '.join(f'{ratio:.2f} ({name})' for name, ratio in speeds.items())}")
    lower = sum(one["relative L2"] < other["relative L2"] for one, other in pairs)
    default = {one["equation"]: one["relative L2"] for one in _of(SERIES, measurements) if one["network"] == DEFAULT}
    best = {name: min(one["relative L2"] for one, _ in pairs if one["equation"] == name) for name in default}
    gains = [best[name] / error for name, error in default.items()]
    return (
        f"Steps per second over those with nested reverse differentiation: {'; '.join(texts)}. After equal seconds the "
        f"error is the lower one in {lower} of {len(pairs)} cells. The default of `prism solve` ends at an error "
        f"{min(gains):.2g} to {max(gains):.2g} times below the best of these networks."
    )


def figure(measurements: Measurements) -> Figure:
    """Speeds and errors of both ways by network, one column per equation."""
    equations = list(dict.fromkeys(one["equation"] for one in measurements))
    looks = styles([SERIES, NESTED])
    drawn, plots = panels(2, len(equations), (4.2 * len(equations), 7.0), sharey="row")
    for column, equation in enumerate(equations):
        here = [one for one in measurements if one["equation"] == equation]
        networks = list(dict.fromkeys(one["network"] for one in here))
        speeds, errors = plots[:, column]
        for way, offset in zip(looks, offsets(len(looks), 0.2), strict=True):
            rows = _of(way, here)
            places = [networks.index(one["network"]) + offset for one in rows]
            speeds.plot(places, [speed(one) for one in rows], ls="none", label=way, **looks[way])
            errors.plot(places, [one["relative L2"] for one in rows], ls="none", **looks[way])
        for baseline, line, side in (("trivial", ":", "bottom"), ("μ-blind", "--", "top")):
            errors.axhline(here[0][baseline], color=REFERENCE, ls=line)
            errors.annotate(baseline, (0.02, here[0][baseline]), xycoords=("axes fraction", "data"), va=side)
        speeds.set(title=equation)
        for axes in (speeds, errors):
            _over_networks(axes, networks)
    plots[0, 0].set_ylabel("steps per second")
    plots[1, 0].set_ylabel(f"relative L2 after {measurements[0]['seconds']:g} s")
    legend_below(drawn, plots[0, 0])
    return drawn


def _over_networks(axes: Axes, networks: list[str]) -> None:
    axes.set(yscale="log", xlim=(-0.5, len(networks) - 0.5))
    axes.set_xticks(range(len(networks)), networks, rotation=40, ha="right")
    axes.grid(axis="y", color="#dddddd", lw=0.6)


STUDY = Study(run, plan, figure, summary, finding)
