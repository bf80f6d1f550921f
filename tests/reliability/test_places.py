"""A disk that is full, a directory that may not be written or vanishes, two runs in one place: told in one line."""

import contextlib
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from reliability import figures, grounds
from reliability.cases import PREFIXES, Case, faults_of
from reliability.commands import Commands, Ran
from reliability.processes import Run, keeping_programs, wait_until

pytestmark = pytest.mark.slow
KIB = 1024
ROOM = (4, 16, 64, 128, 192, 256)
"""KiB of a disk: from too little for the first file to too little for the last picture."""
WRITERS = {
    "solve": (*grounds.SOLVE, "--steps", "10", "--checkpoint-seconds", "0.001", "--out"),
    "tune": ("tune", "run", *grounds.MU, "--seconds", "0.5", "--out"),
    "export": ("export", "run", "--out"),
    "structure": ("structure", "allen-cahn", "--dim", "3", "--out"),
    "invert": ("invert", "run", "data.csv", "--out"),
}


@contextlib.contextmanager
def mounted(place: Path, kibibytes: int, *flags: str) -> Iterator[Path]:
    """A disk of its own, as large as this; skips where this process may not mount one."""
    place.mkdir()
    options = ",".join([f"size={kibibytes}k", *flags])
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("a small disk is mounted by root alone")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def complaint(ran: Ran, codes: frozenset[int]) -> str | None:
    """What is wrong with how a command ended that could not write."""
    faults = list(faults_of(Case("place", "", ("none",), codes), ran, {}, {}))
    return None if not faults else f"{', '.join(faults)}; exit {ran.code}: {ran.err[-300:]}"


def report(part: str, ended: dict[str, str | None]) -> None:
    failures = [f"{title}: {wrong}" for title, wrong in ended.items() if wrong is not None]
    figures.keep(part, {"tried": len(ended), "held": len(ended) - len(failures), "failures": failures})
    print(part, f"{len(ended) - len(failures)} of {len(ended)}")
    assert not failures, figures.told(failures)


@pytest.fixture(scope="module")
def ground(tmp_path_factory) -> Iterator[tuple[Commands, Path]]:
    """Commands, and a directory with a finished run."""
    place = tmp_path_factory.mktemp("places")
    with Commands(place / "cache") as commands:
        yield commands, grounds.trained(place / "base", commands)


def test_a_full_disk_is_told_and_leaves_what_is_whole(ground, tmp_path):
    """Each command on disks that end before its output does; with room again, the same call succeeds."""
    commands, base = ground
    ended = {}
    for name, words in WRITERS.items():
        for room in ROOM[:: 1 if name == "solve" else 2]:
            with mounted(tmp_path / f"{name}-{room}", room) as disk:
                ran = commands.run((*words, disk / "out"), base)
                if ran.code == 0:  # there was room enough
                    continue
                wrong = complaint(ran, frozenset({1, 2}))
                subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
                wrong = wrong or _goes_on(commands, base, words, disk / "out")
            ended[f"{name} on {room} KiB"] = wrong
    report("full disks", ended)


def _goes_on(commands: Commands, base: Path, words: tuple[str, ...], out: Path) -> str | None:
    """With room, the call replaces what the failed one left; where that wrote the beginning of a run, it resumes."""
    if (out / "config.json").is_file():
        return complaint(commands.run(("solve", "--resume", out), base), frozenset({0}))
    return complaint(commands.run((*words, out, "--force"), base), frozenset({0}))


def test_a_directory_that_may_not_be_written_is_told(ground, tmp_path):
    """A place to write to, or the run itself, on a disk that is mounted for reading."""
    commands, base = ground
    ended = {}
    with mounted(tmp_path / "reading", 64, "ro") as disk:
        for name, words in WRITERS.items():
            ended[f"{name} into a disk for reading"] = complaint(
                commands.run((*words, disk / "out"), base), frozenset({2})
            )
        predict = ("predict", "run", *grounds.MU, "--points", "points.csv", "--out")
        ran = commands.run((*predict, disk / "values.csv"), base)
        ended["predict into a disk for reading"] = complaint(ran, frozenset({2}))
    with mounted(tmp_path / "run", 8 * KIB) as disk:
        place = Path(shutil.copytree(base, disk / "copy"))
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for name, words in {"trust": ("trust", "run", *grounds.MU), "predict": predict[:-1]}.items():
            ended[f"{name} of a run for reading"] = complaint(commands.run(words, place), frozenset({0}))
        for words in (("export", "run"), ("solve", "--resume", "run", "--more-steps", "2")):
            ended[f"{words[0]} of a run for reading"] = complaint(commands.run(words, place), frozenset({2}))
    report("directories for reading", ended)


def removed(path: Path) -> None:
    """Remove a directory in which a process is writing."""
    shutil.rmtree(path.rename(path.with_suffix(".removed")), ignore_errors=True)


def vanished(run: Run, remove: Callable[[Path], object], when: Callable[[], bool]) -> str | None:
    """What is wrong with how a run ended whose directory went while it ran."""
    process = run.start()
    if not wait_until(when, process):
        return f"it ended early: {process.said[-300:]}"
    remove(run.directory)
    code = process.ended()
    last = (process.said.splitlines() or [""])[-1]
    if code not in (0, 1, 2) or "Traceback" in process.said:
        return f"exit {code}: {process.said[-300:]}"
    return None if code == 0 or last.startswith(PREFIXES[code]) else f"exit {code} with {last!r}"


def test_a_directory_that_vanishes_is_told(tmp_path):
    """Removed or renamed while a run starts, trains or ends."""
    environment, ended = keeping_programs(tmp_path / "compiled"), {}
    removals = {"removed": removed, "renamed": lambda path: path.rename(path.with_suffix(".moved"))}
    for title, remove in removals.items():
        for moment in ("started", "training", "finishing"):
            run = Run(tmp_path / f"{title}-{moment}", 20_000, environment)
            when = {
                "started": run.directory.exists,
                "training": lambda run=run: run.newest_step() > 0,
                "finishing": lambda run=run: run.newest_step() >= run.steps,
            }[moment]
            ended[f"{title} when {moment}"] = vanished(run, remove, when)
    report("directories that vanish", ended)


def test_two_runs_in_one_directory(tmp_path):
    """The second is refused while the first one runs, whenever it comes, and the first ends as if alone."""
    environment, ended = keeping_programs(tmp_path / "compiled"), {}
    alone = Run(tmp_path / "alone", 20_000, environment)
    alone.finish()
    for number in range(figures.scaled(5)):
        run = Run(tmp_path / f"run-{number}", 20_000, environment)
        first = run.start()
        wait_until(lambda run=run: run.directory.exists(), first)
        time.sleep(0.5 * number)
        second = Run(run.directory, 20_000, environment)
        log = run.directory.with_suffix(".second")
        process = second.start(log)
        code = process.ended()
        wrong = None if code == 2 and "another process" in process.said else f"exit {code}: {process.said[-300:]}"
        if first.ended() != 0:
            wrong = wrong or f"the first one failed: {first.said[-300:]}"
        elif run.model() != alone.model():
            wrong = wrong or "the first one ended with other bits"
        ended[f"after {0.5 * number:g} s"] = wrong
    report("two runs in one directory", ended)
