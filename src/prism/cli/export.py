"""`prism export`: a finished run as StableHLO and as NumPy, for where PRISM is not."""

import argparse
from pathlib import Path

from prism.cli.levels.queries import described_export, export_levels
from prism.cli.loading import holds_levels, load_run
from prism.cli.speech import answer
from prism.solution.export import check_place


def run(options: argparse.Namespace, out: Path) -> int:
    if holds_levels(options):
        return export_levels(options, out)
    check_place(out, options.force)
    report = load_run(Path(options.run_directory), getattr(options, "family", None)).export(out, options.force)
    answer(report, [described_export(report)], options.json)
    return 0
