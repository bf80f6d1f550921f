"""What is on the disk only while work goes on: undone also where a process ends without unwinding its stack.

A file under its temporary name, the lock of a directory, a directory that was made for a result. A process that has to
end at once, in any thread, calls `undo_all_unfinished`: from then on no other thread begins, finishes or undoes such
work.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator

Undo = Callable[[], None]
PATIENCE = 5.0
"""Seconds that an end waits for an act under way (`undivided`)."""
_undoing: list[Undo] = []
_ending: list[int] = []
"""The thread that ends the process, which waits for no other any more."""
_deciding = threading.RLock()
"""Held while it is decided whether a piece of work is finished or undone, and while files and directories are made; for
ever, once the process ends."""


@contextlib.contextmanager
def unfinished(undo: Undo) -> Iterator[None]:
    """Within it, `undo` is what an end of the process has to call; it is called where the work inside fails."""
    with undivided():
        _undoing.append(undo)
    try:
        yield
    except BaseException:
        with undivided():
            undo()
        raise
    finally:
        with undivided():
            _undoing.remove(undo)


def undivided() -> contextlib.AbstractContextManager:
    """Hold this around an act that an end of the process must let finish or not let begin: making a file or directory,
    which would stay if it was made after the undoing; renames that only together finish a piece of work."""
    return contextlib.nullcontext() if threading.get_ident() in _ending else _deciding


def undo_all_unfinished() -> None:
    """Undo everything that is unfinished, the newest first; what cannot be removed stays. The process must then end."""
    _deciding.acquire(timeout=PATIENCE)
    _ending.append(threading.get_ident())
    for undo in reversed(_undoing):
        with contextlib.suppress(OSError):
            undo()
