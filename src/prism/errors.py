"""The errors that PRISM raises on purpose, and the warnings it gives.

Each message says what is wrong and, where there is one, the fix. Any other exception is a defect of PRISM.
A warning that should stop a program: `warnings.simplefilter("error", prism.BeyondTraining)`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


class PrismError(Exception):
    """Base of every error that PRISM raises on purpose."""


class InputError(PrismError, ValueError):
    """The caller's mistake: the message says what is wrong and how to put it right (exit code 2)."""


class FailedRun(PrismError):
    """Training could not go on, for example because the loss is no longer finite (exit code 1)."""


class CorruptedFile(PrismError):
    """A stored file is missing, incomplete or not what was written."""


class UnknownName(InputError, AttributeError):
    """A parameter or term that a family does not have; `hasattr` is false for it."""


class UnusableOutput(InputError):
    """A place that cannot be written to, or holds what is not to be replaced without being asked.

    `complaint` says what is wrong, without the remedy; `replaceable` whether asking to replace it would help;
    `resumable` is the directory of an earlier run that could be resumed.
    """

    def __init__(self, complaint: str, replaceable: bool = False, resumable: Path | None = None):
        self.complaint, self.replaceable, self.resumable = complaint, replaceable, resumable
        super().__init__(f"{complaint}; {'replace it with force=True, or ' if replaceable else ''}choose another place")


@dataclass(frozen=True)
class Proposal:
    """A setting that fits: its name and its value, as an option takes it, and the `argument` that a program in Python
    gives for it. Two settings may be of one argument."""

    name: str
    value: object
    argument: str


class TooLarge(InputError):
    """What was asked for needs more memory than there is.

    `complaint` says what is wrong, without the remedy; `proposals` are settings that fit, by the name of each.
    """

    def __init__(self, complaint: str, proposals: Iterable[Proposal]):
        fitting = tuple(proposals)
        self.complaint, self.proposals = complaint, {one.name: one.value for one in fitting}
        super().__init__(f"{complaint}; {_remedy(one.argument for one in fitting)}")

    def remedy(self, written: Callable[[str, object], str]) -> str:
        """What to do, each setting as it is `written`."""
        return _remedy(written(name, value) for name, value in self.proposals.items())


def _remedy(settings: Iterable[str]) -> str:
    """What to do, by settings that fit, each said once."""
    said = list(dict.fromkeys(settings))
    if not said:
        return "take a lower dimension and a smaller network"
    return f"{' and '.join(said)} {'fits' if len(said) == 1 else 'fit'}"


class PrismWarning(UserWarning):
    """Base of every warning that PRISM gives on purpose."""


class NotSolved(PrismWarning):
    """Training ended, but what came out is not, or not yet, a solution; the message says why and what to do."""


class NotImproved(PrismWarning):
    """Tuning at a parameter gained nothing; the message says what to do instead."""


class BeyondTraining(PrismWarning):
    """u was asked where it was not trained: another parameter, or a point outside the domain or its law."""
