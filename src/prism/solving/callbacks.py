"""What may follow a training as it goes: functions of the user's own, TensorBoard, Weights & Biases.

prism.solve(family, minutes=5, callback=lambda record: print(record.step, record.loss, record.relative_l2))
prism.solve(family, minutes=5, callback=prism.TensorBoard("runs/heat/tensorboard"))
"""

import abc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from prism.errors import InputError
from prism.numerics.extras import extra_module
from prism.solution.training_record import TrainingRecord

Function = Callable[[TrainingRecord], object]


class Callback(abc.ABC):
    """Sees a `TrainingRecord` after every chunk of steps, about twice a second; True ends the training there."""

    @abc.abstractmethod
    def __call__(self, record: TrainingRecord) -> object:
        """What to do with it."""

    def close(self) -> None:
        """After the last record."""
        return None


class Plain(Callback):
    """A function of the user's own."""

    def __init__(self, function: Function):
        self._function = function

    def __call__(self, record: TrainingRecord) -> object:
        return self._function(record)


class TensorBoard(Callback):
    """Loss and error as scalars over the step, for `tensorboard --logdir DIR`.

    `TensorBoard("runs/heat/tensorboard")` needs `pip install 'prism-pde[tensorboard]'`.
    """

    def __init__(self, directory: str | Path):
        summary = extra_module("tensorboard.summary", "tensorboard")
        self._writer = summary.Writer(str(directory))

    def __call__(self, record: TrainingRecord) -> None:
        for name, value in scalars(record).items():
            self._writer.add_scalar(name, value, record.step)

    def close(self) -> None:
        self._writer.close()


class WeightsAndBiases(Callback):
    """Loss and error over the step in a run of Weights & Biases; arguments are those of `wandb.init`.

    `WeightsAndBiases(project="heat", mode="offline")` needs `pip install 'prism-pde[wandb]'`.
    """

    def __init__(self, **arguments: Any):
        self._run = extra_module("wandb", "wandb").init(**arguments)

    def __call__(self, record: TrainingRecord) -> None:
        self._run.log(scalars(record), step=record.step)

    def close(self) -> None:
        self._run.finish()


def scalars(record: TrainingRecord) -> dict[str, float]:
    """What of a record can be drawn over its step; what was not measured then is left out."""
    found = {name: value for name, value in record.as_json().items() if name != "step" and value is not None}
    return {name: float(value) for name, value in found.items()}


def callbacks_of(given: Function | Callback | Sequence[Function | Callback] | None) -> tuple[Callback, ...]:
    """One or several, functions made callbacks."""
    several = () if given is None else tuple(given) if isinstance(given, Sequence) else (given,)
    wrong = [one for one in several if not callable(one)]
    if wrong:
        raise InputError(f"a callback is {wrong[0]!r}; give a function of a record, such as lambda record: ...")
    return tuple(one if isinstance(one, Callback) else Plain(one) for one in several)
