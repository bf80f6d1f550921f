"""What a compiled step needs, against what the machine has: refused before the first step, not killed in it."""

import os
import resource
import sys
from pathlib import Path

import jax

SHARE = 0.9
"""The part of the free memory that a run may plan with."""


def compiled_bytes(compiled: jax.stages.Compiled) -> int:
    """Arguments, results that do not reuse them, and temporaries of one call."""
    analysis = compiled.memory_analysis()
    if analysis is None:
        return 0
    return (
        analysis.argument_size_in_bytes
        + analysis.output_size_in_bytes
        - analysis.alias_size_in_bytes
        + analysis.temp_size_in_bytes
    )


def available_bytes() -> int:
    """Free memory of this machine, or of the control group that bounds this process."""
    free = _meminfo_available()
    limit = Path("/sys/fs/cgroup/memory.max")
    used = Path("/sys/fs/cgroup/memory.current")
    if limit.exists() and used.exists() and (text := limit.read_text().strip()) != "max":
        free = min(free, int(text) - int(used.read_text()))
    return free


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
