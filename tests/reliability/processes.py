"""Runs in processes of their own, which can be interrupted, killed and continued, and the moments to do it at."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prism.cli.calls import TRACEBACK
from prism.files import storage

SOURCE = Path(__file__).parents[2] / "src"
SIZE = ["--dim", "6", "--width", "8", "--lift", "dense:8+affine:4", "--depth", "2", "--points", "4"]
SOLVE = ["solve", "allen-cahn", *SIZE]
PATIENCE = 600.0
"""Seconds after which a process counts as hanging, on a busy machine."""


@dataclass(frozen=True)
class Process:
    """The command under way, and the file that takes what it says."""

    popen: subprocess.Popen
    log: Path

    @property
    def running(self) -> bool:
        return self.popen.poll() is None

    def send(self, number: int) -> int:
        self.popen.send_signal(number)
        return self.popen.wait(PATIENCE)

    def ended(self) -> int | None:
        """The exit code; None where it hung, and was killed."""
        try:
            return self.popen.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            return None

    @property
    def said(self) -> str:
        return self.log.read_text()


@dataclass(frozen=True)
class Run:
    """One run in one directory, which processes begin and continue."""

    directory: Path
    steps: int
    environment: dict[str, str]

    def start(self, log: Path | None = None) -> Process:
        """Begin it, or go on where it left a configuration; what it says goes into a file beside it."""
        if (self.directory / "config.json").exists():
            arguments = ["solve", "--resume", str(self.directory)]
        else:  # --force: an earlier process may have left the beginning of a file
            steps = ["--steps", str(self.steps), "--checkpoint-seconds", "0.05"]
            arguments = [*SOLVE, *steps, "--out", str(self.directory), "--force"]
        log = log or self.directory.with_suffix(".log")
        with log.open("w") as file:
            popen = subprocess.Popen(
                [sys.executable, "-m", "prism.cli", *arguments, "--json"],
                stdout=file,
                stderr=file,
                env={**os.environ, "PYTHONPATH": str(SOURCE), TRACEBACK: "1", **self.environment},
            )
        return Process(popen, log)

    def finish(self) -> Process:
        """Go on to the end."""
        process = self.start()
        assert process.ended() == 0, process.said
        answer = [line for line in process.said.splitlines() if line.startswith("{")][-1]  # warnings may follow
        assert json.loads(answer, parse_constant=_refuse)["steps"] == self.steps
        return process

    def model(self) -> bytes:
        return (self.directory / "model" / "model.safetensors").read_bytes()

    def checkpoints(self) -> list[Path]:
        return storage.list_directories(self.directory / "checkpoints")

    def newest_step(self) -> int:
        return max((int(path.name.removeprefix("step-")) for path in self.checkpoints()), default=0)

    def unfinished(self) -> set[str]:
        """Checkpoints that are being written just now, or were when a process was killed."""
        with contextlib.suppress(FileNotFoundError):
            names = os.listdir(self.directory / "checkpoints")
            return {name for name in names if name.startswith(storage.INCOMPLETE)}
        return set()

    def check_checkpoints(self) -> None:
        for path in self.checkpoints():
            files = storage.read_directory(path)  # raises where one is damaged
            assert {"state.safetensors", "record.json"} <= files.keys()

    def check_metrics(self) -> None:
        lines = (self.directory / "metrics.jsonl").read_text().splitlines()
        steps = [json.loads(line)["step"] for line in lines]
        assert steps == sorted(steps)
        assert steps[-1] == self.steps


def _refuse(constant: str):
    raise AssertionError(f"{constant} is not JSON")


def wait_until(condition: Callable[[], bool], process: Process, pause: float = 0.005) -> bool:
    """Whether the condition came true while the process ran."""
    deadline = time.monotonic() + PATIENCE
    while process.running:
        if condition():
            return True
        assert time.monotonic() < deadline, process.said
        time.sleep(pause)
    return False


def keeping_programs(directory: Path) -> dict[str, str]:
    """Environment in which processes compile each program once between them."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(directory),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def flip_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


def early(run: Run, process: Process, random: np.random.Generator) -> bool:
    """While it starts, compiles or takes its first steps."""
    moment = time.monotonic() + random.uniform(0.0, 4.0)
    return wait_until(lambda: time.monotonic() >= moment, process)


def training(run: Run, process: Process, random: np.random.Generator) -> bool:
    """At any time after the first checkpoint of this process."""
    before, pause = run.newest_step(), random.uniform(0.0, 0.6)
    if not wait_until(lambda: run.newest_step() > before, process):
        return False
    moment = time.monotonic() + pause
    return wait_until(lambda: time.monotonic() >= moment, process)


def writing(run: Run, process: Process, random: np.random.Generator) -> bool:
    """While a checkpoint is written: at once, or a little later."""
    before = run.unfinished()
    if not wait_until(lambda: not before.issuperset(run.unfinished()), process, pause=0.0002):
        return False
    time.sleep(random.choice([0.0, 0.001, 0.004]))
    return process.running


def finishing(run: Run, process: Process, random: np.random.Generator) -> bool:
    """After the last step, while it is evaluated and written down."""
    moment = random.uniform(0.0, 1.5)
    if not wait_until(lambda: run.newest_step() >= run.steps, process):
        return False
    moment += time.monotonic()
    return wait_until(lambda: time.monotonic() >= moment, process)


def schedule(kills: int) -> Iterator[Callable]:
    """While a run has steps to take: early, in training and in writing by turns; at its end, three while finishing."""
    yield from itertools.islice(itertools.cycle((writing, training, early)), kills - 3)
    yield from (finishing, finishing, finishing)
