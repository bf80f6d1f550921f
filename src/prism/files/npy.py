"""Arrays of numbers as NumPy stores them, .npy and .npz: every claim of a header is checked before it is believed."""

import ast
import math
import zipfile
from collections.abc import Collection

import numpy as np

from prism.files.compression import archive_of, member
from prism.files.reading import Unreadable, quoted

MAGIC = b"\x93NUMPY"
LENGTHS = {1: 2, 2: 4, 3: 4}
"""Bytes of the header's length, by the version of the format."""
LONGEST_HEADER = 10_000
SUFFIX = ".npy"
REFUSED = {
    "O": "objects, which are never unpickled",
    "c": "complex numbers",
    "b": "truth values",
    "V": "records of several fields",
    "M": "dates",
    "m": "spans of time",
    "S": "strings",
    "U": "strings",
}
"""What an array may be of besides real numbers, by NumPy's letter."""


def parse_npy(content: bytes) -> np.ndarray:
    """The array of a .npy file, real numbers in this machine's order of bytes."""
    if not content:
        raise Unreadable("is empty")
    if not content.startswith(MAGIC):
        raise Unreadable("is no .npy (it does not begin with NumPy's mark)")
    length_bytes = LENGTHS.get(content[6]) if len(content) > 6 else None
    if length_bytes is None:
        raise Unreadable("is a .npy of a version that is not read")
    start = 8 + length_bytes
    length = int.from_bytes(content[8:start], "little")
    if length > LONGEST_HEADER:
        raise Unreadable(f"has a header of {length} bytes; no table needs one of more than {LONGEST_HEADER}")
    if len(content) < start + length:
        raise Unreadable("is cut off in its header")
    dtype, shape, fortran = _header(content[start : start + length])
    expected, there = math.prod(shape) * dtype.itemsize, len(content) - start - length
    if expected != there:
        raise Unreadable(f"declares an array of shape {quoted(shape)}, {expected} bytes, and holds {there}")
    array = np.frombuffer(content, dtype, offset=start + length).reshape(shape, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _header(text: bytes) -> tuple[np.dtype, tuple[int, ...], bool]:
    """Type, shape and order of an array."""
    try:
        header = ast.literal_eval(text.decode("latin1").strip())
        described, shape, fortran = (header[name] for name in ("descr", "shape", "fortran_order"))
        dtype = np.dtype(described if isinstance(described, str) else "V1")
    except (ValueError, SyntaxError, TypeError, KeyError, IndexError, RecursionError, MemoryError) as error:
        raise Unreadable(f"has a malformed header ({quoted(error)})") from error
    if dtype.kind not in "fiu" or dtype.itemsize > 8:
        raise Unreadable(
            f"holds {REFUSED.get(dtype.kind, f'numbers of type {dtype}')}; give real numbers of at most 64 bits"
        )
    sizes = isinstance(shape, tuple) and all(type(size) is int and 0 <= size < 2**63 for size in shape)
    # NumPy multiplies the sides that are not zero, also in an array without entries.
    sizes = sizes and math.prod(max(size, 1) for size in shape) * dtype.itemsize < 2**63
    if not sizes or len(shape) > 32 or type(fortran) is not bool:
        raise Unreadable(f"has a malformed header (shape {quoted(shape)})")
    return dtype, shape, fortran


def parse_npz(content: bytes, wanted: Collection[str]) -> dict[str, np.ndarray]:
    """Those of the wanted arrays that an .npz file holds; nothing else of it is read."""
    if not content:
        raise Unreadable("is empty")
    with archive_of(content) as archive:
        names = [name for name in wanted if f"{name}{SUFFIX}" in archive.namelist()]
        return {name: _array_of(archive, name) for name in names}


def _array_of(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    try:
        return parse_npy(member(archive, f"{name}{SUFFIX}"))
    except Unreadable as error:
        raise Unreadable(f"holds an array {name} that {error}") from error
