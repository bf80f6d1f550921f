"""Ctrl-C and SIGTERM ask a run to save its state and stop; a second one stops at once.

    with Interruptions() as asked:
        with asked.finishing("compilation"):
            ...
        if asked.signal is not None: ...

Python runs a handler only between two of its own instructions, so that a signal during compilation would be answered
minutes later. A process that is nothing but a command has a `Watch`: a thread that is told of signals at once.
"""

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STANDARD_ERROR = 2
_under_way: list["Interruptions"] = []
"""Runs that take a signal, the innermost last: like the handlers of signals, there is one such list in a process."""
_watches: list["Watch"] = []
"""Whether, and by what, signals are answered in a thread: then no run takes over their handlers."""


class Interruptions:
    """Whether, and by which signal, a run was asked to stop: `asked.signal`."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._work = "this step"
        self._previous: dict[int, object] = {}

    def __enter__(self) -> "Interruptions":
        _under_way.append(self)
        if not _watches:
            with contextlib.suppress(ValueError):  # not in the main thread: the caller's own handlers stay
                for number in signals_not_ignored():
                    self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        _under_way.remove(self)
        for number, handler in self._previous.items():
            if handler is not None:  # one that was installed outside Python cannot be put back
                signal.signal(number, handler)  # pyright: ignore[reportArgumentType]

    @contextlib.contextmanager
    def finishing(self, work: str) -> Iterator[None]:
        """Work that is not cut short by the first signal."""
        before, self._work = self._work, work
        try:
            yield
        finally:
            self._work = before

    def end_if_asked(self) -> None:
        """End what is not worth saving, where a signal has asked for it."""
        if self.signal is not None:
            raise KeyboardInterrupt(self.signal)

    def take(self, number: int) -> bool:
        """Take the first signal and say so; False for any further one, which is the listener's to answer."""
        if self.signal is not None:
            return False
        self.signal = number
        say_at_once(f"stopping after {self._work}; a second signal stops at once")
        return True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.take(number):
            raise KeyboardInterrupt(number)


class Watch:
    """`with Watch(end):` every signal is answered at once: by the run that is under way, or by `end(number)`."""

    def __init__(self, end: Callable[[int], None]):
        self._end = end
        self._previous: dict[int, object] = {}

    def __enter__(self) -> "Watch":
        self.begin()
        return self

    def begin(self) -> None:
        """Answer signals from now on, for the rest of the process unless it is left."""
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._previous_descriptor = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        threading.Thread(target=self._listen, name="signals", daemon=True).start()
        self._previous = {number: signal.signal(number, lambda *_: None) for number in signals_not_ignored()}
        _watches.append(self)

    def __exit__(self, *_: object) -> None:
        _watches.remove(self)
        for number, handler in self._previous.items():
            if handler is not None:  # one that was installed outside Python cannot be put back
                signal.signal(number, handler)  # pyright: ignore[reportArgumentType]
        signal.set_wakeup_fd(self._previous_descriptor)
        os.close(self._writer)  # which ends the thread

    def _listen(self) -> None:
        while received := os.read(self._reader, 1):
            number = received[0]
            if number in SIGNALS and not any(run.take(number) for run in _under_way[-1:]):
                self._end(number)
        os.close(self._reader)


def signals_not_ignored() -> list[int]:
    """Those of `SIGNALS` that the process does not ignore, as what a shell runs in the background ignores Ctrl-C."""
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


def say_at_once(text: str) -> None:
    """A line on standard error, past its buffer, which another thread may hold; where nobody reads it, nothing."""
    with contextlib.suppress(OSError, ValueError):
        if select.select([], [STANDARD_ERROR], [], 0.0)[1]:
            os.write(STANDARD_ERROR, f"\n{text}\n".encode())
