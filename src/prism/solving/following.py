"""A training under way: what is recorded, shown and saved after every chunk of steps, and where it ends."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TypeVar

from prism.errors import CorruptedFile
from prism.files.reading import blaming, converted
from prism.reporting.progress import ProgressBar
from prism.reporting.records import RunDirectory
from prism.solution.history import History
from prism.solution.quick_evaluation import QuickError
from prism.solution.training_record import TrainingRecord
from prism.solving.callbacks import Callback
from prism.solving.identity import UNKNOWN, Identity
from prism.solving.interruptions import Interruptions
from prism.solving.preparation import Prepared
from prism.training.advance import TrainingState
from prism.training.checkpoints import Checkpoints
from prism.training.loop import Budget, Progress, refuse_untrained, train

Result = TypeVar("Result")


@dataclass(frozen=True)
class Spent:
    """What a run has taken before the steps that are still to be made, earlier sessions and trials included."""

    seconds: float = 0.0
    compile_seconds: float = 0.0
    trial_seconds: float = 0.0
    """Of the seconds: those of trials of lifts."""
    seconds_per_step: float = 0.0
    """Of the last steps."""

    @staticmethod
    def from_record(record: Mapping[str, object]) -> "Spent":
        """What a checkpoint's record tells."""
        with blaming("the record.json of the newest checkpoint", CorruptedFile):
            return converted(record, Spent)

    def as_record(self) -> dict[str, object]:
        """For a checkpoint."""
        return asdict(self)


NOTHING = Spent()


@dataclass(frozen=True)
class RunUnderWay:
    """The pieces of a run."""

    prepared: Prepared
    state: TrainingState
    checkpoint_seconds: float
    directory: RunDirectory | None
    checkpoints: Checkpoints | None
    spent: Spent
    history: History = ()
    """Of earlier sessions."""
    callbacks: tuple[Callback, ...] = field(default=())
    identity: Identity = UNKNOWN
    """What its checkpoints say of it."""

    def save(self, progress: Progress) -> None:
        """A checkpoint of where the run stands."""
        if self.checkpoints is not None:
            now = replace(self.spent, seconds=progress.seconds, seconds_per_step=progress.seconds_per_step)
            record = {**now.as_record(), **self.identity.as_record()}
            self.checkpoints.save(int(progress.state.step), progress.state, record)


def follow(run: RunUnderWay, budget: Budget, bar: ProgressBar, asked: Interruptions) -> tuple[Progress | None, History]:
    """Train to the end of the budget, a signal or a callback's wish, recording, showing and saving on the way."""
    measuring = Occasionally(2.0, first_after=0.0)
    saving = Occasionally(run.checkpoint_seconds, first_after=run.checkpoint_seconds)
    shown, progress, history = None, None, list(run.history)
    if asked.signal is not None:  # before the first step
        return None, run.history
    before = run.spent.seconds, run.spent.seconds_per_step or None
    for progress in train(run.prepared.program, run.state, budget, before[0], _restorer(run), before[1]):
        error = measuring.perform(lambda p=progress: _quick_error(run, p.state)) if measuring.due() else None
        history.append(_recorded(run, progress, error))
        if saving.due():
            saving.perform(lambda p=progress: run.save(p))
        shown = shown if error is None else error.relative_l2
        bar.show(progress, shown)
        if _wants_to_end(run, progress, history[-1]) or asked.signal is not None:
            break
    if progress is not None:
        if asked.signal is None:
            refuse_untrained(progress, run.prepared.program.optimiser)
        error = _quick_error(run, progress.state)
        if history[-1].relative_l2 is None and error is not None:
            history.append(_recorded(run, progress, error))
            for callback in run.callbacks:
                callback(history[-1])
        bar.show(progress, None if error is None else error.relative_l2)
        run.save(progress)
    return progress, tuple(history)


def _wants_to_end(run: RunUnderWay, progress: Progress, record: TrainingRecord) -> bool:
    """Whether a callback does; where one fails, the state is saved before the error goes on."""
    try:
        return any([callback(record) is True for callback in run.callbacks])
    except Exception:
        run.save(progress)
        raise


def _restorer(run: RunUnderWay) -> Callable[[TrainingState], TrainingState]:
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


def _quick_error(run: RunUnderWay, state: TrainingState) -> QuickError | None:
    """The relative L2 error on a small held-out sample, where the exact solution is known."""
    evaluation = run.prepared.quick_evaluation
    return None if evaluation is None else evaluation(state.model)


def _recorded(run: RunUnderWay, progress: Progress, error: QuickError | None) -> TrainingRecord:
    record = TrainingRecord(
        step=progress.step,
        seconds=progress.seconds,
        loss=progress.loss,
        relative_l2=None if error is None else error.relative_l2,
        relative_l2_standard_error=None if error is None else error.standard_error,
        skipped_steps=progress.skipped,
    )
    if run.directory is not None:
        run.directory.append_metric(record)
    return record


class Occasionally:
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
