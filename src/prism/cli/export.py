"""`prism export`: a finished run as StableHLO and as NumPy, for where PRISM is not."""

import argparse
from pathlib import Path

from prism.cli.loading import load_run
from prism.cli.speech import answer
from prism.solution.export import check_place


def run(options: argparse.Namespace, out: Path) -> int:
    check_place(out, options.force)
    report = load_run(Path(options.run_directory), getattr(options, "family", None)).export(out, options.force)
    answer(report, [describe(report)], options.json)
    return 0


def describe(report: dict) -> str:
    """The report for a reader."""
    forms = {"StableHLO": report["stablehlo_difference"], "NumPy": report["numpy_difference"]}
    told = " and ".join(f"{name} within {size:.1e}" for name, size in forms.items() if size is not None)
    return f"{told} of the live solution, relative to its size; {report['out']}/README.md tells how to use it"
