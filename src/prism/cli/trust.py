"""`prism trust`: what speaks for and against a run's solution at one μ."""

import argparse
import contextlib
import hashlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from prism.cli.levels.queries import trust_levels
from prism.cli.loading import holds_levels, parse_mu, read_run, solution_of
from prism.cli.places import TUNING
from prism.cli.speech import answer, say
from prism.errors import CorruptedFile
from prism.files.encoding import json_text
from prism.files.reading import Unreadable, blaming, read_bytes, read_json
from prism.files.storage import write_file
from prism.reporting.records import RUN
from prism.solution.solution import Solution
from prism.solution.trust import Calibration, judge

KEPT = "trust.json"


@dataclass(frozen=True)
class Kept:
    """What trust.json says: the SHA-256 of the model's manifest, the calibration, and that of both, which tells
    damage."""

    model: str
    calibration: Calibration
    sha256: str

    def digest(self) -> str:
        """The SHA-256 of model and calibration."""
        return hashlib.sha256(json_text([self.model, asdict(self.calibration)]).encode()).hexdigest()


def run(options: argparse.Namespace, _: None) -> int:
    if holds_levels(options):
        return trust_levels(options)
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
    with blaming(manifest, CorruptedFile):
        model = hashlib.sha256(read_bytes(manifest)).hexdigest()
    with contextlib.suppress(Unreadable):
        kept = read_json(file, Kept)
        if kept.sha256 == kept.digest() and kept.model == model and kept.calibration.fits(solution.family):
            return kept.calibration
    say("calibrating on held-out parameters, once for this run")
    fitted = Kept(model, solution.calibration, "")
    keep(file, asdict(replace(fitted, sha256=fitted.digest())))
    return fitted.calibration


def keep(file: Path, content: dict[str, object]) -> None:
    """Write the calibration beside the model, over an earlier one of the run's own; where that fails, say so."""
    try:
        ours = RUN.holds(file.parent) or TUNING.holds(file.parent)
        write_file(file, (json_text(content) + "\n").encode(), replace=ours)
    except OSError as error:
        say(f"the calibration is not kept in {file}: {error.strerror or error}")
