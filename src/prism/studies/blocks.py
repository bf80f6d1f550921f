"""Blocks of coordinates that share weights (paper, section 5.9): Allen-Cahn in very many dimensions.

Each lift is a run of `prism solve` in a process of its own, so that the peak of its memory is its own. The reduced
study takes half a minute each at 100,000 dimensions; --full takes 1.5 minutes at 1,000,000 and 2 at 5,000,000. Beside
blocks of 1 to 1,000 coordinates stands the affine lift, which has a slope of its own for every coordinate.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from matplotlib.figure import Figure

from prism.errors import PrismError
from prism.files.reading import blaming, parse_json
from prism.studies.figures import REFERENCE, legend_below, panels
from prism.studies.trials import Measurement, Measurements, Study, TableRow, Tell

SIZES = (1, 10, 50, 100, 500, 1000)
WIDTH = 16
MINUTES, FULL_MINUTES = {100_000: 0.5}, {1_000_000: 1.5, 5_000_000: 2.0}
SECONDS_BESIDE, SECONDS_PER_COORDINATE = 25.0, 2e-5
"""What a run takes besides its minutes, in all and per coordinate: start, compilation, evaluation and pictures."""
COLUMNS = {
    "steps": "steps",
    "steps per second": "steps_per_second",
    "peak MB": "peak_rss_mb",
    "relative L2": "relative_l2",
    "trivial": "trivial_error",
    "μ-blind": "mu_blind_error",
    "skill": "skill",
}


def lifts() -> dict[str, str]:
    """Every lift as it is typed; a block of one coordinate is a dense lift."""
    blocks = {f"blocks of {size:,}": f"blocks:{size}:{WIDTH}" if size > 1 else f"dense:{WIDTH}" for size in SIZES}
    return {**blocks, "affine": "affine:4"}


def plan(full: bool) -> list[float]:
    times = (FULL_MINUTES if full else MINUTES).items()
    whole = [60.0 * minutes + SECONDS_BESIDE + SECONDS_PER_COORDINATE * dimension for dimension, minutes in times]
    return [seconds for seconds in whole for _ in lifts()]


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each dimension and lift."""
    measurements: list[Measurement] = []
    for dimension, minutes in (FULL_MINUTES if full else MINUTES).items():
        for name, lift in lifts().items():
            tell(f"Allen-Cahn at {dimension:,} dimensions, {name}, {minutes:g} minutes")
            report = _solved(dimension, lift, minutes)
            report["steps_per_second"] = 1.0 / report["seconds_per_step"]
            labels = {"d": dimension, "lift": name, "minutes": minutes}
            measurements.append({**labels, **{column: report[key] for column, key in COLUMNS.items()}})
    return measurements


def _solved(dimension: int, lift: str, minutes: float) -> Measurement:
    """What `prism solve --json` says at its end."""
    with tempfile.TemporaryDirectory() as directory:
        options = ["allen-cahn", "--dim", str(dimension), "--lift", lift, "--minutes", str(minutes), "--json"]
        command = [sys.executable, "-m", "prism.cli", "solve", *options, "--out", str(Path(directory, "run"))]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        reason = ended.stderr.strip().splitlines()[-1:] or [""]
        raise PrismError(f"`prism solve {' '.join(options)}` ended with code {ended.returncode}: {reason[0]}")
    with blaming("the answer of `prism solve`", PrismError):
        return parse_json(ended.stdout.strip().splitlines()[-1].encode(), dict)


def summary(measurements: Measurements) -> list[TableRow]:
    return [{name: one[name] for name in ("d", "lift", *COLUMNS)} for one in measurements]


def figure(measurements: Measurements) -> Figure:
    """Errors beside those of the trivial and the μ-blind answer, and memory, by the size of a block."""
    dimensions = sorted({one["d"] for one in measurements})
    drawn, rows = panels(2, len(dimensions), (5.0 * len(dimensions), 6.0))
    for column, dimension in enumerate(dimensions):
        here = [one for one in measurements if one["d"] == dimension]
        places, (errors, memory) = range(len(here)), (row[column] for row in rows)
        errors.plot(places, [one["relative L2"] for one in here], "o", label="relative L2")
        errors.axhline(here[0]["trivial"], color=REFERENCE, ls=":", label="trivial answer")
        errors.axhline(here[0]["μ-blind"], color=REFERENCE, ls="--", label="best answer that ignores μ")
        errors.set(yscale="log", ylabel="relative L2", title=f"{dimension:,} dimensions")
        gigabytes = [one["peak MB"] / 1024 for one in here]
        memory.plot(places, gigabytes, "o")
        memory.set(ylabel="peak memory, GB", ylim=(0, 1.15 * max(gigabytes)))
        for axes in (errors, memory):
            axes.set_xticks(places, [one["lift"] for one in here], rotation=40, ha="right")
    legend_below(drawn, rows[0][0])
    return drawn


STUDY = Study(run, plan, figure, summary)
