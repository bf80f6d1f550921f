"""`prism demo`: a first solution in about a minute, told step by step."""

import argparse
from pathlib import Path

from prism.cli.configuration import new_options
from prism.cli.explore import page_of, write_page
from prism.cli.loading import load_run
from prism.cli.solve import build, solve_into
from prism.cli.speech import say
from prism.errors import UnusableOutput
from prism.files.outputs import OutputFile
from prism.reporting.records import RunDirectory
from prism.solution.explorer.page import is_page

MINUTES = 0.6
LIFT = "sites:2:features=16"
"""Named, for the time is too short for trials."""


def run(options: argparse.Namespace, directory: RunDirectory) -> int:
    say(
        "Allen-Cahn, Δu + μ₁u − μ₂u³ = f, in the unit ball of 100 dimensions, u = 0 on its surface.\n"
        "One network is trained for every (μ₁, μ₂) in [0.5, 1.5]² at once; no solution data is used, only the\n"
        "equation's residual and its gradient, by a natural gradient in the space of samples. In this equation\n"
        "neighbouring coordinates interact (`prism structure allen-cahn --dim 100` shows it): the network sums over\n"
        "pairs of neighbours.\n"
        "Then it is tested at points and parameters it has never seen, against two answers without learning:\n"
        "trivial (a multiple of 1 − |x|²) and μ-blind (the mean over μ of the exact solution)."
    )
    output = page_beside(directory.path)
    task = build(new_options({"family": "allen-cahn", "dim": 100, "minutes": MINUTES, "lift": LIFT}))
    code = solve_into(directory, task, resume=False, as_json=options.json)
    return code if code else explore_demo(directory.path, output)


def page_beside(path: Path) -> OutputFile:
    """Where the page of a run goes; an earlier page there is replaced, and nothing else."""
    place = Path(f"{path}.html")
    if place.exists() and not is_page(place):
        raise UnusableOutput(f"{place} is no page of prism, so it is left alone")
    return OutputFile.tried(place, (), replace=True)


def explore_demo(path: Path, output: OutputFile) -> int:
    """The page of the run, beside it; an earlier one is replaced, as the run is."""
    say("Last, a page with sliders is made; for it the trust is calibrated at a few hundred parameters.")
    report = write_page(page_of(load_run(path), path, None), output)
    say(f"open {report['out']} in a browser: the network is in it, and follows the sliders of μ₁ and μ₂")
    return 0
