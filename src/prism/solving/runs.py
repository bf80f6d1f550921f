"""One run from a family to a Solution: check, compile, train, evaluate, and write it all down."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from prism.numerics.compilation import keep_programs
from prism.numerics.keys import Purpose, stream
from prism.problem.checks import check_family
from prism.problem.family import Family
from prism.reporting.progress import ProgressBar
from prism.reporting.records import RunDirectory
from prism.solution.evaluation import Evaluation, evaluate
from prism.solution.held_out import HeldOutResidual, held_out_residual
from prism.solution.known_evaluation import evaluate_known
from prism.solution.quick_evaluation import QuickError
from prism.solution.solution import Solution
from prism.solving.interruptions import Interruptions
from prism.solving.preparation import Prepared, prepare
from prism.solving.settings import Settings
from prism.training.advance import TrainingState
from prism.training.checkpoints import Checkpoints
from prism.training.loop import Budget, Progress, train
from prism.training.memory import peak_rss_megabytes

Result = TypeVar("Result")


@dataclass(frozen=True)
class Outcome:
    """What a run ended with."""

    solution: Solution
    steps: int
    seconds: float
    compile_seconds: float
    skipped: int
    loss: float | None
    pairs: int
    interrupted_by: int | None
    evaluation: Evaluation | None = None
    held_out: HeldOutResidual | None = None
    """Where the family knows no exact solution to evaluate with."""

    def report(self) -> dict[str, object]:
        """The figures of the run under the names that scripts read."""
        running = max(self.seconds - self.compile_seconds, 1e-9)
        judged = self.evaluation or self.held_out
        return {
            "steps": self.steps,
            "seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
            "seconds_per_step": running / max(1, self.steps),
            "pairs_per_second": self.pairs * self.steps / running,
            "peak_rss_mb": peak_rss_megabytes(),
            "skipped_steps": self.skipped,
            "loss": self.loss,
            **(judged.as_json() if judged else {}),
        }

    def end_if_interrupted(self) -> None:
        """Of a run that is part of another piece of work: the signal that interrupted it ends that too."""
        if self.interrupted_by is not None:
            raise KeyboardInterrupt(self.interrupted_by)

    def describe(self) -> list[str]:
        """How good the solution is, for a reader."""
        judged = self.evaluation or self.held_out
        return judged.describe() if judged else []


@dataclass(frozen=True)
class Record:
    """Where a run is written down, under which configuration, and whether it goes on from there."""

    directory: RunDirectory
    config: Mapping[str, object]
    resume: bool = False


def execute(
    family: Family,
    settings: Settings,
    budget: Budget,
    record: Record | None = None,
    show: bool = True,
    check: bool = True,
    judge: bool = True,
) -> Outcome:
    """Train and, where it is to be judged, evaluate; written down, and on from the newest checkpoint, where `record`
    says so.

    `check` tries the family first, for mistakes that a user's own family or parameters may have; the catalogue's are
    tested.
    """
    begun = time.perf_counter()
    keep_programs()
    if check:
        check_family(family, stream(settings.seed, Purpose.CHECK))
    with Interruptions() as asked:
        run = _prepare(family, settings, record, begun)
        budget = budget.after(run.seconds)
        with ProgressBar(budget, show) as bar:
            progress = _follow(run, budget, bar, asked)
    outcome = _outcome(run, progress, asked.signal)
    if asked.signal is not None or not judge:
        return outcome
    model, solved = outcome.solution.model, outcome.solution.family
    key = stream(settings.seed, Purpose.EVALUATION)
    if family.has_exact:
        return replace(outcome, evaluation=evaluate(model, solved, key))
    if family.has_known_values:
        return replace(outcome, evaluation=evaluate_known(model, solved, key))
    return replace(outcome, held_out=held_out_residual(model, solved, key))


@dataclass(frozen=True)
class _Run:
    """The pieces of a run under way."""

    prepared: Prepared
    state: TrainingState
    settings: Settings
    directory: RunDirectory | None
    checkpoints: Checkpoints | None
    seconds: float
    compile_seconds: float

    def save(self, state: TrainingState, seconds: float) -> None:
        if self.checkpoints is not None:
            record: dict[str, object] = {"seconds": seconds, "compile_seconds": self.compile_seconds}
            self.checkpoints.save(int(state.step), state, record)


def _prepare(family: Family, settings: Settings, record: Record | None, begun: float) -> _Run:
    """Compile (refusing what cannot fit), then make the first state or load the newest checkpoint."""
    prepared = prepare(family, settings)
    state = prepared.state
    spent, checkpoints = {"seconds": 0.0, "compile_seconds": 0.0}, None
    if record is not None:
        checkpoints = Checkpoints(record.directory.checkpoints)
        saved = checkpoints.newest(state) if record.resume else None  # before anything is written
        record.directory.begin(record.config, record.resume)
        state, spent = saved or (state, spent)
    compile_seconds = time.perf_counter() - begun
    seconds = spent["seconds"] + compile_seconds
    compile_seconds += spent["compile_seconds"]
    directory = None if record is None else record.directory
    if directory is not None:
        directory.rewind_metrics(int(state.step))
    return _Run(prepared, state, settings, directory, checkpoints, seconds, compile_seconds)


def _follow(run: _Run, budget: Budget, bar: ProgressBar, asked: Interruptions) -> Progress | None:
    """Train to the end of the budget or a signal, recording, showing and saving on the way."""
    measuring = _Occasionally(2.0, first_after=0.0)
    saving = _Occasionally(run.settings.checkpoint_seconds, first_after=run.settings.checkpoint_seconds)
    shown, progress = None, None
    for progress in train(run.prepared.program, run.state, budget, run.seconds, _restorer(run)):
        error = measuring.perform(lambda p=progress: _quick_error(run, p.state)) if measuring.due() else None
        _record(run, progress, error)
        if saving.due():
            saving.perform(lambda p=progress: run.save(p.state, p.seconds))
        shown = shown if error is None else error.relative_l2
        bar.show(progress, shown)
        if asked.signal is not None:
            break
    if progress is not None:
        error = _quick_error(run, progress.state)
        _record(run, progress, error)
        bar.show(progress, None if error is None else error.relative_l2)
        run.save(progress.state, progress.seconds)
    return progress


def _restorer(run: _Run) -> Callable[[TrainingState], TrainingState]:
    """The newest checkpoint of a failing run, the one before where that has been tried already; without any its
    state, which no failed step has touched."""
    tried: set[int] = set()

    def restore(state: TrainingState) -> TrainingState:
        saved = None if run.checkpoints is None else run.checkpoints.newest(state)
        while saved is not None and run.checkpoints is not None and int(saved[0].step) in tried:
            older = run.checkpoints.newest(state, before=int(saved[0].step))
            if older is None:
                break
            saved = older
        if saved is None:
            return state
        step = int(saved[0].step)
        tried.add(step)
        if run.checkpoints is not None:
            run.checkpoints.discard_after(step)
        return saved[0]

    return restore


def _quick_error(run: _Run, state: TrainingState) -> QuickError | None:
    """The relative L2 error on a small held-out sample, where the exact solution is known."""
    evaluation = run.prepared.quick_evaluation
    return None if evaluation is None else evaluation(state.model)


def _record(run: _Run, progress: Progress, error: QuickError | None) -> None:
    if run.directory is not None:
        run.directory.append_metric(
            {
                "step": progress.step,
                "seconds": progress.seconds,
                "loss": progress.loss,
                "relative_l2": None if error is None else error.relative_l2,
                "relative_l2_standard_error": None if error is None else error.standard_error,
                "skipped_steps": progress.skipped,
            }
        )


class _Occasionally:
    """Work that is due every so many seconds, and never so often that it takes a twentieth of the time."""

    def __init__(self, seconds: float, first_after: float):
        self._interval, self._next, self._first = seconds, time.perf_counter() + first_after, True

    def due(self) -> bool:
        return time.perf_counter() >= self._next

    def perform(self, work: Callable[[], Result]) -> Result:
        begun = time.perf_counter()
        result = work()
        ended = time.perf_counter()
        cost = 0.0 if self._first else ended - begun  # the first time compiles
        self._next, self._first = ended + max(self._interval, 20.0 * cost), False
        return result


def _outcome(run: _Run, progress: Progress | None, signal: int | None) -> Outcome:
    state = run.state if progress is None else progress.state
    return Outcome(
        solution=Solution(state.model, state.objective.family),
        steps=int(state.step),
        seconds=run.seconds if progress is None else progress.seconds,
        compile_seconds=run.compile_seconds,
        skipped=int(state.skipped),
        loss=None if progress is None else progress.loss,
        pairs=run.settings.sampling.pairs,
        interrupted_by=signal,
    )
