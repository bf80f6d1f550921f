"""`prism.solve`: from a family to a Solution in one call, with or without a directory that keeps the run."""

import contextlib
import math
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prism.derivatives.estimators import Estimator
from prism.errors import InputError, NotSolved
from prism.files.outputs import reserved
from prism.networks.model import Architecture
from prism.numerics.keys import Purpose, stream
from prism.objective.batches import Sampling
from prism.objective.rows import Slopes
from prism.objective.worst_case import WorstCase
from prism.problem.checks import check_family
from prism.problem.family import Family
from prism.problem.fingerprint import fingerprint, same_equation
from prism.reporting.records import RunDirectory
from prism.solution.artifacts import build_architecture, describe_architecture
from prism.solution.solution import Solution, load
from prism.solving.callbacks import Callback, Function, callbacks_of
from prism.solving.following import NOTHING, Spent
from prism.solving.lift_choice import has_room_for_trials, with_decided_lift
from prism.solving.results import Standing, finish, finished_report, warn_of
from prism.solving.runs import Outcome, Record, execute
from prism.solving.settings import Settings
from prism.solving.symmetry import with_norms
from prism.training.loop import Budget
from prism.training.optimisers import Optimiser

MADE_BY = "prism.solve"
Tell = Callable[[str], None]


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
    if more_minutes is not None and (resume is None or steps is not None or minutes is not None):
        raise InputError("more_minutes adds to a run that is resumed; give resume, and neither steps nor minutes")
    if more_minutes is not None and not 0.0 < more_minutes < math.inf:
        raise InputError(f"more_minutes={more_minutes:g} adds nothing; give a positive number")
    if resume is not None and force:
        raise InputError("resume and force exclude each other: go on with a run, or replace it with out and force")
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
    given = Given(family, settings, estimator is not None, architecture is not None)
    with _directory(out, resume, force) as directory:
        if resume is None or directory is None:
            budget = Budget(steps, 1.0 if steps is None and minutes is None else minutes)
            task = _new_task(given, budget, tell)
        else:
            task = _resumed_task(given, directory, steps, minutes, more_minutes, tell)
            standing = Standing.of(directory)
            report = finished_report(directory, standing.step)
            if standing.has_spent(task.budget) and report is not None:
                tell(f"{standing.describe(task.budget)}; the run's solution is loaded")
                warn_of(report, stacklevel=2)
                return load(directory.path, family)
        return _solved(task, directory, resume is not None, callbacks, progress, tell)


@dataclass(frozen=True)
class Given:
    """What was asked for, and which of it may not be chosen otherwise."""

    family: Family
    settings: Settings
    keep_estimator: bool
    keep_architecture: bool


@dataclass(frozen=True)
class Task:
    """What is to be trained."""

    family: Family
    settings: Settings
    budget: Budget
    spent: Spent = NOTHING

    def config(self) -> dict[str, object]:
        """What config.json keeps, to compare with when the run is resumed."""
        return {
            "made_by": MADE_BY,
            "family": type(self.family).__name__,
            "dim": self.family.domain.dimension,
            "equation": fingerprint(self.family),
            "steps": self.budget.steps,
            "minutes": self.budget.minutes,
            "settings": _described(self.settings),
            "architecture": describe_architecture(self.settings.architecture),
        }

    def head(self) -> dict[str, object]:
        """The first entries of the report."""
        names = ("estimator", "optimiser", "modulation")
        settings = self.settings
        shown = (settings.estimator, settings.optimiser, settings.architecture.modulation)
        described = {name: str(value) for name, value in zip(names, shown, strict=True)}
        family = {"family": type(self.family).__name__, "dim": self.family.domain.dimension}
        return {**family, "seed": settings.seed, **described, "lift": str(settings.architecture.lift)}


def _new_task(given: Given, budget: Budget, tell: Tell) -> Task:
    """The lift made of norms where the equation allows it, or chosen by trials where there is time."""
    family, settings = given.family, given.settings
    check_family(family, stream(settings.seed, Purpose.CHECK))
    normed = None if given.keep_architecture else with_norms(family, settings, tell, given.keep_estimator)
    if normed is not None:
        return Task(family, normed, budget)
    if given.keep_architecture or not has_room_for_trials(family, settings, budget):
        return Task(family, settings, budget)
    decision = with_decided_lift(family, settings, budget, tell, check=False)
    return Task(family, decision.settings, decision.budget, decision.spent)


def _resumed_task(
    given: Given,
    directory: RunDirectory,
    steps: int | None,
    minutes: float | None,
    more_minutes: float | None,
    tell: Tell,
) -> Task:
    """The run's own settings, if those that were given are the same; only its budget may be another."""
    config = directory.read_json("config.json")
    if not isinstance(config, dict) or config.get("made_by") != MADE_BY:
        raise InputError(f"{directory.path} was made by the command; go on with: prism solve --resume {directory.path}")
    if not same_equation(str(config.get("equation")), fingerprint(given.family)):
        raise InputError(f"{directory.path} is a run of another equation; give the family as it was, or another out")
    family, settings = given.family, given.settings
    if not given.keep_architecture:
        normed = with_norms(family, settings, tell, given.keep_estimator)
        architecture = build_architecture(config["architecture"])
        settings = replace(normed or settings, architecture=architecture)
    described, kept = _described(settings), config.get("settings")
    for name, value in described.items():
        if not isinstance(kept, dict) or kept.get(name) != value:
            was = kept.get(name) if isinstance(kept, dict) else None
            raise InputError(f"{name} is {value} here and {was} in the run; give what it was begun with")
    kept = describe_architecture(build_architecture(config["architecture"]))
    if given.keep_architecture and describe_architecture(settings.architecture) != kept:
        raise InputError("the architecture is not that of the run; leave it out to take the run's own")
    if more_minutes is not None:
        return Task(family, settings, Standing.of(directory).total(None, more_minutes))
    if steps is None and minutes is None:
        steps, minutes = config["steps"], config["minutes"]
    return Task(family, settings, Budget(steps, minutes))


def _described(settings: Settings) -> dict[str, Any]:
    """Everything that decides the steps but the architecture, in words."""
    names = ("estimator", "optimiser", "sampling", "independent", "slopes", "worst_case", "seed")
    return {name: repr(getattr(settings, name)) for name in names}


@contextlib.contextmanager
def _directory(out: str | Path | None, resume: str | Path | None, force: bool) -> Iterator[RunDirectory | None]:
    """The directory of the run, tried and locked before the work; None where none is kept."""
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
    if outcome.interrupted_by is not None:
        return _interrupted(outcome, directory)
    if directory is not None:
        finish(directory, outcome, task.head(), None)
    for line in outcome.describe():
        tell(line)
    outcome.warn(stacklevel=4)
    return outcome.solution


def _interrupted(outcome: Outcome, directory: RunDirectory | None) -> Solution:
    """Ctrl-C ends the training, and what was learned is given back; other signals end the program."""
    if outcome.interrupted_by != signal.SIGINT:
        raise SystemExit(128 + (outcome.interrupted_by or 0))
    if outcome.steps == 0:
        raise KeyboardInterrupt
    on = "" if directory is None else f"; the state is saved, go on with resume={str(directory.path)!r}"
    warnings.warn(f"interrupted after {outcome.steps:,} steps, nothing was measured{on}", NotSolved, stacklevel=4)
    return outcome.solution
