"""Which network suits an equation in time: convection after the same time with each change to the default.

    python benchmarks/time_networks.py [--minutes 2] [--dim 50] [--only default,depth 3] [--out FILE]

Every variant is one training of `convection` with β in [1, 30], seed 0, compilation included; errors are of the final
state at unseen β.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from prism.derivatives.taylor import Tanh
from prism.families import Convection
from prism.files.storage import write_file
from prism.networks.lifts.parts import Affine, Dense
from prism.networks.model import Architecture
from prism.numerics.keys import Purpose, stream
from prism.objective.batches import Sampling
from prism.reporting.records import environment
from prism.solving.settings import Settings
from prism.studies.trials import Choices, Trial, markdown
from prism.training.loop import Budget

COLUMNS = ("steps", "seconds_per_step", "relative_l2", "trivial_error", "mu_blind_error", "skill")


def variants(chosen: Architecture) -> dict[str, Choices]:
    """The default and one change at a time."""
    return {
        "default": {},
        "depth 3": {"architecture": replace(chosen, depth=3)},
        "depth 5": {"architecture": replace(chosen, depth=5)},
        "width 96": {"architecture": replace(chosen, width=96)},
        "generator 32": {"architecture": replace(chosen, generator_width=32)},
        "no clocks": {"architecture": replace(chosen, lift=Dense(32, bias=1.0) + Affine(4))},
        "sines in the lift": {"architecture": replace(chosen, linear_lift=False)},
        "tanh": {"architecture": replace(chosen, activation=Tanh())},
        "200 points": {"sampling": Sampling(200, 200, crossed=False)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Convection with one change to the default network at a time.")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--only", help="names of variants, separated by commas")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "time_networks.json")
    options = parser.parse_args()
    family = Convection.create(options.dim, stream(0, Purpose.PROBLEM))
    every = variants(Settings.choose(family).architecture)
    names = options.only.split(",") if options.only else list(every)
    if unknown := set(names) - set(every):
        parser.error(f"no variant is called {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    rows = []
    for name in names:
        print(name, file=sys.stderr, flush=True)
        report = Trial(name, every[name]).run(family, Budget(minutes=options.minutes)).report()
        rows.append({"network": name, **{column: report[column] for column in COLUMNS}})
        record = {"minutes": options.minutes, "dim": options.dim, "rows": rows, "environment": environment()}
        write_file(options.out, (json.dumps(record, indent=1) + "\n").encode())
    print(markdown(rows))


if __name__ == "__main__":
    main()
