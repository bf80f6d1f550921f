"""Tables of points and data that are not what they should be: CSV, NPY and NPZ."""

import gzip
import io
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from reliability.cases import ANY, ODD, REFUSED, WORTHLESS, Case

GOOD = np.full((4, 3), 0.1)
ROWS = "0.1,0.1,0.1\n0.2,0.1,0.1\n"
Content = bytes | Callable[[Path], object]
"""What is written, or what makes the file."""


def npy(array: np.ndarray, pickled: bool = False) -> bytes:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=pickled)
    return content.getvalue()


def npy_header(text: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    """An NPY file with a header of one's own."""
    header = text.encode() + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(header) % 65536) + header + data


def declared(shape: str, data: bytes = b"\0" * 96, kind: str = "'<f8'") -> bytes:
    return npy_header(f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}", data)


def npz(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return content.getvalue()


def encrypted(archive: bytes) -> bytes:
    """The archive with every member said to be encrypted."""
    content = bytearray(archive)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.find(signature)
        while at >= 0:
            content[at + offset] |= 1
            at = content.find(signature, at + 4)
    return bytes(content)


POINTS = {"points.npy": npy(GOOD)}
VALUES = {**POINTS, "u.npy": npy(np.arange(4.0))}
BAD_DTYPES = {
    "complex": GOOD.astype(complex),
    "Boolean": GOOD > 0,
    "text": GOOD.astype(str),
    "bytes": GOOD.astype("S4"),
    "structured": np.zeros(4, [("x", float), ("y", float)]),
    "dates": np.zeros((4, 3), "datetime64[s]"),
    "durations": np.zeros((4, 3), "timedelta64[s]"),
    "raw": np.zeros((4, 3), "V8"),
    "a number": np.asarray(0.1),
    "of rank 3": GOOD[None],
    "without rows": GOOD[:0],
    "without columns": GOOD[:, :0],
    "NaN": GOOD * np.nan,
    "infinite": np.full((4, 3), np.inf),
}
CSV: dict[str, tuple[Content, frozenset[int]]] = {
    "empty": (b"", REFUSED),
    "only a header": (b"x1,x2,x3\n", REFUSED),
    "only blank lines": (b"\n\n\n", REFUSED),
    "words": (b"once upon a time\n", REFUSED),
    "ragged rows": (b"0.1,0.1,0.1\n0.1,0.1\n", REFUSED),
    "an empty cell": (b"0.1,,0.1\n", REFUSED),
    "NaN": (b"0.1,nan,0.1\n", REFUSED),
    "infinite": (b"0.1,inf,0.1\n", REFUSED),
    "beyond float64": (b"0.1,1e400,0.1\n", REFUSED),
    "beyond float32": (b"0.1,1e39,0.1\n", WORTHLESS),
    "complex": (b"0.1,1+2j,0.1\n", REFUSED),
    "too few columns": (b"0.1,0.1\n", REFUSED),
    "too many columns": (b"1,2,3,4,5,6,7\n", REFUSED),
    "a header that lacks x2": (b"x1,x3,y\n0.1,0.1,0.1\n", REFUSED),
    "a repeated header": (b"x1,x1,x2,x3\n1,2,3,4\n", REFUSED),
    "semicolons": (ROWS.replace(",", ";").encode(), REFUSED),
    "UTF-16": (ROWS.encode("utf-16"), REFUSED),
    "Latin-1": ("x1,x2,x3,é\n".encode("latin-1"), REFUSED),
    "zero bytes": (b"0.1,\0\0,0.1\n", REFUSED),
    "random bytes": (bytes(range(256)) * 8, REFUSED),
    "a million digits": (b"0." + b"1" * 1_000_000 + b",0.1,0.1\n", ODD),
    "a long line": (b"0.1," * 300_000 + b"0.1\n", REFUSED),
    "compressed": (gzip.compress(ROWS.encode()), REFUSED),
    "an archive": (npz(POINTS), REFUSED),
    "a table of NumPy": (npy(GOOD), REFUSED),
    "a missing file": (lambda path: None, REFUSED),
    "a directory": (lambda path: path.mkdir(), REFUSED),
    "a FIFO": (lambda path: os.mkfifo(path), REFUSED),
    "zeros without end": (lambda path: path.symlink_to("/dev/zero"), REFUSED),
    "a link to itself": (lambda path: path.symlink_to(path), REFUSED),
    "with the mark of Excel": ("\ufeffx1,x2,x3,u\r\n0.1,0.1,0.1,1\r\n0.2,0.1,0.1,2\r\n".encode(), ANY),
}
NPY: dict[str, tuple[Content, frozenset[int]]] = {
    "empty": (b"", REFUSED),
    "only the magic": (b"\x93NUMPY", REFUSED),
    "wrong magic": (b"\x93NUMBY" + npy(GOOD)[6:], REFUSED),
    "an unknown version": (npy(GOOD).replace(b"\x01\x00", b"\x09\x00", 1), REFUSED),
    "a truncated header": (npy(GOOD)[:40], REFUSED),
    "truncated data": (npy(GOOD)[:-8], REFUSED),
    "a huge shape": (declared("(1000000000000, 3)"), REFUSED),
    "a shape beyond 64 bits": (declared(f"({10**30}, 3)"), REFUSED),
    "a negative shape": (declared("(-4, 3)"), REFUSED),
    "a shape of fractions": (declared("(4.0, 3)"), REFUSED),
    "no shape": (npy_header("{'descr': '<f8'}"), REFUSED),
    "an unknown dtype": (declared("(4, 3)", kind="'<q99'"), REFUSED),
    "a header that is a program": (npy_header("__import__('os').abort()"), REFUSED),
    "a header nested deeply": (npy_header("(" * 30_000), REFUSED),
    "a header of zeros": (npy_header("\0" * 60), REFUSED),
    "pickled objects": (npy(np.asarray([[{}, 1, 2]], object), pickled=True), REFUSED),
    "an archive": (npz(POINTS), REFUSED),
    "a FIFO": (lambda path: os.mkfifo(path), REFUSED),
    "zeros without end": (lambda path: path.symlink_to("/dev/zero"), REFUSED),
    "a directory": (lambda path: path.mkdir(), REFUSED),
    **{name: (npy(array), REFUSED) for name, array in BAD_DTYPES.items()},
    "half precision": (npy(GOOD.astype(np.float16)), ODD),
    "extended precision": (npy(GOOD.astype(np.longdouble)), ODD),
    "whole numbers": (npy(GOOD.astype(int)), ODD),
    "big-endian": (npy(GOOD.astype(">f8")), ODD),
    "in columns": (npy(np.asfortranarray(GOOD)), ODD),
}
NPZ: dict[str, tuple[Content, frozenset[int]]] = {
    "empty": (b"", REFUSED),
    "no archive": (b"points", REFUSED),
    "without members": (npz({}), REFUSED),
    "without points": (npz({"other.npy": npy(GOOD)}), REFUSED),
    "truncated": (npz(VALUES)[:-30], REFUSED),
    "cut in the middle": (npz(VALUES)[:150], REFUSED),
    "encrypted": (encrypted(npz(VALUES)), REFUSED),
    "nested": (npz({"points.npy": npz(VALUES), "u.npy": npz(VALUES)}), REFUSED),
    "a checksum that differs": (npz(VALUES).replace(b"\x9a\x99\x99", b"\x9a\x99\x98", 1), REFUSED),
    "points that are text": (npz({"points.npy": b"0.1,0.1,0.1", "u.npy": b"1"}), REFUSED),
    "points that are pickled": (npz({**VALUES, "points.npy": npy(np.asarray([{}]), pickled=True)}), REFUSED),
    "a huge shape": (npz({**VALUES, "points.npy": declared("(1000000000000, 3)")}), REFUSED),
    "a huge shape, compressed": (
        npz({**VALUES, "points.npy": declared("(9000000000, 3)", bytes(10**6))}, zipfile.ZIP_DEFLATED),
        REFUSED,
    ),
    "a FIFO": (lambda path: os.mkfifo(path), REFUSED),
    **{
        name: (npz({"points.npy": npy(array), "u.npy": npy(np.ones(4))}), REFUSED) for name, array in BAD_DTYPES.items()
    },
    "compressed": (npz(VALUES, zipfile.ZIP_DEFLATED), ANY),
    "compressed by LZMA": (npz(VALUES, zipfile.ZIP_LZMA), ANY),
}
OF_DATA: dict[str, tuple[Content, frozenset[int]]] = {
    "more values than points": (npz({**POINTS, "u.npy": npy(np.ones(7))}), REFUSED),
    "values of rank 2": (npz({**POINTS, "u.npy": npy(np.ones((4, 1)))}), REFUSED),
    "values that are no numbers": (npz({**POINTS, "u.npy": npy(np.full(4, np.nan))}), REFUSED),
    "values that are pickled": (npz({**POINTS, "u.npy": npy(np.asarray([{}] * 4), pickled=True)}), REFUSED),
    "complex values": (npz({**POINTS, "u.npy": npy(np.ones(4, complex))}), REFUSED),
    "values beyond float32": (npz({**POINTS, "u.npy": npy(np.full(4, 1e300))}), WORTHLESS),
}
FORMS = {".csv": CSV, ".npy": NPY, ".npz": NPZ}
WHOLE = {".npy": npy(GOOD), ".npz": npz(VALUES)}
MU = ("--mu", "mu1=1", "mu2=1")


def draw(random: np.random.Generator) -> Case:
    """A table that predict, invert or reference reads: one of those above, or one of the right form that ends early."""
    suffix = random.choice(list(FORMS))
    reader = random.choice(["predict", "invert", "reference"], p=(0.5, 0.35, 0.15))
    name = f"odd{suffix}"
    call = {
        "predict": ("predict", "run", *MU, "--points", name, "--json"),
        "invert": ("invert", "run", name, "--json"),
        "reference": ("reference", "allen-cahn", "--dim", "3", *MU, "--at", f"x={name}", "--json"),
    }[reader]
    if suffix in WHOLE and random.random() < 0.2:
        length = int(random.integers(len(WHOLE[suffix])))
        note, content, codes = f"{length} bytes of {len(WHOLE[suffix])}", WHOLE[suffix][:length], REFUSED
    else:
        known = {**FORMS[suffix], **(OF_DATA if reader == "invert" and suffix == ".npz" else {})}
        note = random.choice(list(known))
        content, codes = known[note]
    if reader != "predict" and codes not in (REFUSED, WORTHLESS):
        codes = ANY  # whether so few rows determine anything is not what is asked here
    return Case("table", f"{suffix} {note}", call, codes, lambda place: written(place / name, content))


def written(path: Path, content: Content) -> None:
    path.write_bytes(content) if isinstance(content, bytes) else content(path)
