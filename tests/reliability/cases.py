"""One call of the command that is malformed or odd, and what is wrong with how the command took it."""

import hashlib
import json
import os
import shlex
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from reliability.commands import PATIENCE, Commands, Ran

REFUSED = frozenset({2})
ODD = frozenset({0, 2})
"""A value that is unusual, and may be taken."""
WORTHLESS = frozenset({1, 2})
"""What comes out, if anything does, is no result."""
ANY = frozenset({0, 1, 2})
PREFIXES = {1: "prism: failed: ", 2: "prism: error: "}
OUTPUTS = ("out", "runs", "run-export")
"""Where a command may write, in the directory that it is called in."""


class Fault(StrEnum):
    TRACEBACK = "tracebacks"
    EXIT_CODE = "wrong exit codes"
    LINES = "errors of other than one line"
    HANG = "hangs"
    SIGNAL = "deaths by a signal"
    JSON = "invalid JSON"
    CHANGED = "foreign files changed"
    LEFT = "files left by a refused command"


@dataclass(frozen=True)
class Case:
    """A call in a directory that holds a run, points, data and files of others, once `prepare` has spoilt something."""

    kind: str
    note: str
    arguments: tuple[str, ...]
    codes: frozenset[int] = REFUSED
    prepare: Callable[[Path], object] = lambda place: None

    @property
    def command(self) -> str:
        known = self.arguments and not self.arguments[0].startswith("-")
        return self.arguments[0] if known else "none"

    def may_write(self, name: str) -> bool:
        """Whether a file is the command's to write: its output, a run that it resumes, the calibration of a run."""
        resumed = "--resume" in self.arguments and name.startswith("run/")
        return name.split("/")[0] in OUTPUTS or resumed or (self.command == "trust" and name == "run/trust.json")


@dataclass(frozen=True)
class Tried:
    """A case, what became of it, and the faults that were found."""

    case: Case
    ran: Ran
    faults: tuple[Fault, ...]
    place: Path

    def describe(self) -> str:
        """For a reader who wants to see it happen again."""
        last = (self.ran.err.splitlines() or [""])[-1]
        call = f"cd {self.place} && prism {shlex.join(self.case.arguments)}"
        want = "/".join(str(code) for code in sorted(self.case.codes))
        title = f"{self.case.command}, {self.case.kind}: {self.case.note}"
        return f"{title}\n  {', '.join(self.faults)}; exit {self.ran.code} (want {want})\n  {call}\n  {last[:300]}"


def attempt(case: Case, commands: Commands, base: Path, place: Path, seconds: float = PATIENCE) -> Tried:
    """Run a case in a copy of the base; the copy is kept only where a fault was found."""
    shutil.copytree(base, place, symlinks=True)
    case.prepare(place)
    before = contents(place)
    ran = commands.run(case.arguments, place, seconds)
    faults = tuple(faults_of(case, ran, before, contents(place)))
    if not faults:
        shutil.rmtree(place)
    return Tried(case, ran, faults, place)


def contents(place: Path) -> dict[str, str]:
    """What each entry of a directory is, by its path in it: of files the hash, of others their kind."""
    found = {}
    for parent, directories, names in os.walk(place):
        for name in (*directories, *names):
            path = Path(parent, name)
            mode = path.lstat().st_mode
            kind = os.readlink(path) if stat.S_ISLNK(mode) else str(stat.S_IFMT(mode))
            regular = stat.S_ISREG(mode)
            found[str(path.relative_to(place))] = hashlib.sha256(path.read_bytes()).hexdigest() if regular else kind
    return found


def faults_of(case: Case, ran: Ran, before: dict[str, str], after: dict[str, str]) -> Iterator[Fault]:
    if ran.code is None:
        yield Fault.HANG
    elif ran.code < 0:
        yield Fault.SIGNAL
    elif ran.code not in case.codes:
        yield Fault.EXIT_CODE
    if "Traceback (most recent call last)" in ran.err + ran.out:
        yield Fault.TRACEBACK
    elif ran.code is not None and ran.code >= 0 and not _is_said_in_one_line(ran):
        yield Fault.LINES
    if ran.code == 0 and "--json" in case.arguments and not _ends_with_json(ran.out):
        yield Fault.JSON
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    own = [name for name in changed if case.may_write(name)]
    if len(own) < len(changed):
        yield Fault.CHANGED
    if ran.code == 2 and own:
        yield Fault.LEFT


def _is_said_in_one_line(ran: Ran) -> bool:
    """A failure is the last line of standard error and no other; a success says none."""
    lines = ran.err.splitlines()
    said = [line for line in lines if line.startswith(tuple(PREFIXES.values()))]
    expected = PREFIXES.get(ran.code or 0)
    if expected is None:
        return not said
    return said == lines[-1:] and said[0].startswith(expected) and len(said[0]) > len(expected)


def _ends_with_json(out: str) -> bool:
    def refuse(constant: str):
        raise ValueError(constant)

    try:
        json.loads((out.splitlines() or [""])[-1], parse_constant=refuse)
    except ValueError:
        return False
    return True


def summary(tried: Iterable[Tried]) -> dict[str, object]:
    """The figures of many cases."""
    tried = list(tried)
    found = Counter(fault for one in tried for fault in one.faults)
    return {
        "tried": len(tried),
        "held": sum(not one.faults for one in tried),
        "faults": {str(fault): found[fault] for fault in Fault},
        "by command": dict(sorted(Counter(one.case.command for one in tried).items())),
        "by kind": dict(sorted(Counter(one.case.kind for one in tried).items())),
        "seconds per case": sum(one.ran.seconds for one in tried) / max(1, len(tried)),
        "failures": [one.describe() for one in tried if one.faults],
    }
