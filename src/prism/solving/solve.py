"""`prism.solve`: from a family to a Solution in one call, with or without a directory that keeps the run."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from prism.derivatives.estimators import Estimator
from prism.errors import InputError
from prism.files.outputs import reserved
from prism.networks.model import Architecture
from prism.numerics.arguments import check_kind, check_positive, check_whole
from prism.objective.batches import Sampling
from prism.objective.rows import Slopes
from prism.objective.worst_case import WorstCase
from prism.problem.family import Family
from prism.reporting.records import RunDirectory
from prism.solution.solution import Solution, load
from prism.solving.callbacks import Callback, Function, callbacks_of
from prism.solving.results import Standing, finish, finished_report, tell_interrupted, warn_of
from prism.solving.runs import execute
from prism.solving.sessions import Record
from prism.solving.settings import Settings
from prism.solving.tasks import Request, Task, Tell, new_task, resumed_task
from prism.training.loop import Budget
from prism.training.optimisers import Optimiser


def solve(
    family: Family,
    *,
    steps: int | None = None,
    minutes: float | None = None,
    estimator: Estimator | None = None,
    optimiser: Optimiser | None = None,
    architecture: Architecture | None = None,
    sampling: Sampling | None = None,
    independent: bool = False,
    slopes: Slopes | None = None,
    worst_case: WorstCase | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    more_minutes: float | None = None,
    force: bool = False,
    callback: Function | Callback | Sequence[Function | Callback] | None = None,
    progress: bool = True,
) -> Solution:
    """Solve a whole family: `prism.solve(AllenCahn(prism.Ball(1000)), minutes=2)`.

    Train for `steps` or for `minutes` (1 unless given; what is compiled and measured beside it does not count), on the
    equation alone. What is not given of `estimator`, `optimiser`, `architecture` and `sampling` is chosen for the
    family (docs/choosing.md). The lift of an equation in time that depends on |x| and t alone is made of these; other
    lifts are chosen by short trials, if `minutes` is 2 or more. `independent` makes the loss the product of two
    independent estimates, `slopes` adds the residual's gradient to it; `worst_case` lets points climb to where the
    residual is worst.

    `out` is a directory that keeps the run as `prism solve` does: checkpoints, metrics, pictures, report and solution;
    one in use is refused without `force`. `resume` goes on with the run in such a directory, to a total of `steps` or
    `minutes`, or for `more_minutes`. `callback` sees a `TrainingRecord` about twice a second.

    With `progress` a bar and, at the end, the errors (or the residual, without an exact solution) go to standard error.
    What ended without a solution is told by a `NotSolved` warning.
    """
    if not isinstance(family, Family):
        raise InputError(f"{family!r} is not a family; build one, such as MyFamily(prism.Ball(100))")
    callbacks = callbacks_of(callback)
    check_budget(steps, minutes, more_minutes, out, resume)
    settings = Settings.choose(
        family,
        estimator=estimator,
        optimiser=optimiser,
        architecture=architecture,
        sampling=sampling,
        independent=independent,
        slopes=slopes,
        seed=seed,
        worst_case=worst_case,
    )
    tell: Tell = (lambda line: print(line, file=sys.stderr)) if progress else (lambda line: None)
    request = Request(family, settings, estimator is not None, architecture is not None)
    with run_directory(out, resume, force) as directory:
        if resume is None or directory is None:
            budget = Budget(steps, 1.0 if steps is None and minutes is None else minutes)
            task = new_task(request, budget, tell)
        else:
            task = resumed_task(request, directory, steps, minutes, more_minutes, tell)
            standing = Standing.of(directory)
            report = finished_report(directory, standing.step)
            if standing.has_spent(task.budget) and report is not None:
                tell(f"{standing.describe(task.budget)}; the run's solution is loaded")
                warn_of(report, stacklevel=2)
                return load(directory.path, family)
        return _solved(task, directory, resume is not None, callbacks, progress, tell)


def check_budget(steps: object, minutes: object, more_minutes: object, out: object, resume: object) -> None:
    """Refuse what is not of the kind that is asked for, and more minutes of nothing."""
    if steps is not None:
        check_whole("steps", steps, 1)
    for name, value in (("minutes", minutes), ("more_minutes", more_minutes)):
        if value is not None:
            check_positive(name, value)
    for name, value in (("out", out), ("resume", resume)):
        check_kind(name, value, str | os.PathLike | None, 'a directory, such as "runs/heat"')
    if more_minutes is not None and (resume is None or steps is not None or minutes is not None):
        raise InputError("more_minutes adds to a run that is resumed; give resume, and neither steps nor minutes")


@contextlib.contextmanager
def run_directory(out: str | Path | None, resume: str | Path | None, force: bool) -> Iterator[RunDirectory | None]:
    """The directory of the run, tried and locked before the work; None where none is kept."""
    if resume is not None and force:
        raise InputError("resume and force exclude each other: go on with a run, or replace it with out and force")
    if out is not None and resume is not None:
        raise InputError("out and resume exclude each other: a resumed run goes on in its own directory")
    if resume is not None:
        RunDirectory.existing(Path(resume))  # before a directory is made for the lock
        with reserved(Path(resume)):
            yield RunDirectory.existing(Path(resume))
    elif out is not None:
        with reserved(Path(out)):
            yield RunDirectory.new(Path(out), force)
    else:
        yield None


def _solved(
    task: Task,
    directory: RunDirectory | None,
    resume: bool,
    callbacks: tuple[Callback, ...],
    progress: bool,
    tell: Tell,
) -> Solution:
    """Train, judge, write down, and say what came out."""
    record = None if directory is None else Record(directory, task.config(), resume)
    try:
        outcome = execute(
            task.family,
            task.settings,
            task.budget,
            record,
            show=progress,
            check=False,
            spent=task.spent,
            callbacks=callbacks,
        )
    except KeyboardInterrupt as interruption:
        if interruption.args == (signal.SIGTERM,):
            raise SystemExit(128 + signal.SIGTERM) from None
        raise
    if outcome.interrupted_by is not None:
        tell_interrupted(outcome.interrupted_by, outcome.steps, directory, stacklevel=4)
        return outcome.solution
    if directory is not None:
        finish(directory, outcome, task.head(), None)
    for line in outcome.describe():
        tell(line)
    outcome.warn(stacklevel=4)
    return outcome.solution
