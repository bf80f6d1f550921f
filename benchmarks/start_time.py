"""Seconds from the command to the first step, in a first process and in one that finds what the first compiled.

    python benchmarks/start_time.py                          this source tree
    python benchmarks/start_time.py --source before=/path/to/src --source now=src

The first step counts as taken when its line stands in metrics.jsonl; the process is then ended.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMANDS = {
    "prism demo": ["demo"],
    "prism solve sine-gordon --dim 1000": ["solve", "sine-gordon", "--dim", "1000", "--steps", "300"],
}
RESULTS = Path(__file__).parent / "results" / "start_time.json"


def seconds_to_first_step(arguments: list[str], source: Path, cache: Path) -> float:
    """One process, ended after its first step."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "run"
        environment = {**os.environ, "PYTHONPATH": str(source), "PRISM_CACHE_DIR": str(cache)}
        begun = time.perf_counter()
        command = [sys.executable, "-m", "prism.cli", *arguments, "--out", str(out)]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        metrics = out / "metrics.jsonl"
        while not (metrics.is_file() and metrics.stat().st_size):
            if process.poll() is not None:
                raise SystemExit(f"{' '.join(command)} ended with {process.returncode} before its first step")
            time.sleep(0.02)
        taken = time.perf_counter() - begun
        process.send_signal(signal.SIGTERM)
        process.wait()
        return taken


def measure(version: str, source: Path, rounds: int) -> list[dict[str, object]]:
    """One row for each command: medians over the rounds, each with a fresh cache."""
    rows = []
    for name, arguments in COMMANDS.items():
        pairs = []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as cache:
                pairs.append([seconds_to_first_step(arguments, source, Path(cache)) for _ in range(2)])
        first, second = (statistics.median(times) for times in zip(*pairs, strict=True))
        rows.append({"command": name, "version": version, "first": first, "second": second, "all": pairs})
        print(f"{name}: {first:.1f} s in the first process, {second:.1f} s in the second", file=sys.stderr)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", action="append", metavar="NAME=DIRECTORY", help="may be repeated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    sources = [text.partition("=") for text in options.source or [f"now={Path(__file__).parent.parent / 'src'}"]]
    rows = [row for name, _, path in sources for row in measure(name, Path(path).resolve(), options.rounds)]
    options.out.write_text(json.dumps(rows, indent=1) + "\n")
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
