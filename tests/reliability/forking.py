"""The command `prism`, a process of its own per call, without importing everything anew.

This program imports all commands once, starts no backend of JAX, and forks a child for each line of JSON that it reads
from standard input. The child is the command as a user starts it: its own directory, environment, standard output and
standard error, its own exit code. `reliability.commands` is the other end.
"""

import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import time
import traceback
import warnings
from typing import Any

MEMORY = 12 * 2**30
"""Bytes of address space of a child: what reads without end fails before the machine does."""
PAUSE = 0.005


def serve() -> None:
    """Answer each request with the child's exit code (negative: a signal), its seconds, and whether it hung."""
    import prism.cli

    for module in pkgutil.iter_modules(prism.cli.__path__):
        if not module.name.startswith("__"):
            importlib.import_module(f"prism.cli.{module.name}")
    importlib.import_module("matplotlib.pyplot")
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    begun = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # JAX warns of forks, for there may be threads; without a backend there are none
        child = os.fork()
    if child == 0:
        become(request)
    code = awaited(child, begun + request["seconds"])
    return {"code": code, "hung": code is None, "seconds": time.monotonic() - begun}


def awaited(child: int, deadline: float) -> int | None:
    """The exit code; None where the deadline passed, and the child was killed."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(PAUSE)


def become(request: dict[str, Any]) -> None:
    """Run the command in this child, and end it."""
    os.setsid()
    os.chdir(request["directory"])
    os.environ.update(request["environment"])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, name in ((1, request["out"]), (2, request["err"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    code = ended(request["arguments"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def ended(arguments: list[str]) -> int:
    """The exit code that the interpreter would give."""
    from prism.cli import main

    sys.argv = ["prism", *arguments]
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
        return 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        return 1
    return code or 0


if __name__ == "__main__":
    serve()
