"""Ctrl-C and SIGTERM ask a run to save its state and stop; a second one stops at once."""

import signal
from types import FrameType


class Interruptions:
    """`with Interruptions() as asked:` and then `asked.signal` tells whether, and by what."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._previous: dict[int, object] = {}

    def __enter__(self) -> "Interruptions":
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                self._previous[number] = signal.signal(number, self._note)
            except ValueError:  # not in the main thread: the caller's own handlers stay
                break
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise SystemExit(128 + number)
        self.signal = number
