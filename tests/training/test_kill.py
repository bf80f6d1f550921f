"""Runs that are interrupted or killed at any moment end, once resumed, with the bits of an undisturbed run.

The fast test decides itself when that is: at a given checkpoint, or in the middle of writing it. The slow ones leave
the moment to chance, in processes that are as they are for a user.
"""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from prism.cli import main
from prism.files import storage
from prism.reporting import plots
from prism.solving import following
from prism.training import loop
from prism.training.checkpoints import Checkpoints

SOURCE = Path(__file__).parents[2] / "src"
SIZE = ["--dim", "6", "--width", "8", "--lift", "dense:8+affine:4", "--depth", "2", "--points", "4"]
SOLVE = ["solve", "allen-cahn", *SIZE]
PATIENCE = 180.0
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

    @property
    def said(self) -> str:
        return self.log.read_text()


@dataclass(frozen=True)
class Run:
    """One run in one directory, which processes begin and continue."""

    directory: Path
    steps: int
    environment: dict[str, str]

    def start(self) -> Process:
        """Begin it, or go on where it left a configuration."""
        if (self.directory / "config.json").exists():
            arguments = ["solve", "--resume", str(self.directory)]
        else:  # --force: an earlier process may have left the beginning of a file
            steps = ["--steps", str(self.steps), "--checkpoint-seconds", "0.05"]
            arguments = [*SOLVE, *steps, "--out", str(self.directory), "--force"]
        log = self.directory.with_suffix(".log")
        with log.open("w") as file:
            popen = subprocess.Popen(
                [sys.executable, "-m", "prism.cli", *arguments, "--json"],
                stdout=file,
                stderr=file,
                env={**os.environ, "PYTHONPATH": str(SOURCE), **self.environment},
            )
        return Process(popen, log)

    def finish(self) -> Process:
        """Go on to the end."""
        process = self.start()
        assert process.popen.wait(PATIENCE) == 0, process.said
        assert json.loads(process.said.splitlines()[-1], parse_constant=_refuse)["steps"] == self.steps
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


@pytest.fixture
def compiled(tmp_path) -> dict[str, str]:
    """Environment in which the processes of a test compile each program once between them."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def flip_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


STEPS = 20
TINY = ["--width", "3", "--lift", "dense:3+affine:4", "--depth", "1", "--generator-width", "3"]
DRIVER = """
import os, signal, sys
from prism.cli import main
from prism.files import storage
from prism.solving import following
from prism.training import loop

loop.CHUNK_SECONDS, following.Occasionally.due = 1e-9, lambda self: True
manifest, written = storage._manifest, []

def killed(files):
    written.append(files)
    if len(written) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    return manifest(files)

