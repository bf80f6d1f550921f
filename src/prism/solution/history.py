"""How a training went: what was seen after every chunk of steps, in the order in which it happened."""

from collections.abc import Iterable
from dataclasses import dataclass

from prism.solution.evaluation import Evaluation
from prism.solution.held_out import HeldOutResidual
from prism.solution.training_record import TrainingRecord

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
