"""Where each command writes: reserved before the command's own module, and JAX with it, is imported.

Each function is a context manager that tries what was asked for, gives the command its place, and releases it.
"""

import argparse
import contextlib
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

from prism.errors import InputError, UnusableOutput
from prism.files.marks import Layout
from prism.files.outputs import OutputFile, ResultDirectory, reserved
from prism.reporting.records import MODEL_FILES, RUN, RunDirectory

TUNING = Layout("tuning", (r"tuning\.json", r"trust\.json", MODEL_FILES), whole=("model",))
INVERSION = Layout("inversion", (r"result\.json", r"plots/likelihood-\d+\.png"))
STRUCTURE = Layout("structure", (r"structure\.json", r"structure\.png"))
STUDY = Layout("study", (r"results\.json", r"table\.md", r"figure\.png"))


@contextlib.contextmanager
def nothing(options: argparse.Namespace) -> Iterator[None]:
    """A command that only reads."""
    yield None


@contextlib.contextmanager
def for_solve(options: argparse.Namespace) -> Iterator[RunDirectory]:
    """--resume DIR, --out DIR, or a fresh name under runs/."""
    if options.resume is not None and options.out is not None:
        raise InputError("--resume and --out exclude each other: a resumed run goes on in its own directory")
    if options.resume is not None and options.force:
        raise InputError("--resume and --force exclude each other: go on with a run, or replace it (--out DIR --force)")
    if options.resume is None:
        path = Path(options.out or _fresh_name(options))
        with reserved(path):
            yield RunDirectory.new(path, options.force)
    else:
        RunDirectory.existing(Path(options.resume))  # before a directory is made for the lock
        with reserved(Path(options.resume)):
            yield RunDirectory.existing(Path(options.resume))


@contextlib.contextmanager
def for_demo(options: argparse.Namespace) -> Iterator[RunDirectory]:
    """An earlier run is replaced, and nothing else."""
    path = Path(options.out or "runs/demo")
    with reserved(path):
        yield RunDirectory.new(path, force=True)


@contextlib.contextmanager
def for_predict(options: argparse.Namespace) -> Iterator[OutputFile | None]:
    """--out FILE, which is neither the points nor a part of the run; None for standard output."""
    points = [] if options.points is None else [Path(options.points)]
    read = itertools.chain(points, read_of(Path(options.run_directory)))
    written = None if options.out in (None, "-") else OutputFile.tried(Path(options.out), read, options.force)
    yield written


@contextlib.contextmanager
def for_explore(options: argparse.Namespace) -> Iterator[OutputFile | None]:
    """--out FILE, or RUN.html beside the run; None for a page that is served alone."""
    run = Path(options.run_directory)
    if options.serve and options.out is None:
        yield None
        return
    beside = Path(f"{run.absolute()}.html")
    yield OutputFile.tried(Path(options.out or beside), read_of(run), options.force)


def read_of(run: Path) -> Iterator[Path]:
    """The files that a command reads of a run, of a tuned solution, or of one that Python saved."""
    for directory in (run, run.parent):
        yield from itertools.chain(RUN.own_files(directory), TUNING.own_files(directory))
    for directory in (run, run / "model"):
        yield from itertools.chain(directory.glob("*.safetensors"), directory.glob("*.json"))


@contextlib.contextmanager
def for_tune(options: argparse.Namespace) -> Iterator[ResultDirectory]:
    out, run = Path(options.out), Path(options.run_directory)
    for read in (run, run.parent):  # the directory of a run, or of its model
        if out.exists() and read.exists() and out.samefile(read):
            raise UnusableOutput(f"cannot write to {out}: it is the run that is tuned")
    with ResultDirectory.reserved(out, TUNING, options.force) as directory:
        yield directory


@contextlib.contextmanager
def for_invert(options: argparse.Namespace) -> Iterator[ResultDirectory | None]:
    if options.out is None:
        yield None
        return
    with ResultDirectory.reserved(Path(options.out), INVERSION, options.force) as directory:
        yield directory


@contextlib.contextmanager
def for_bench(options: argparse.Namespace) -> Iterator[ResultDirectory]:
    out = Path(options.out or f"runs/bench-{options.name}{'-full' if options.full else ''}")
    with ResultDirectory.reserved(out, STUDY, options.force) as directory:
        yield directory


@contextlib.contextmanager
def for_structure(options: argparse.Namespace) -> Iterator[ResultDirectory]:
    out = Path(options.out or f"runs/structure-{_plain_name(options.family)}-{getattr(options, 'dim', '')}")
    with ResultDirectory.reserved(out, STRUCTURE, options.force) as directory:
        yield directory


@contextlib.contextmanager
def for_export(options: argparse.Namespace) -> Iterator[Path]:
    """What may be replaced there is decided by `prism.solution.export.check_place`."""
    run = Path(options.run_directory).absolute()
    out = Path(options.out or run.with_name(f"{run.name}-export"))
    with reserved(out):
        yield out


def _fresh_name(options: argparse.Namespace) -> str:
    """runs/FAMILY-DIM-seedS-TIME, of what was given."""
    variant = "scaled" if hasattr(options, "scaled") else None
    parts = [_plain_name(options.family), variant, getattr(options, "dim", None)]
    kind = "-".join(str(part) for part in (*parts, f"seed{getattr(options, 'seed', 0)}") if part is not None)
    return f"runs/{kind}-{time.strftime('%Y%m%d-%H%M%S')}"


def _plain_name(family: str | None) -> str | None:
    """The family as a part of a directory's name: of one's own without its path."""
    return None if family is None else family.rpartition("/")[2].replace(".py:", "-")
