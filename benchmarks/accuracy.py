"""What `prism solve` reaches with its defaults, beside Adam at equal time.

    python benchmarks/accuracy.py                 a fifth of the time
    python benchmarks/accuracy.py --full          2 minutes up to 10,000 dimensions, then 5 and 10; scaled 3 and 10
    python benchmarks/accuracy.py --dims 100 1000 --optimisers spring
    python benchmarks/accuracy.py --full --at-once 2
    python benchmarks/accuracy.py --dims 10000 --full --optimisers spring --estimators gram coordinates:16
    python benchmarks/accuracy.py --dims 1000000 --minutes 6 --optimisers spring --lifts affine:4
    python benchmarks/accuracy.py --dims 1000 --minutes 3 --optimisers spring --interactions none --lifts norm
    python benchmarks/accuracy.py --families convection --dims 50 --minutes 15 --optimisers spring

Every run is a `prism solve` of its own, one after the other, or several at once with a share of the cores each: less
time in all, and fewer steps per run than it would make alone. Results are added to benchmarks/results/accuracy.json
after each, and a run that is there already is not repeated (--again does). `python benchmarks/tables.py` makes the
tables of the documents from them.
"""

import argparse
import itertools
import json
import os
import queue
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from tables import accuracy

from prism.files.storage import write_file

RESULTS = Path(__file__).parent / "results" / "accuracy.json"
MINUTES = {100: 2.0, 1_000: 2.0, 10_000: 2.0, 100_000: 5.0, 1_000_000: 10.0}
SCALED_MINUTES = {100: 3.0, 1_000: 10.0}
REDUCED = 0.2
SEEDS = {100: (0, 1, 2), 1_000: (0, 1, 2), 10_000: (0, 1, 2)}


class FailedJob(Exception):
    """A run that did not end well, with what it said."""


@dataclass(frozen=True)
class Job:
    """One run."""

    family: str
    dim: int
    scaled: bool
    optimiser: str
    seed: int
    minutes: float
    estimator: str | None = None
    lift: str | None = None
    pairs: str | None = None

    def command(self, out: str) -> list[str]:
        """As typed, with defaults for everything else."""
        options = [self.family, "--dim", str(self.dim), "--optimiser", self.optimiser, "--seed", str(self.seed)]
        options += ["--scaled"] if self.scaled else []
        options += ["--estimator", self.estimator] if self.estimator else []
        options += ["--lift", self.lift] if self.lift else []
        options += ["--pairs", self.pairs] if self.pairs else []
        options += ["--minutes", f"{self.minutes:g}", "--out", out, "--json"]
        return [sys.executable, "-m", "prism.cli", "solve", *options]

    @property
    def name(self) -> str:
        """Of its directory."""
        scaled = "-scaled" if self.scaled else ""
        named = "".join(f"-{text.replace(':', '')}" for text in (self.estimator, self.lift, self.pairs) if text)
        return f"{self.family}{scaled}-{self.dim}-{self.optimiser}{named}-seed{self.seed}-{self.minutes:g}min"

    def run(self, cores: Sequence[int], keep: str | None) -> dict:
        """On these cores of the machine, without a bar, on all where none are named; kept below `keep` where given."""
        print(self, file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as directory:
            command = [*self.command(f"{keep or directory}/{self.name}"), "--force"]
            if cores:
                command = ["taskset", "--cpu-list", ",".join(map(str, cores)), *command]
            bars = subprocess.PIPE if cores else None
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=bars, text=True)
        if done.returncode != 0:
            raise FailedJob(f"{self} ended with code {done.returncode}\n{done.stderr or ''}")
        return {**json.loads(done.stdout.splitlines()[-1]), "job": asdict(self)}


def jobs(options: argparse.Namespace) -> list[Job]:
    """Seed 0 of everything first, then the other seeds."""
    factor = 1.0 if options.full else REDUCED
    named = [options.families, options.optimisers, options.estimators or [None], options.lifts or [None]]
    choices = list(itertools.product(*named))
    job = lambda dim, scaled, seed, minutes, family, optimiser, estimator, lift: Job(
        family, dim, scaled, optimiser, seed, minutes, estimator, lift, options.interactions
    )
    found = []
    if "plain" in options.problems:
        for dim in options.dims:
            minutes = options.minutes or factor * MINUTES[dim]
            seeds = [seed for seed in SEEDS.get(dim, (0,)) if seed in options.seeds]
            found += [job(dim, False, seed, minutes, *choice) for choice in choices for seed in seeds]
    for dim in options.dims:
        if "scaled" in options.problems and (dim in SCALED_MINUTES or options.minutes) and 0 in options.seeds:
            minutes = options.minutes or factor * SCALED_MINUTES[dim]
            found += [job(dim, True, 0, minutes, *choice) for choice in choices]
    return sorted(found, key=lambda job: job.seed)


def shares(at_once: int) -> "queue.SimpleQueue[Sequence[int]]":
    """The machine's cores dealt out to the runs, one shared by several where there are more runs than cores."""
    free: queue.SimpleQueue[Sequence[int]] = queue.SimpleQueue()
    if at_once == 1:
        free.put([])
        return free
    cores = sorted(os.sched_getaffinity(0))
    for index in range(at_once):
        free.put(cores[index::at_once] or [cores[index % len(cores)]])
    return free


def results(wanted: list[Job], at_once: int, keep: str | None) -> Iterator[dict]:
    """The record of each run that ends well, as it ends."""
    free = shares(at_once)

    def run(job: Job) -> dict:
        cores = free.get()
        try:
            return {**job.run(cores, keep), "at_once": at_once}
        finally:
            free.put(cores)

    with ThreadPoolExecutor(at_once) as pool:
        for done in as_completed([pool.submit(run, job) for job in wanted]):
            try:
                yield done.result()
            except FailedJob as error:  # what the others find is not lost with it
                print(error, file=sys.stderr)


def kept() -> list[dict]:
    """The records that are there."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="the whole time")
    parser.add_argument("--again", action="store_true", help="repeat what is there already")
    parser.add_argument("--minutes", type=float, help="for every run, instead")
    parser.add_argument("--dims", type=int, nargs="+", default=list(MINUTES))
    parser.add_argument("--problems", nargs="+", default=["plain", "scaled"], choices=["plain", "scaled"])
    parser.add_argument("--families", nargs="+", default=["sine-gordon", "allen-cahn"])
    parser.add_argument("--optimisers", nargs="+", default=["spring", "adam"])
    parser.add_argument("--estimators", nargs="+", help="by name, instead of the default's")
    parser.add_argument("--lifts", nargs="+", help="by name, instead of the default's")
    parser.add_argument("--interactions", help="which coordinates interact (--pairs of `prism solve`)")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="runs side by side")
    parser.add_argument("--keep", metavar="DIR", help="keep the runs below this directory")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    if options.at_once < 1:
        parser.error(f"--at-once {options.at_once} runs nothing; give 1 or more")
    if not options.minutes and (unknown := set(options.dims) - set(MINUTES)):
        parser.error(f"--dims {' '.join(map(str, sorted(unknown)))} needs --minutes; it has no usual time")
    records = kept()
    there = [] if options.again else [Job(**record["job"]) for record in records]
    for record in results([job for job in jobs(options) if job not in there], options.at_once, options.keep):
        # Read again: another call may have added its own in the meantime.
        records = [*(other for other in kept() if Job(**other["job"]) != Job(**record["job"])), record]
        write_file(RESULTS, (json.dumps(records, indent=1) + "\n").encode())
    print(accuracy(records))


if __name__ == "__main__":
    main()
