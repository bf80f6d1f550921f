"""What memory the machine has left, and what this process has used of it."""

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prism.errors import FailedRun

GROUP = Path("/sys/fs/cgroup")
"""The control group of this process."""


@contextmanager
def exhaustion_named() -> Iterator[None]:
    """Memory that ran out, in Python or in a compiled program, told in one line."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise FailedRun("the memory ran out; take fewer points, a narrower network or a lower dimension") from error


def available_bytes() -> int:
    """Free memory of this machine, or of the control group that bounds this process."""
    limit, used = (_count_in(GROUP / name) for name in ("memory.max", "memory.current"))
    free = _meminfo_available()
    return free if limit is None or used is None else max(0, min(free, limit - used + _reclaimable()))


def _reclaimable() -> int:
    """What the control group holds of files and gives back when it is needed."""
    try:
        counts = dict(line.split() for line in (GROUP / "memory.stat").read_text().splitlines())
        return int(counts["inactive_file"])
    except (OSError, ValueError, KeyError):
        return 0


def _count_in(file: Path) -> int | None:
    """The number in a file of the control group; None where there is none, as where it says "max"."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def _meminfo_available() -> int:
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def peak_rss_megabytes() -> float:
    """The largest resident size of this process so far (VmHWM: `getrusage` would inherit a parent's across exec)."""
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else []:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024.0**2 if sys.platform == "darwin" else 1024.0)
