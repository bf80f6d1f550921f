"""Fine-tuning outside the trained box: error before and after, for each choice of what is tuned; time of a step.

    python benchmarks/fine_tuning.py [--run runs/fine-tuning/base] [--seconds 20] [--trains all,diagonals]
                                     [--at 2:2,2.5:2.5] [--out benchmarks/results/fine_tuning.json]

The base is `prism solve sine-gordon --dim 1000 --minutes 2`, trained for μ in [0.5, 1.5]² and used again where its
directory is there. It is tuned at points of [1.5, 2.5]². Errors are relative L2 on 2,000 fresh points; a row's seconds
hold everything, compilation included, and beside them stand the seconds of processor time that the process got. The
step is timed on untrained networks of one architecture at 100 and at 100,000 dimensions, in turn; ratios are medians.
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

import jax
import numpy as np

from prism.cli import main as prism
from prism.cli.loading import load_run
from prism.cli.names import TUNABLE
from prism.families import SineGordon
from prism.files.storage import write_file
from prism.networks.lifts.parts import Affine, Dense
from prism.networks.model import Architecture, Model
from prism.numerics.keys import Purpose, stream
from prism.numerics.least_squares import Levenberg
from prism.reporting.records import environment
from prism.solution.evaluation import error_at
from prism.solution.solution import Solution
from prism.solution.tuning import HELD_OUT, POINTS, Tuning, fine_tune, step
from prism.studies.trials import markdown

OUTSIDE = ((2.0, 2.0), (2.5, 2.5), (1.5, 2.5), (2.5, 1.5), (1.75, 2.25))
DIMENSIONS = (100, 100_000)
STEPS = 10
TARGET, STEP_TARGET = 3.0, 1.5


def base(path: Path) -> Solution:
    """The trained solution, trained now if it is not there."""
    if not (path / "model").is_dir():
        prism(["solve", "sine-gordon", "--dim", "1000", "--minutes", "2", "--out", str(path)])
    return load_run(path)


def tuned_row(solution: Solution, trains: str, at: tuple[float, ...], seconds: float) -> dict[str, object]:
    mu = solution.family.parameters.array(**dict(zip(solution.family.parameters.names, at, strict=True)))
    key = stream(1, Purpose.EVALUATION)
    before, processor = error_at(solution.model, solution.family, mu, key), time.process_time()
    tuned = fine_tune(solution.model, solution.family, mu, TUNABLE[trains], seconds)
    processor = time.process_time() - processor
    after = error_at(tuned.model, solution.family, mu, key)
    numbers = {name: value for name, value in vars(tuned).items() if name != "model"}
    return {
        "tuned": trains,
        "μ": ", ".join(f"{value:g}" for value in at),
        "zero-shot": before,
        "after": after,
        "ratio": before / after,
        **numbers,
        "processor seconds": processor,
        "load": os.getloadavg()[0],
    }


def prepared(dimension: int, trains: str) -> tuple[Tuning, Levenberg]:
    """An untrained network, lifted and looked at once."""
    family = SineGordon.create(dimension, stream(0, Purpose.PROBLEM))
    architecture = Architecture(Dense(64, bias=1.0) + Affine(4), width=64, depth=3, generator_width=32)
    model = Model.create(architecture, family.domain, family.parameters, stream(0, Purpose.MODEL))
    mu = family.parameters.middle()
    tuning = Tuning.prepare(model, family, mu, TUNABLE[trains], stream(0, Purpose.TUNING), POINTS + HELD_OUT)
    state, _ = step(tuning, Levenberg.start(tuning.start, tuning.count))
    return tuning, state


def step_times(trains: str) -> dict[str, object]:
    entrants = {dimension: prepared(dimension, trains) for dimension in DIMENSIONS}
    times: dict[int, list[float]] = {dimension: [] for dimension in DIMENSIONS}
    for _ in range(STEPS):
        for dimension, (tuning, state) in entrants.items():
            begun = time.perf_counter()
            jax.block_until_ready(step(tuning, state))
            times[dimension].append(time.perf_counter() - begun)
    small, large = (times[dimension] for dimension in DIMENSIONS)
    ratios = [b / a for a, b in zip(small, large, strict=True)]
    return {
        "tuned": trains,
        **{f"seconds per step at {dimension:,}": statistics.median(times[dimension]) for dimension in DIMENSIONS},
        "ratio": statistics.median(ratios),
        "rounds": times,
    }


def verdicts(rows: list[dict]) -> list[str]:
    """Over all μ of one choice: the errors' root mean squares, and each μ's own ratio."""
    lines = []
    for trains in dict.fromkeys(row["tuned"] for row in rows):
        here = [row for row in rows if row["tuned"] == trains]
        rms = lambda name, here=here: float(np.sqrt(np.mean([row[name] ** 2 for row in here])))
        ratio, single = rms("zero-shot") / rms("after"), ", ".join(f"{row['ratio']:.1f}" for row in here)
        lines.append(f"{trains}: {ratio:.2f} times less error over these μ (to reach {TARGET:g}); each: {single}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Fine-tuning outside the trained box.")
    parser.add_argument("--run", type=Path, default=Path("runs/fine-tuning/base"))
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--trains", default=",".join(TUNABLE))
    parser.add_argument("--at", default=",".join(":".join(map(str, mu)) for mu in OUTSIDE))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "fine_tuning.json")
    options = parser.parse_args()
    solution, rows, times = base(options.run), [], []
    record = {"command": " ".join(sys.argv), "environment": environment(), "rows": rows, "steps": times}
    save = lambda: write_file(options.out, (json.dumps(record, indent=1) + "\n").encode())
    for at in options.at.split(","):
        for trains in options.trains.split(","):
            rows.append(tuned_row(solution, trains, tuple(map(float, at.split(":"))), options.seconds))
            print(markdown(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
            save()
    for trains in options.trains.split(","):
        times.append(step_times(trains))
        save()
    print(markdown(rows))
    print(markdown([{name: value for name, value in row.items() if name != "rounds"} for row in times]))
    print("\n".join(verdicts(rows)))


if __name__ == "__main__":
    main()