storage._manifest = killed
main(sys.argv[2:])
"""
"""Solves with a checkpoint after each step, and is killed while it writes a given one: its files are there, and not yet
their manifest."""


@pytest.fixture
def stepwise(monkeypatch):
    """One step per call and a checkpoint after each, whatever the clock says; no plots."""
    monkeypatch.setattr(loop, "CHUNK_SECONDS", 1e-9)
    monkeypatch.setattr(following.Occasionally, "due", lambda self: True)
    monkeypatch.setattr(plots, "save_plots", lambda *_: None)


def interrupted_at(step: int, number: int, arguments: list[str], monkeypatch) -> int:
    """The exit code of the command where a signal comes once the checkpoint of a step is written."""
    save = Checkpoints.save

    def saved(self, at, *rest):
        save(self, at, *rest)
        if at == step:
            monkeypatch.setattr(Checkpoints, "save", save)
            os.kill(os.getpid(), number)

    monkeypatch.setattr(Checkpoints, "save", saved)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        return main(arguments)


def test_signals_and_a_kill_leave_a_run_with_the_bits_of_an_undisturbed_one(tmp_path, stepwise, monkeypatch, capsys):
    """SIGTERM, a damaged checkpoint, Ctrl-C and SIGKILL in one run of twenty steps."""
    options = [*SOLVE, *TINY, "--steps", str(STEPS), "--checkpoint-seconds", "1", "--json"]
    undisturbed, disturbed = (Run(tmp_path / name, STEPS, {}) for name in ("undisturbed", "disturbed"))
    assert main([*options, "--out", str(undisturbed.directory)]) == 0
    resume = ["solve", "--resume", str(disturbed.directory), "--json"]
    capsys.readouterr()

    assert interrupted_at(5, signal.SIGTERM, [*options, "--out", str(disturbed.directory)], monkeypatch) == 143
    said = capsys.readouterr().err
    assert "interrupted at step 5" in said
    assert f"state saved; go on with: prism solve --resume {disturbed.directory}" in said

    flip_byte(disturbed.checkpoints()[-1] / "state.safetensors")
    assert interrupted_at(9, signal.SIGINT, resume, monkeypatch) == 130
    said = capsys.readouterr().err
    assert f"prism: warning: checkpoint {disturbed.checkpoints()[-1].parent}" in said
    assert "step-000000000005 is damaged" in said
    assert "interrupted at step 9" in said

    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "JAX_ENABLE_X64": "1"}
    killed = [sys.executable, "-c", DRIVER, "4", *resume]
    process = subprocess.run(killed, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert process.returncode == -signal.SIGKILL, process.stderr
    assert disturbed.unfinished(), "a checkpoint that was being written"
    disturbed.check_checkpoints()
    assert disturbed.newest_step() == 12

    assert main(resume) == 0
    assert not disturbed.unfinished()
    disturbed.check_metrics()
    assert disturbed.model() == undisturbed.model()


@pytest.mark.slow
def test_an_interrupted_run_ends_like_an_undisturbed_one(tmp_path, compiled):
    """Ctrl-C, a damaged checkpoint and SIGTERM in one run."""
    quick_to_compile = {**compiled, "XLA_FLAGS": "--xla_backend_optimization_level=0"}
    undisturbed, disturbed = (Run(tmp_path / name, 6000, quick_to_compile) for name in ("undisturbed", "disturbed"))
    undisturbed.finish()

    process = disturbed.start()
    assert wait_until(lambda: len(disturbed.checkpoints()) > 1, process), process.said
    assert process.send(signal.SIGTERM) == 143, process.said
    assert f"state saved; go on with: prism solve --resume {disturbed.directory}" in process.said
    assert "Traceback" not in process.said
    stopped_at = disturbed.newest_step()
    assert f"interrupted at step {stopped_at:,}" in process.said

    flip_byte(disturbed.checkpoints()[-1] / "state.safetensors")
    before = set(disturbed.checkpoints())
    process = disturbed.start()
    assert wait_until(lambda: not before.issuperset(disturbed.checkpoints()), process), process.said
    assert process.send(signal.SIGINT) == 130, process.said
    assert f"prism: warning: checkpoint {disturbed.checkpoints()[-1].parent}" in process.said
    assert f"step-{stopped_at:012d} is damaged" in process.said
    assert "state saved" in process.said
    assert "Traceback" not in process.said

    disturbed.finish()
    disturbed.check_metrics()
    assert disturbed.model() == undisturbed.model()


# Killed at random


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


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "cached", "kills"), [(0, True, 13), (1, True, 13), (2, False, 8)])
def test_a_killed_run_ends_like_an_undisturbed_one(tmp_path, compiled, seed, cached, kills, record_property):
    random = np.random.default_rng(seed)
    environment = compiled if cached else {}
    undisturbed, disturbed = (Run(tmp_path / name, 20_000, environment) for name in ("undisturbed", "disturbed"))
    undisturbed.finish()

    survived, while_writing = 0, 0
    for wait_for_the_moment in schedule(kills):
        before = disturbed.unfinished()
        process = disturbed.start()
        if wait_for_the_moment(disturbed, process, random):
            process.popen.kill()
        code = process.popen.wait(PATIENCE)
        assert code in (0, -signal.SIGKILL), process.said
        assert "damaged" not in process.said
        assert "Traceback" not in process.said
        disturbed.check_checkpoints()
        survived += code == -signal.SIGKILL
        while_writing += not before.issuperset(disturbed.unfinished())
    assert "damaged" not in disturbed.finish().said
    disturbed.check_metrics()
    assert disturbed.model() == undisturbed.model()
    # A run may end before its moment comes, but not often; and some moments are those of writing.
    assert survived >= kills - 2
    assert while_writing > 0
    record_property("kills", survived)
    print(f"{survived} kills survived, {while_writing} of them while a checkpoint was written")
