"""One line of how a training went: what metrics.jsonl keeps after every chunk of steps."""

from dataclasses import asdict, dataclass
from typing import Any


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
