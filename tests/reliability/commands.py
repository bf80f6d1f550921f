"""The command `prism` in processes of their own, started by `reliability.forking` in tenths of a second."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Self

from reliability.processes import SOURCE

from prism.cli.calls import TRACEBACK

PATIENCE = 120.0
"""Seconds after which a command counts as hanging, on a busy machine."""
QUICK_TO_COMPILE = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"


class Ran(NamedTuple):
    """What became of a command; a negative code is a signal, None stands for a command that hung."""

    code: int | None
    out: str
    err: str
    seconds: float


@dataclass
class Commands:
    """Runs commands one after another; the programs that they compile are kept in one cache."""

    cache: Path

    def __enter__(self) -> Self:
        environment = {
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "PRISM_CACHE_DIR": str(self.cache),
            "XLA_FLAGS": QUICK_TO_COMPILE,
            "MPLBACKEND": "Agg",
            TRACEBACK: "1",  # an error that nobody foresaw is seen as one, not as the line that a user gets
        }
        self._said = TemporaryDirectory()
        self._server = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("forking.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()
        self._said.cleanup()

    def run(
        self,
        arguments: Sequence[object],
        directory: Path,
        seconds: float = PATIENCE,
        environment: Mapping[str, str] | None = None,
    ) -> Ran:
        """One command in a directory."""
        out, err = (Path(self._said.name, name) for name in ("out", "err"))
        request = {
            "arguments": [str(argument) for argument in arguments],
            "directory": str(directory),
            "environment": dict(environment or {}),
            "seconds": seconds,
            "out": str(out),
            "err": str(err),
        }
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        answer = json.loads(self._server.stdout.readline())
        read = lambda path: path.read_text(encoding="utf-8", errors="replace")
        return Ran(answer["code"], read(out), read(err), answer["seconds"])
