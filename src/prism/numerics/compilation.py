"""Compiled programs: kept between processes, and made quickly where they run only once.

Programs are kept in JAX's persistent cache, in the user's cache directory. `PRISM_CACHE_DIR=DIR` moves it,
`PRISM_CACHE_DIR=off` does without; a cache of the caller's own (`jax_compilation_cache_dir`) is left as it is.
"""

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

VARIABLE, OFF = "PRISM_CACHE_DIR", "off"
PROGRAMS = "compiled-programs"
"""The directory inside that place that is ours alone."""
MOST_BYTES = 2**30
"""What the cache may hold; the programs that were not used for longest go first."""
CompilerOptions = Mapping[str, bool | int | str]
PLAIN_LOOPS: CompilerOptions = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}
"""For a program that spends its time in matrix products: without XLA's tiled loops and with little optimisation of its
own it compiles in half the time and runs as fast."""
RUNS_ONCE: CompilerOptions = {**PLAIN_LOOPS, "xla_backend_optimization_level": 0}
"""For a program whose compilation takes longer than its only run."""


def on_cpu(options: CompilerOptions) -> Any:
    """For the argument `compiler_options` of JAX: these options are measured on a CPU, and meant for it alone."""
    return dict(options) if options and jax.default_backend() == "cpu" else None


def keep_programs(environment: Mapping[str, str] = os.environ) -> None:
    """Keep what is compiled from now on for later processes. A place that cannot be used is done without."""
    place = cache_directory(environment)
    theirs = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    if place is None or theirs is not None:
        return
    try:
        place = place / PROGRAMS
        place.mkdir(parents=True, exist_ok=True)
        _make_room(place)
    except OSError:
        return
    jax.config.update("jax_compilation_cache_dir", str(place))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    compilation_cache.reset_cache()  # JAX looks for a cache once, and may have looked before


def cache_directory(environment: Mapping[str, str]) -> Path | None:
    """Where programs are kept; None where the environment says to keep none, or there is no home to keep them in."""
    chosen = environment.get(VARIABLE)
    if chosen is not None:
        return None if chosen in ("", OFF) else Path(chosen)
    if base := environment.get("XDG_CACHE_HOME"):
        return Path(base) / "prism"
    with contextlib.suppress(RuntimeError):
        library = Path("Library", "Caches") if sys.platform == "darwin" else Path(".cache")
        return Path.home() / library / "prism"
    return None


def _make_room(place: Path) -> None:
    """Remove the programs that were not used for longest until the rest is within bounds, and nothing else."""
    files = [(entry.stat(), entry) for entry in place.glob("jit_*-cache") if entry.is_file()]
    total = sum(status.st_size for status, _ in files)
    for status, entry in sorted(files, key=lambda file: file[0].st_mtime):
        if total <= MOST_BYTES:
            return
        entry.unlink(missing_ok=True)
        total -= status.st_size
