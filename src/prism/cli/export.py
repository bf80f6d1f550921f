"""`prism export`: a finished run as StableHLO and as NumPy, for where PRISM is not."""

import argparse
import json
from pathlib import Path

from prism.cli.predict import load_run
from prism.errors import InputError
from prism.solution.export import export


def run(options: argparse.Namespace) -> int:
    path = Path(options.run_directory)
    whole = path.absolute()
    out = Path(getattr(options, "out", None) or whole.with_name(f"{whole.name}-export"))
    try:
        report = export(load_run(path), out, getattr(options, "force", False))
    except OSError as error:
        raise InputError(f"cannot write to {out}: {error.strerror}; choose another --out") from error
    print(json.dumps(report) if getattr(options, "json", False) else describe(report))
    return 0


def describe(report: dict) -> str:
    """The report for a reader."""
    forms = {"StableHLO": report["stablehlo_difference"], "NumPy": report["numpy_difference"]}
    told = " and ".join(f"{name} within {size:.1e}" for name, size in forms.items() if size is not None)
    return f"{told} of the live solution, relative to its size; {report['out']}/README.md tells how to use it"
