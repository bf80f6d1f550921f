"""A process that is one command: signals are answered from the first moment on, before all else is imported."""

import contextlib
import io
import os
import signal
import sys
from typing import NoReturn

from prism.cli import main as run_command
from prism.files.unfinished import undo_all_unfinished
from prism.solving.interruptions import SIGNALS, Watch, say_at_once


def main() -> NoReturn:
    """Run one command in a process that is its own, and end it."""
    _make_streams_writable()
    Watch(end_at_once).begin()
    code = run_command()
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # the work is done
    _flush()
    if code in [128 + number for number in SIGNALS]:
        os._exit(code)  # without waiting for a thread that still compiles
    sys.exit(code)


def end_at_once(number: int) -> None:
    """End the process from any thread, wherever the others are, and leave nothing unfinished behind."""
    try:
        undo_all_unfinished()
        say_at_once("prism: interrupted")
    finally:
        os._exit(128 + number)


class Patient(io.TextIOWrapper):
    """Text that is lost where nobody reads it any more, as when `tee` was ended by the same Ctrl-C."""

    def write(self, text: str, /) -> int:
        with contextlib.suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def _make_streams_writable() -> None:
    """Any text can be written to both streams: what the encoding does not have as an escape, what nobody reads not at
    all. An answer that is not read is a matter of `prism.cli.speech`."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 (it is open as long as the process lives)
    sys.stdout.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]
    errors = sys.stderr.buffer if sys.stderr else open(os.devnull, "wb")  # noqa: SIM115
    encoding = sys.stderr.encoding if sys.stderr else "utf-8"
    sys.stderr = Patient(errors, encoding, errors="backslashreplace", line_buffering=True)


def _flush() -> None:
    """Write out what was said; where nobody reads it any more, as behind `| head`, that is no failure."""
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
