"""One call of the command, and how it ends: an answer, or one line that tells why there is none."""

import contextlib
import errno
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence

from prism.cli.parser import build_parser
from prism.cli.speech import complain, say
from prism.errors import CorruptedFile, InputError, PrismError, PrismWarning, TooLarge, UnusableOutput
from prism.numerics.memory import exhaustion_named
from prism.numerics.texts import shortened

TRACEBACK = "PRISM_TRACEBACK"
"""The variable of the environment with which an unforeseen error is shown whole."""
DEFECT = "a defect of PRISM"
UNUSABLE_PATH = (errno.ENAMETOOLONG, errno.ELOOP)
"""Errors by which the system refuses a path itself, too long or of links in a circle: the input is to blame."""
LONGEST_PATH = 200
"""Characters of a path that an error repeats."""


def call(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    options = build_parser().parse_args(arguments)
    try:
        with _warnings_in_one_line(), exhaustion_named(), options.output(options) as output:
            return options.run(options, output)
    except (InputError, CorruptedFile) as error:
        complain("error", in_options(error))
        return 2
    except PrismError as error:
        complain("failed", str(error))
        return 1
    except OSError as error:
        said = f"{shortened(error.filename, LONGEST_PATH)}: {error.strerror}" if error.filename else str(error)
        if error.errno in UNUSABLE_PATH:
            complain("error", f"{said}; name another place")
            return 2
        complain("failed", said)
        return 1
    except KeyboardInterrupt as interruption:
        say("prism: interrupted")
        return 128 + (interruption.args[0] if interruption.args else signal.SIGINT)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        reason = f"{type(error).__name__}: {error}"
        complain("failed", f"{DEFECT} ({reason}); {TRACEBACK}=1 shows where, please report it")
        return 1


@contextlib.contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Warnings on standard error without the place in the code; our own are always shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PrismWarning)
        warnings.showwarning = lambda message, *_, **__: print(f"prism: warning: {message}", file=sys.stderr)
        yield


def in_options(error: Exception) -> str:
    """The message of an error, its remedy in options where the library names arguments of Python."""
    if isinstance(error, UnusableOutput):
        resume = f"continue it with --resume {error.resumable}, " if error.resumable else ""
        replace = "replace it with --force, " if error.replaceable else ""
        either = "or " if resume or replace else ""
        return f"{error.complaint}; {resume}{replace}{either}choose another --out"
    if isinstance(error, TooLarge):
        from prism.cli.options import typed  # with JAX, which has been imported where sizes are judged

        return f"{error.complaint}; {error.remedy(typed)}"
    return str(error)
