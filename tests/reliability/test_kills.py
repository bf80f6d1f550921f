"""Runs that are killed at random moments end, once resumed, with the bits of an undisturbed run."""

import signal
import time

import numpy as np
import pytest
from reliability import figures
from reliability.processes import Run, keeping_programs, schedule

KILLS, PER_RUN, STEPS = 200, 16, 20_000


@pytest.mark.slow
def test_killed_runs_end_like_an_undisturbed_one(tmp_path):
    """Runs with the same settings, each killed PER_RUN times; one of them compiles anew after every kill."""
    begun, compiled = time.monotonic(), keeping_programs(tmp_path / "compiled")
    undisturbed = Run(tmp_path / "undisturbed", STEPS, compiled)
    undisturbed.finish()
    kills, survived, while_writing, failures = figures.scaled(KILLS), 0, 0, []
    number, done = 0, 0
    while done < kills and number < 2 * kills:
        run = Run(tmp_path / f"run-{number}", STEPS, {} if number == 1 else compiled)
        count = min(8 if number == 1 else PER_RUN, max(4, kills - done))
        died, writing, wrong = killed(run, count, np.random.default_rng(number), undisturbed.model())
        done, while_writing, number = done + died, while_writing + writing, number + 1
        survived += 0 if wrong else died
        failures += [f"seed {number - 1}, in {run.directory}: {what}" for what in wrong]
    figures.keep(
        "kills",
        {
            "tried": done,
            "held": survived,
            "runs": number,
            "while a checkpoint was written": while_writing,
            "seconds": time.monotonic() - begun,
            "failures": failures,
        },
    )
    print(f"{survived} of {done} kills survived in {number} runs, {while_writing} while a checkpoint was written")
    assert not failures, figures.told(failures)
    assert while_writing > 0


def killed(run: Run, count: int, random: np.random.Generator, expected: bytes) -> tuple[int, int, list[str]]:
    """Kill a run so often, then let it end: how many kills met it, how many while it wrote, and what went wrong."""
    died, while_writing, wrong = 0, 0, []
    for wait_for_the_moment in schedule(count):
        before, process = run.unfinished(), run.start()
        if wait_for_the_moment(run, process, random):
            process.popen.kill()
        code = process.ended()
        if code not in (0, -signal.SIGKILL) or "damaged" in process.said or "Traceback" in process.said:
            wrong.append(f"exit {code}: {process.said[-300:]}")
        died += code == -signal.SIGKILL
        while_writing += not before.issuperset(run.unfinished())
        try:
            run.check_checkpoints()
        except Exception as error:
            wrong.append(f"a checkpoint is damaged: {error}")
    try:
        run.finish()
        run.check_metrics()
    except Exception as error:
        return died, while_writing, [*wrong, f"it does not end: {error}"]
    return died, while_writing, [*wrong, *([] if run.model() == expected else ["other bits than the undisturbed run"])]
