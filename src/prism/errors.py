"""The errors that PRISM raises on purpose, and the warnings it gives.

Each message says what is wrong and, where there is one, the fix. Any other exception is a defect of PRISM.
A warning that should stop a program: `warnings.simplefilter("error", prism.BeyondTraining)`.
"""

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


class TooLarge(InputError):
    """A batch of `points` needs `needed` GiB where `usable` may be used.

    `fitting` points would fit, None where not even one does; `complaint` says what is wrong, without the remedy.
    """

    def __init__(self, points: int, needed: float, usable: float, fitting: int | None):
        self.points, self.needed, self.usable, self.fitting = points, needed, usable, fitting
        batch = "one point alone" if fitting is None else f"a batch of {points} points"
        self.complaint = f"{batch} needs {needed:.1f} GiB and {usable:.1f} GiB may be used"
        remedy = "take a lower dimension, a narrower lift or fewer directions"
        super().__init__(f"{self.complaint}; {remedy if fitting is None else f'points={fitting} fits'}")


class PrismWarning(UserWarning):
    """Base of every warning that PRISM gives on purpose."""


class NotSolved(PrismWarning):
    """Training ended, but what came out is not, or not yet, a solution; the message says why and what to do."""


class NotImproved(PrismWarning):
    """Tuning at a parameter gained nothing; the message says what to do instead."""


class BeyondTraining(PrismWarning):
    """u was asked where it was not trained: another parameter, or a point outside the domain or its law."""
