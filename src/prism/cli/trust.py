"""`prism trust`: what speaks for and against a run's solution at one μ."""

import argparse
import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from prism.cli.loading import parse_mu, read_run, solution_of
from prism.cli.places import TUNING
from prism.cli.speech import answer, say
from prism.files.storage import write_file
from prism.reporting.records import RUN
from prism.solution.solution import Solution
from prism.solution.trust import Calibration, judge

KEPT = "trust.json"


def run(options: argparse.Namespace, _: None) -> int:
    path = Path(options.run_directory)
    solution = solution_of(read_run(path), path, getattr(options, "family", None))
    mu = parse_mu(options.mu, solution)
    asked = solution.family.parameters.array(**mu)
    found = judge(solution.model, solution.family, asked, kept_calibration(path, solution))
    answer(asdict(found), found.describe(), options.json)
    return 0


def kept_calibration(path: Path, solution: Solution) -> Calibration:
    """The run's calibration: fitted for the first query, then read from trust.json as long as the model is the same."""
    manifest, file = path / "model" / "manifest.json", path / KEPT
    if not manifest.is_file():
        return solution.calibration
    model = hashlib.sha256(manifest.read_bytes()).hexdigest()
    try:
        kept = json.loads(file.read_text())
        if kept.pop("model") == model:
            return Calibration.read(kept)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    say("calibrating on held-out parameters, once for this run")
    fitted = solution.calibration
    keep(file, {"model": model, **asdict(fitted)})
    return fitted


def keep(file: Path, content: dict[str, object]) -> None:
    """Write the calibration beside the model, over an earlier one of the run's own; where that fails, say so."""
    try:
        ours = RUN.holds(file.parent) or TUNING.holds(file.parent)
        write_file(file, (json.dumps(content) + "\n").encode(), replace=ours)
    except OSError as error:
        say(f"the calibration is not kept in {file}: {error.strerror or error}")
