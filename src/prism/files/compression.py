"""Content that was compressed, within the memory there is: .gz, .bz2, .xz, and the members of .npz."""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from prism.files.reading import CHUNK, Unreadable, quoted
from prism.numerics.memory import available_bytes

OPENERS: Mapping[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""By the suffix of a file's name."""
DAMAGED = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
SHARE = 4
"""A fourth of the free memory may be filled: what is decompressed is copied once or twice before it is used."""


def decompressed(content: bytes, suffix: str) -> bytes:
    """What a file with this suffix holds."""
    try:
        with OPENERS[suffix](io.BytesIO(content)) as file:
            return _bounded(file.read)
    except DAMAGED as error:
        raise Unreadable(f"cannot be decompressed ({quoted(error)})") from error


def member(archive: zipfile.ZipFile, name: str) -> bytes:
    """One file of an archive, neither encrypted nor larger than it says."""
    entry = archive.getinfo(name)
    if entry.flag_bits & 1:
        raise Unreadable("is encrypted; save it without a password")
    if entry.file_size > available_bytes() // SHARE:
        raise _too_large()
    try:
        with archive.open(entry) as file:
            return _bounded(file.read)
    except NotImplementedError as error:
        raise Unreadable(f"is compressed in a way that is not read ({quoted(error)})") from error
    except (*DAMAGED, RuntimeError) as error:
        raise Unreadable(f"is damaged ({quoted(error)})") from error


def archive_of(content: bytes) -> zipfile.ZipFile:
    """A zip archive in which no name is repeated."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (*DAMAGED, NotImplementedError) as error:
        raise Unreadable(f"is no .npz ({quoted(error)})") from error
    names = archive.namelist()
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise Unreadable(f"holds {quoted(repeated)} twice")
    return archive


def _bounded(read: Callable[[int], bytes]) -> bytes:
    """To the end of the file, or of what may be filled."""
    parts, room = [], available_bytes() // SHARE
    while part := read(CHUNK):
        parts.append(part)
        room -= len(part)
        if room < 0:
            raise _too_large()
    return b"".join(parts)


def _too_large() -> Unreadable:
    return Unreadable(
        f"needs more memory once decompressed than the {available_bytes() / 2**20:,.0f} MiB that are free"
    )
