"""One process at a time writes into a directory: a lock that the system releases when its holder dies."""

import contextlib
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

from prism.errors import UnusableOutput
from prism.files.storage import LOCK
from prism.files.unfinished import undivided, unfinished

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

_held: set[int] = set()


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the lock of a directory, which is refused at once while another process holds it.

    The lock is that of an empty file in the directory. Where the system has no such locks, a warning takes its place.
    """
    path = directory / LOCK

    def remove(descriptor: int) -> None:
        if descriptor in _held and _is_at(descriptor, path) and os.fstat(descriptor).st_size == 0:
            path.unlink(missing_ok=True)  # while it is held: whoever waits for it sees that it is gone, and tries anew

    def release(descriptor: int) -> None:
        remove(descriptor)
        _held.discard(descriptor)
        os.close(descriptor)

    with contextlib.ExitStack() as stack:
        with undivided():  # no lock is made after the process has undone its own
            descriptor = _acquire(path)
            _held.add(descriptor)
            stack.enter_context(unfinished(lambda: remove(descriptor)))
            stack.callback(release, descriptor)  # first, so that an end of the process knows of the lock until then
        yield


def _acquire(path: Path) -> int:
    """A descriptor that holds the lock. Programs that this process starts do not get it (PEP 446)."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            _lock(descriptor, path.parent)
            if _is_at(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its last holder removed the file in the meantime


def _lock(descriptor: int, directory: Path) -> None:
    try:
        if fcntl is None:
            raise OSError("no file locks on this system")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UnusableOutput(f"cannot write to {directory}: another process is writing there") from None
    except OSError as error:  # some network file systems have none
        warnings.warn(f"{directory} cannot be locked ({error}); start no second run into it", stacklevel=4)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the path still names the file that was opened."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _let_go() -> None:
    """In a forked child: a lock lives as long as any copy of its descriptor, and this one is the parent's."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
