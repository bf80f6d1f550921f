"""What the slow tests of reliability measured, kept for docs/reliability.md: one file, a part per test."""

import fcntl
import json
import os
import platform
from pathlib import Path

from prism.files.encoding import json_text
from prism.files.storage import write_file

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "reliability.json"
SCALE = float(os.environ.get("RELIABILITY_SCALE", "1"))
"""A rehearsal with fewer trials:  RELIABILITY_SCALE=0.1 make reliability."""
REHEARSED = RESULTS.with_name("reliability-rehearsal.json")
SHOWN = 12


def scaled(count: int) -> int:
    return max(1, round(count * SCALE))


def keep(part: str, figures: dict[str, object]) -> None:
    """Write a part of the results in place of an earlier one; other processes write theirs at the same time. What a
    rehearsal found is kept apart."""
    place = RESULTS if SCALE == 1.0 else REHEARSED
    place.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(place.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        known = json.loads(place.read_bytes()) if place.exists() else {}
        known[part] = {**figures, "cores": os.cpu_count(), "processor": platform.machine()}
        write_file(place, (json_text(dict(sorted(known.items())), indent=1) + "\n").encode())
    finally:
        os.close(descriptor)


def told(failures: list[str]) -> str:
    """The first failures, for the message of a test."""
    more = len(failures) - SHOWN
    return "\n\n".join(
        [f"{len(failures)} failures", *failures[:SHOWN], *([f"... and {more} more"] if more > 0 else [])]
    )
