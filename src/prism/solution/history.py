"""How a training went: what was seen after every chunk of steps, in the order in which it happened."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from prism.solution.evaluation import Evaluation
from prism.solution.held_out import HeldOutResidual


@dataclass(frozen=True)
class TrainingRecord:
    """Where a training stood: what metrics.jsonl keeps of it, and what a callback sees.

    `relative_l2` is the error on a small held-out sample, where the solution is known and it was measured just then;
    `seconds` are of training alone.
    """

    step: int
    seconds: float
    loss: float | None
    relative_l2: float | None
    relative_l2_standard_error: float | None
    skipped_steps: int

    def as_json(self) -> dict[str, Any]:
        """By name."""
        return asdict(self)

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> "TrainingRecord":
        """The record that was written under these names."""
        return TrainingRecord(**{field.name: content[field.name] for field in fields(TrainingRecord)})


History = tuple[TrainingRecord, ...]


@dataclass(frozen=True, eq=False)
class Training:
    """How a solution came about, and how good it was at the end; of a loaded one nothing is known."""

    history: History = ()
    evaluation: Evaluation | None = None
    held_out: HeldOutResidual | None = None
    doubts: tuple[str, ...] = ()

    @property
    def judgement(self) -> Evaluation | HeldOutResidual | None:
        """The errors, or the residual where the truth is not known."""
        return self.evaluation or self.held_out


UNKNOWN = Training()


def errors_over_time(history: Iterable[TrainingRecord]) -> list[tuple[float, float]]:
    """(seconds, relative L2 error), where that was measured."""
    return [(record.seconds, record.relative_l2) for record in history if record.relative_l2 is not None]


def losses_over_time(history: Iterable[TrainingRecord]) -> list[tuple[float, float]]:
    """(seconds, loss), where a step succeeded."""
    return [(record.seconds, record.loss) for record in history if record.loss is not None]
