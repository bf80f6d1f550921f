"""Families of the user's own, named by the file that defines them:  path/to/my.py:Heat.

Only a file that is typed on the command line is ever run. A run's own files name it too, with its hash, but nothing
is imported for that.
"""

import dataclasses
import functools
import hashlib
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from prism.errors import InputError
from prism.files.reading import Unreadable, as_text, read_bytes
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace
from prism.problem.potential import Potential

MARK = ".py:"
EXAMPLE = "such as path/to/my.py:Heat"


def is_own(text: str) -> bool:
    """Whether a family is named by a file."""
    return MARK in text or text.endswith(".py")


@dataclass(frozen=True)
class OwnFamily:
    """A name in a file: a class of families, a function of the dimension that makes one, or a family."""

    text: str
    sha256: str
    found: Any

    @property
    def name(self) -> str:
        """The name without the file's."""
        return self.text.rpartition(":")[2]

    @property
    def dimension(self) -> int | None:
        """That of a family that is built already; None where `--dim` says it."""
        if isinstance(self.found, Potential):
            return self.found.dimension
        return self.found.domain.dimension if isinstance(self.found, Family) else None

    def bounded(self, change: Callable[[ParameterSpace], ParameterSpace], dimension: int) -> Family:
        """The family with another space of parameters."""
        space = getattr(self.found, "parameters", None)
        if not isinstance(self.found, type) or not isinstance(space, ParameterSpace):
            raise InputError(f"--bounds and --space need a class that declares its parameters; change {self.text}")
        wanted = change(space)
        names = {"parameters": wanted, "__module__": self.found.__module__, "__doc__": self.found.__doc__}
        kind = type(self.found)(self.found.__name__, (self.found,), names)
        family = dataclasses.replace(self, found=kind).build(dimension)
        if family.parameters != wanted:
            raise InputError(f"{self.text} sets its parameters itself; change its bounds there")
        return family

    def build(self, dimension: int) -> Family:
        """The family in so many dimensions."""
        if isinstance(self.found, Family):
            if dimension != self.found.domain.dimension:
                raise InputError(
                    f"{self.text} has {self.found.domain.dimension} dimensions; leave --dim {dimension} out"
                )
            return self.found
        family = self.made(dimension, lambda kind: kind.in_dimensions(dimension))
        if not isinstance(family, Family):
            raise InputError(
                f"{self.text} makes {type(family).__name__}, which is no prism.Family; return one, such as "
                "Heat(prism.Ball(dimension))"
            )
        return family

    def made(self, dimension: int, build: Callable[[Any], Any]) -> Any:
        """What the class, built so, or the function of the dimension makes."""
        try:
            return build(self.found) if isinstance(self.found, type) else self.found(dimension)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{self.text} in {dimension} dimensions {_failure(error, self.text)}") from error


def load_own(text: str) -> OwnFamily:
    """What a file defines under a name; the file is run once."""
    file, colon, name = text.rpartition(":")
    path = Path(file if colon else text)
    if not colon or not name.isidentifier():
        raise InputError(f"{text!r} names a file without the family in it; write FILE.py:NAME, {EXAMPLE}")
    try:
        content = read_bytes(path)
        as_text(content)
    except Unreadable as error:
        raise InputError(f"cannot read a family: {path} {error}; give FILE.py:NAME, {EXAMPLE}") from error
    module = _executed(path.resolve(), content)
    families = [key for key, value in vars(module).items() if _makes_families(value) and not key.startswith("_")]
    if not hasattr(module, name):
        raise InputError(f"{path} defines no {name}; it has {', '.join(families) or 'no family'}")
    found = getattr(module, name)
    if not _makes_families(found) and not (callable(found) and not isinstance(found, type)):
        raise InputError(
            f"{text} is {type(found).__name__}; give a class that derives from prism.Family or prism.Potential, "
            "a family, or a function of the dimension that makes one"
        )
    return OwnFamily(text, hashlib.sha256(content).hexdigest(), found)


def _makes_families(value: object) -> bool:
    """Whether it is a family, or a class of them that is the user's own."""
    own = (
        isinstance(value, type) and issubclass(value, Family | Potential) and not value.__module__.startswith("prism.")
    )
    return isinstance(value, Family | Potential) or own


@functools.cache
def _executed(path: Path, content: bytes) -> ModuleType:
    """The module of a file, run once as it was read, with its neighbours importable from then on."""
    module = ModuleType(f"prism_own_{path.stem}_{hashlib.sha256(content).hexdigest()[:8]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    try:
        exec(compile(content, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise InputError(f"{path} {_failure(error, str(path))}") from error
    return module


def _failure(error: BaseException, file: str) -> str:
    """What a user's code raised, and in which line of the file."""
    path = file.rpartition(":")[0] or file
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).name == Path(path).name
    ]
    line = frames[-1].lineno if frames else getattr(error, "lineno", None)
    where = "" if line is None else f" in line {line}"
    reason = (str(error).splitlines() or [""])[0]
    return f"raised {type(error).__name__}{where}: {reason}"
