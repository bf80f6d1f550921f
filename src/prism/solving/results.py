"""What a finished run leaves in its directory, and what is left to do of one that is resumed."""

import signal
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prism.errors import InputError, NotSolved
from prism.files.reading import Unreadable, converted
from prism.files.storage import MANIFEST
from prism.reporting.plots import save_plots
from prism.reporting.records import RunDirectory
from prism.solving.following import NOTHING, Spent
from prism.solving.identity import UNKNOWN, Identity
from prism.solving.runs import Outcome
from prism.training.checkpoints import Checkpoints
from prism.training.loop import Budget


def finish(
    directory: RunDirectory, outcome: Outcome, head: Mapping[str, object], problem: Mapping[str, object] | None
) -> dict[str, object]:
    """Write model/, plots/ and report.json; returns the report. `head` says what was solved, and how."""
    solution = outcome.solution
    report = {**head, **outcome.report(), "out": str(directory.path)}
    solution.save(directory.model, problem)
    save_plots(solution, directory.plots)
    evaluation = solution.training.evaluation
    by_parameter = [] if evaluation is None else [vars(row) for row in evaluation.by_parameter]
    directory.write_json("report.json", {**report, "by_parameter": by_parameter})
    return report


def tell_interrupted(signal_number: int, steps: int, directory: RunDirectory | None, stacklevel: int) -> None:
    """Ctrl-C ends the training, and what was learned is given back with a warning; other signals end the program."""
    if signal_number != signal.SIGINT:
        raise SystemExit(128 + signal_number)
    if steps == 0:
        raise KeyboardInterrupt
    on = "" if directory is None else f"; the state is saved, go on with resume={str(directory.path)!r}"
    warnings.warn(f"interrupted after {steps:,} steps, nothing was measured{on}", NotSolved, stacklevel=stacklevel)


@dataclass(frozen=True)
class Standing:
    """Where the newest checkpoint of a run stands."""

    step: int
    spent: Spent
    identity: Identity = UNKNOWN
    """What the checkpoint says of its run."""

    @staticmethod
    def of(directory: RunDirectory) -> "Standing":
        """At the beginning, where there is no checkpoint to go on from."""
        newest = Checkpoints(directory.checkpoints).newest_record()
        if newest is None:
            return Standing(0, NOTHING)
        step, record = newest
        return Standing(step, Spent.from_record(record), Identity.from_record(record))

    def check(self, budget: Budget) -> None:
        """Refuse fewer steps than were made."""
        if budget.steps is not None and budget.steps < self.step:
            raise InputError(
                f"a total of {budget.steps:,} steps is asked for and {self.step:,} were made; give a total of "
                f"{self.step:,} or more"
            )

    def total(self, more_steps: int | None, more_minutes: float | None) -> Budget:
        """The budget with so much added to what was done."""
        if more_steps is not None:
            return Budget(steps=self.step + more_steps)
        return Budget(minutes=self.spent.seconds / 60.0 + (more_minutes or 0.0))

    def has_spent(self, budget: Budget) -> bool:
        """Whether the run makes no further step under this budget."""
        return self.step > 0 and budget.is_spent(self.step, self.spent.seconds, self.spent.seconds_per_step)

    def describe(self, budget: Budget) -> str:
        """Of a budget that is spent."""
        return (
            f"the budget is spent: {self.step:,} steps and {self.spent.seconds / 60.0:.2g} minutes were trained, "
            f"and the total asked for is {budget.describe()}"
        )


@dataclass(frozen=True)
class FinishedReport:
    """What is read of report.json, which holds more."""

    steps: int
    doubts: list[str]


def warn_of(report: Mapping[str, Any], stacklevel: int) -> None:
    """The doubts of a finished run, said again."""
    for doubt in report["doubts"]:
        warnings.warn(doubt, NotSolved, stacklevel=stacklevel + 1)


def finished_report(directory: RunDirectory, step: int) -> dict[str, Any] | None:
    """The report of a run that was judged at this step, if its solution is there."""
    if not (directory.model / MANIFEST).is_file() or not (directory.path / "report.json").is_file():
        return None
    try:
        report = directory.read_json("report.json")
        if converted(report, FinishedReport).steps != step:
            return None
    except (InputError, Unreadable):
        return None
    return {name: value for name, value in report.items() if name != "by_parameter"}
