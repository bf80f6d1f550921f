"""The errors that PRISM raises on purpose.

Each message says what is wrong and, where there is one, the fix. Any other exception is a defect of PRISM.
"""


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
