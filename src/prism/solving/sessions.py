"""One session of training, of whatever network: compile, begin or go on, train to the end of the budget or a signal."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from prism.problem.family import Family
from prism.problem.potential import Potential
from prism.reporting.progress import Preparation, ProgressBar
from prism.reporting.records import RunDirectory
from prism.solution.history import History
from prism.solving.callbacks import Callback
from prism.solving.following import NOTHING, RunUnderWay, Spent, follow
from prism.solving.identity import UNKNOWN, Identity
from prism.solving.interruptions import Interruptions
from prism.solving.preparation import Prepared
from prism.training.advance import TrainingState
from prism.training.checkpoints import Checkpoints
from prism.training.loop import Budget, Progress


@dataclass(frozen=True)
class Record:
    """Where a run is written down, under which configuration, and whether it goes on from there."""

    directory: RunDirectory
    config: Mapping[str, object]
    resume: bool = False


@dataclass(frozen=True)
class Session:
    """Where a session of training ended."""

    state: TrainingState
    spent: Spent
    progress: Progress | None
    """None where no step was made."""
    history: History
    signal: int | None
    """The one that interrupted it."""

    @property
    def seconds(self) -> float:
        """Of training, earlier sessions included."""
        return self.spent.seconds if self.progress is None else self.progress.seconds

    @property
    def loss(self) -> float | None:
        """Of the last steps."""
        return None if self.progress is None else self.progress.loss


def train_session(
    prepare: Callable[[], Prepared],
    problem: Family | Potential,
    checkpoint_seconds: float,
    budget: Budget,
    record: Record | None = None,
    show: bool = True,
    spent: Spent = NOTHING,
    callbacks: tuple[Callback, ...] = (),
) -> Session:
    """Train; written down, and on from the newest checkpoint, where `record` says so."""
    if record is not None and record.resume:
        record.directory.metrics()  # a damaged one is refused before anything is compiled or written
    with Interruptions() as asked:
        with asked.finishing("compilation"), Preparation("compiling", show) as clock:
            prepared = prepare()
            asked.end_if_asked()  # an earlier run in the directory stays as it was
            run = _begun(prepared, problem, checkpoint_seconds, record, spent, callbacks, clock)
        with contextlib.ExitStack() as stack:
            for callback in callbacks:
                stack.callback(callback.close)
            bar = stack.enter_context(ProgressBar(budget, show))
            progress, history = follow(run, budget, bar, asked)
    return Session(run.state if progress is None else progress.state, run.spent, progress, history, asked.signal)


def _begun(
    prepared: Prepared,
    problem: Family | Potential,
    checkpoint_seconds: float,
    record: Record | None,
    spent: Spent,
    callbacks: tuple[Callback, ...],
    clock: Callable[[], float],
) -> RunUnderWay:
    """Begin to write the run down, with its first state or from its newest checkpoint."""
    state, directory, checkpoints, history, identity = prepared.state, None, None, (), UNKNOWN
    if record is not None:
        directory, checkpoints = record.directory, Checkpoints(record.directory.checkpoints)
        saved = checkpoints.newest(state) if record.resume else None  # before anything is written
        directory.begin(record.config, record.resume)
        if saved is not None:
            state, spent = saved[0], Spent.from_record(saved[1])
        directory.rewind_metrics(int(state.step))
        history, identity = tuple(directory.metrics()), Identity.of(record.config, problem)
    spent = replace(spent, compile_seconds=spent.compile_seconds + clock())
    return RunUnderWay(prepared, state, checkpoint_seconds, directory, checkpoints, spent, history, callbacks, identity)
