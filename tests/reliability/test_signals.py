"""SIGTERM and Ctrl-C at any moment: the right exit code, no traceback, and a run that goes on afterwards."""

import contextlib
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from reliability import figures
from reliability.processes import Process, Run, keeping_programs, wait_until

SIGNALS, SEED, STEPS = 40, 5, 6000
QUICK = 20.0
"""Seconds within which a second signal ends a process, on a busy machine."""
INTERPRETER = 0.15
"""Seconds in which Python starts."""
PHASES = ("start", "compile", "training", "finishing")


def reached(phase: str, run: Run, process: Process, random: np.random.Generator) -> bool:
    """Wait for a moment in a phase; whether the process still runs."""
    begun = {
        "start": lambda: True,
        "compile": lambda: ", into " in process.said,
        "training": lambda: run.newest_step() > 0,
        "finishing": lambda: run.newest_step() >= run.steps,
    }[phase]
    if not wait_until(begun, process):
        return False
    # Until Python itself has started, nothing of the command is there to answer.
    low, high = (INTERPRETER, 3.0) if phase == "start" else (0.0, 1.0)
    moment = time.monotonic() + random.uniform(low, high)
    return wait_until(lambda: time.monotonic() >= moment, process)


def trial(run: Run, number: int, twice: bool, phase: str, random: np.random.Generator) -> tuple[bool, str | None]:
    """Signal a run once or twice: whether the signal met it, and what was wrong."""
    process = run.start()
    if not reached(phase, run, process, random):
        return False, None if process.ended() == 0 else f"it failed by itself: {process.said[-300:]}"
    return True, signalled(process, number, twice, phase, random)


def signalled(process: Process, number: int, twice: bool, phase: str, random: np.random.Generator) -> str | None:
    """What is wrong with how a process ends that is signalled now."""
    sent = time.monotonic()
    process.popen.send_signal(number)
    if twice:
        time.sleep(random.uniform(0.0, 0.3))
        with contextlib.suppress(ProcessLookupError):
            process.popen.send_signal(number)
    code = process.ended()
    # Before Python's own handlers are in place the system ends the process; after its end there is nothing to signal.
    allowed = {128 + number, 0} | ({-number} if phase == "start" else set())
    if code not in allowed:
        return f"exit {code}: {process.said[-300:]}"
    if "Traceback" in process.said:
        return f"a traceback: {process.said[-300:]}"
    if twice and time.monotonic() - sent > QUICK:
        return f"a second signal took {time.monotonic() - sent:.0f} s"
    return None


def went_on(run: Run, expected: bytes) -> str | None:
    """Whether the run ends, whatever the signals left, with the bits of an undisturbed one."""
    try:
        run.finish()
    except AssertionError as error:
        return f"it does not go on: {str(error)[:300]}"
    left = [path.name for path in Path(run.directory).rglob(".incomplete-*")]
    if left:
        return f"{left[0]} is left behind"
    return None if run.model() == expected else "other bits than the undisturbed run"


@pytest.mark.slow
def test_signals_at_any_moment(tmp_path):
    begun, random, failures = time.monotonic(), np.random.default_rng(SEED), []
    environment = keeping_programs(tmp_path / "compiled")
    undisturbed = Run(tmp_path / "undisturbed", STEPS, environment)
    undisturbed.finish()
    signals = 0
    for trial_number in range(figures.scaled(SIGNALS)):
        phase = PHASES[trial_number % len(PHASES)]
        number = (signal.SIGTERM, signal.SIGINT)[trial_number // len(PHASES) % 2]
        twice = bool(trial_number // (2 * len(PHASES)) % 2)
        # Only a program that is not yet kept is compiled for long.
        fresh = {} if phase == "compile" else environment
        run = Run(tmp_path / f"run-{trial_number}", STEPS, fresh)
        title = f"{signal.Signals(number).name}{' twice' if twice else ''} in {phase}, {run.directory}"
        met, wrong = trial(run, number, twice, phase, random)
        signals += met
        wrong = wrong or went_on(Run(run.directory, STEPS, environment), undisturbed.model())
        failures += [] if wrong is None else [f"{title}: {wrong}"]
    figures.keep(
        "signals",
        {"tried": signals, "held": signals - len(failures), "seconds": time.monotonic() - begun, "failures": failures},
    )
    assert not failures, figures.told(failures)
