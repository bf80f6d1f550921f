"""Runs that are interrupted or killed at any moment end, once resumed, with the bits of an undisturbed run.

The fast test decides itself when that is: at a given checkpoint, or in the middle of writing it. The slow one takes a
process that is as it is for a user. Kills at random moments are in tests/reliability.
"""

import os
import signal
import subprocess
import sys
import warnings

import pytest
from cli.runs import latest
from reliability.processes import PATIENCE, SOLVE, SOURCE, Run, flip_byte, keeping_programs, wait_until

from prism.cli import main
from prism.reporting import plots
from prism.solving import following
from prism.training import loop
from prism.training.checkpoints import Checkpoints

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
    options = [*latest(*SOLVE, *TINY), "--steps", str(STEPS), "--checkpoint-seconds", "1", "--json"]
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
def test_an_interrupted_run_ends_like_an_undisturbed_one(tmp_path):
    """Ctrl-C, a damaged checkpoint and SIGTERM in one run."""
    quick_to_compile = {**keeping_programs(tmp_path / "compiled"), "XLA_FLAGS": "--xla_backend_optimization_level=0"}
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
