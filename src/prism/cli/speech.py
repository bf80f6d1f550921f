"""What a command says: progress and remarks on standard error, its answer on standard output."""

import json
import sys
from collections.abc import Iterable, Mapping


def say(text: str) -> None:
    """A remark, in the order in which it happens."""
    print(text, file=sys.stderr, flush=True)


def answer(report: Mapping[str, object], lines: Iterable[str], as_json: bool) -> None:
    """Lines for a reader; with --json one line for a program, and the reader's on standard error."""
    for line in lines:
        print(line, file=sys.stderr if as_json else sys.stdout)
    if as_json:
        print(json.dumps(report))
