"""The command `prism`: the only place that maps names to objects. JAX is imported by a command, not by --help."""

import contextlib
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence

from prism.cli.parser import build_parser
from prism.errors import CorruptedFile, InputError, PrismError, PrismWarning, TooLarge, UnusableOutput


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 done, 2 bad input, 1 failed, 130 or 143 interrupted."""
    options = build_parser().parse_args(arguments)
    try:
        with _warnings_in_one_line(), options.output(options) as output:
            return options.run(options, output)
    except (InputError, CorruptedFile) as error:
        print(f"prism: error: {in_options(error)}", file=sys.stderr)
        return 2
    except (PrismError, OSError) as error:
        print(f"prism: failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interruption:
        print("prism: interrupted", file=sys.stderr)
        return 128 + (interruption.args[0] if interruption.args else signal.SIGINT)


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
        smaller = "take a smaller --dim, a narrower --lift or fewer directions in --estimator"
        return f"{error.complaint}; {smaller if error.fitting is None else f'--points {error.fitting} fits'}"
    return str(error)
