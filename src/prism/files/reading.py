"""Reading what may be anything: the bytes of a file, and JSON against a schema.

What is wrong is told as an `Unreadable` that does not know the file's name; `blaming` adds it:

    with blaming(path, InputError):
        options = parse_json(read_bytes(path), Options)

Tables of numbers are in `prism.files.tables`, arrays of a stored state in `prism.files.arrays`.
"""

import contextlib
import json
import math
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from prism.errors import PrismError
from prism.numerics.memory import available_bytes
from prism.numerics.texts import shortened

Schema = TypeVar("Schema")

KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
CHUNK = 2**20
LARGEST_JSON = 2**28
"""Bytes of a JSON file; its objects take many times as much memory."""
ALWAYS_READ = 2**26
"""Bytes that are read however little memory is said to be free: what is said leaves out what can be reclaimed."""
LONGEST_INTEGER = 19
"""Digits of a 64-bit integer."""
MOST_SHOWN = 120
"""Characters of a reason, which may quote what is in the file."""


class Unreadable(PrismError):
    """What is wrong with a file, as the rest of a sentence that begins with its name: "is a directory"."""


@contextlib.contextmanager
def blaming(path: Path | str, blame: type[PrismError]) -> Iterator[None]:
    """What cannot be read as an error that names the file."""
    try:
        yield
    except Unreadable as error:
        raise blame(f"{path} {error}") from error


def read_bytes(path: Path | str, most: int | None = None) -> bytes:
    """What is in a regular file or a pipe, at most so many bytes (as many as memory is free).

    A pipe is read to its end if somebody writes to it; nothing waits for a writer. Devices, which may have no end, are
    refused.
    """
    limit = max(ALWAYS_READ, available_bytes()) if most is None else most
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISFIFO(found.st_mode):
            raise Unreadable(f"is {KINDS.get(stat.S_IFMT(found.st_mode), 'something else')}, not a file")
        if found.st_size > limit:
            raise _too_large(limit)
        content = _read(path, found.st_size, limit)
    except FileNotFoundError:
        raise Unreadable("is missing") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise Unreadable(f"cannot be read ({getattr(error, 'strerror', None) or error})") from error
    except MemoryError:
        raise _too_large(limit) from None
    if not content and stat.S_ISFIFO(found.st_mode):
        raise Unreadable("is a FIFO that nobody writes to")
    return content


def _read(path: Path | str, expected: int, limit: int) -> bytes:
    """In one piece where the file is as long as expected. A FIFO that is opened without waiting shows at once whether
    it has a writer; from then on reads may wait."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        os.set_blocking(descriptor, True)
        parts, size = [file.read(expected + 1)], 0
        while parts[-1]:
            size += len(parts[-1])
            if size > limit:
                raise _too_large(limit)
            parts.append(file.read(CHUNK))
    return b"".join(parts[:-1])


def _too_large(limit: int) -> Unreadable:
    return Unreadable(f"is larger than the {limit / 2**20:,.0f} MiB that may be read")


def as_text(content: bytes) -> str:
    """UTF-8, with or without the mark that Excel begins its files with."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("is text in UTF-16; save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not text in UTF-8 (byte {error.start})") from None
    if "\0" in text:
        raise Unreadable(f"is not text: it holds a null byte (character {text.index(chr(0))})")
    return text


def read_json(path: Path, schema: type[Schema]) -> Schema:
    """A JSON file against its schema."""
    return parse_json(read_bytes(path, LARGEST_JSON), schema)


def parse_json(content: bytes, schema: type[Schema]) -> Schema:
    """JSON against its schema; repeated names, numbers that are not finite or longer than 64 bits are refused."""
    try:
        found = json.loads(
            as_text(content),
            object_pairs_hook=_without_repetition,
            parse_constant=_finite,
            parse_float=_finite,
            parse_int=_integer,
        )
    except RecursionError:
        raise Unreadable("is malformed (nested too deeply)") from None
    except ValueError as error:
        raise Unreadable(f"is malformed ({quoted(error)})") from error
    return converted(found, schema)


def converted(content: object, schema: type[Schema]) -> Schema:
    """What JSON holds as an object of the schema, every entry of its very type: true is no number."""
    try:
        return msgspec.convert(content, schema, strict=True)
    except (msgspec.ValidationError, RecursionError, OverflowError) as error:
        reason = re.sub(r" - at `(key in )?\$\.?(.*)`$", r" in \2", str(error)).removesuffix(" in ")
        raise Unreadable(f"is malformed ({quoted(reason)})") from error


def quoted(reason: object) -> str:
    """One line of a reason that may quote the file."""
    return shortened(reason, MOST_SHOWN)


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a damaged name could equal its neighbour's and hide it."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name is repeated")
    return dict(pairs)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{quoted(text)} is not finite")
    return number


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > LONGEST_INTEGER:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)
