"""What a command says: progress and remarks on standard error, its answer on standard output."""

import contextlib
import sys
from collections.abc import Iterable, Mapping

from prism.files.encoding import json_text
from prism.numerics.texts import shortened

LONGEST = 1000
"""Characters of a complaint: what it quotes may be of any length."""


def say(text: str) -> None:
    """A remark, in the order in which it happens."""
    print(text, file=sys.stderr, flush=True)


def complain(kind: str, text: str) -> None:
    """Why there is no answer, in one line on standard error: "error" before exit code 2, "failed" before 1."""
    print(f"prism: {kind}: {shortened(text, LONGEST)}", file=sys.stderr, flush=True)


def answer(report: Mapping[str, object], lines: Iterable[str], as_json: bool) -> None:
    """Lines for a reader; with --json one line for a program, and the reader's on standard error. A reader who leaves
    before the end, as `head` does, has what was wanted."""
    with contextlib.suppress(BrokenPipeError):
        for line in lines:
            print(line, file=sys.stderr if as_json else sys.stdout)
        if as_json:
            print(json_text(report))
        sys.stdout.flush()
