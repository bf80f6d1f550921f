"""Tables of any kind: numbers are read as they were saved, everything else is refused in one line."""

import bz2
import contextlib
import gzip
import io
import lzma
import struct
import zipfile
from pathlib import Path

import hypothesis
import hypothesis.strategies as strategies
import numpy as np
import pytest

from prism.files import compression
from prism.files.npy import parse_npy, parse_npz
from prism.files.reading import Unreadable
from prism.files.tables import Table, parse_csv, read_table

NUMBERS = np.asarray([[0.5, -1.0, 2.0], [3.0, 4.25, 1e30]])
COMPRESSIONS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def npy(array: np.ndarray, pickled: bool = False) -> bytes:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=pickled)
    return content.getvalue()


def npz(save=np.savez, **arrays: np.ndarray) -> bytes:
    content = io.BytesIO()
    save(content, **arrays)
    return content.getvalue()


def archive(members: dict[str, bytes], **options) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", **options) as file:
        for name, member in members.items():
            file.writestr(name, member)
    return content.getvalue()


def header(text: str, data: bytes = b"", version: int = 1) -> bytes:
    """A .npy file with any header."""
    encoded = text.encode("latin1")
    length = struct.pack("<H" if version == 1 else "<I", len(encoded))
    return b"\x93NUMPY" + bytes([version, 0]) + length + encoded + data


def refused(action, *words: str) -> None:
    with pytest.raises(Unreadable) as caught:
        action()
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300
    for word in words:
        assert word in str(caught.value)


# Every form


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", ">f4", "f2", "<i4", ">i8", "u1", "u8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_of_every_type_and_order_are_read(dtype, order):
    array = np.asarray([[1, 2, 3], [4, 5, 6]], dtype, order=order)
    found = parse_npy(npy(array))
    assert np.array_equal(found, array)
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.dtype.isnative


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (2, 3, 4)])
def test_every_shape_is_read(shape):
    assert np.array_equal(parse_npy(npy(np.ones(shape))), np.ones(shape))


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_compressed_files_are_read_as_the_plain_ones(tmp_path, suffix):
    text = "\n".join(",".join(map(str, row)) for row in NUMBERS.tolist()).encode()
    kinds = {"t.csv": text, "t.npy": npy(NUMBERS), "t.NPY": npy(NUMBERS), "t.txt": text}
    for name, content in kinds.items():
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(COMPRESSIONS[suffix](content))
        found = read_table(path, ())
        assert isinstance(found, Table)
        assert np.array_equal(found.rows, NUMBERS)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_the_wanted_arrays_of_an_archive_are_read(save, tmp_path):
    (tmp_path / "t.npz").write_bytes(npz(save, points=NUMBERS, u=NUMBERS[:, 0], other=np.asarray(["text"])))
    found = read_table(tmp_path / "t.npz", ("points", "u", "values"))
    assert isinstance(found, dict)
    assert found.keys() == {"points", "u"}
    assert np.array_equal(found["points"], NUMBERS)


# .npy


ARRAYS = {
    "objects": (npy(np.asarray([{}, None]), pickled=True), "holds objects, which are never unpickled"),
    "complex numbers": (npy(np.ones(3, complex)), "holds complex numbers"),
    "truth values": (npy(np.ones(3, bool)), "holds truth values"),
    "records": (npy(np.zeros(3, [("x", float), ("y", float)])), "holds records of several fields"),
    "dates": (npy(np.zeros(3, "M8[s]")), "holds dates"),
    "spans of time": (npy(np.zeros(3, "m8[s]")), "holds spans of time"),
    "strings": (npy(np.asarray(["a"])), "holds strings"),
    "bytes": (npy(np.asarray([b"a"])), "holds strings"),
    "long floats": (npy(np.ones(2, np.longdouble)), "holds numbers of type"),
    "nothing": (b"", "is empty"),
    "another file": (b"%PDF-1.7", "is no .npy"),
    "the mark alone": (b"\x93NUMPY", "version"),
    "a version of the future": (header("{}", version=9), "version"),
    "no header": (b"\x93NUMPY\x01\x00\xff\xff", "no table needs one of more than 10000"),
    "a huge header": (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(100), "no table needs one of more than 10000"),
    "a header of code": (header("__import__('os').system('true')"), "malformed header"),
    "a header that is a list": (header("[1, 2]"), "malformed header"),
    "a nested header": (header("(" * 5000), "malformed header"),
    "too few numbers": (npy(NUMBERS)[:-1], "declares an array of shape (2, 3), 48 bytes, and holds 47"),
    "too many numbers": (npy(NUMBERS) + b"\0", "and holds 49"),
    "a huge shape": (
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000000)}"),
        "declares an array of shape (1000000000, 1000000000)",
    ),
    "a huge shape of nothing": (
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4611686018427387904)}"),
        "malformed header",
    ),
    "a negative shape": (header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 3)}"), "malformed header"),
    "a shape of truth": (header("{'descr': '<f8', 'fortran_order': False, 'shape': (True,)}", bytes(8)), "shape"),
    "a shape of many digits": (
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 400 + ",)}"),
        "malformed header",
    ),
    "many axes": (header("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1," * 70 + ")}", bytes(8)), "shape"),
    "an unknown type": (header("{'descr': 'nonsense', 'fortran_order': False, 'shape': ()}"), "malformed header"),
    "no type": (header("{'descr': None, 'fortran_order': False, 'shape': ()}", bytes(8)), "records"),
}


@pytest.mark.parametrize(("content", "words"), ARRAYS.values(), ids=ARRAYS)
def test_other_arrays_are_refused_by_name(content, words, tmp_path):
    refused(lambda: parse_npy(content), words)
    (tmp_path / "t.npy").write_bytes(content)
    refused(lambda: read_table(tmp_path / "t.npy", ()), words)
    refused(lambda: parse_npz(archive({"points.npy": content}), ("points",)), "holds an array points that", words)


# .npz


def encrypted() -> bytes:
    """With the flag of encryption set in both of its places."""
    content = bytearray(npz(points=NUMBERS))
    content[6] |= 1
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def of_method(method: int) -> bytes:
    content = bytearray(npz(points=NUMBERS))
    content[8] = content[content.rindex(b"PK\x01\x02") + 10] = method
    return bytes(content)


def flipped() -> bytes:
    content = bytearray(npz(points=NUMBERS))
    content[content.index(NUMBERS.tobytes()) + 3] ^= 1
    return bytes(content)


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(compression, "available_bytes", lambda: 2**20)


ARCHIVES = {
    "nothing": (lambda: b"", "is empty"),
    "an array": (lambda: npy(NUMBERS), "is no .npz"),
    "cut off": (lambda: npz(points=NUMBERS)[:-30], "is no .npz"),
    "encrypted": (encrypted, "is encrypted"),
    "compressed in an unknown way": (lambda: of_method(97), "compressed in a way"),
    "compressed otherwise than it says": (lambda: of_method(8), "is damaged"),
    "a flipped bit": (flipped, "is damaged"),
    "an archive in it": (lambda: archive({"points.npy": npz(points=NUMBERS)}), "is no .npy"),
}


@pytest.mark.parametrize(("content", "words"), ARCHIVES.values(), ids=ARCHIVES)
def test_other_archives_are_refused(content, words):
    refused(lambda: parse_npz(content(), ("points",)), words)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_is_refused():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("points.npy", npy(NUMBERS))
        file.writestr("points.npy", npy(2 * NUMBERS))
    refused(lambda: parse_npz(content.getvalue(), ("points",)), "holds points.npy twice")


def test_what_grows_beyond_memory_is_refused(little_memory, tmp_path):
    bomb = bytes(2**24)
    refused(lambda: parse_npz(archive({"points.npy": bomb}, compression=8), ("points",)), "needs more memory")
    for suffix in (".gz", ".bz2", ".xz"):
        (tmp_path / f"t.csv{suffix}").write_bytes(COMPRESSIONS[suffix](bomb))
        refused(lambda path=tmp_path / f"t.csv{suffix}": read_table(path, ()), "needs more memory")


def test_an_archive_that_declares_too_little_is_bounded(little_memory):
    """The size that a member declares is no bound on what comes out of it."""
    content = bytearray(archive({"points.npy": bytes(2**24)}, compression=8))
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.rindex(mark) + place
        content[at : at + 4] = struct.pack("<I", 100)
    refused(lambda: parse_npz(bytes(content), ("points",)))


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("damage", [lambda whole: b"", lambda whole: whole[:-5], lambda whole: b"plain text"])
def test_damaged_compression_is_refused(tmp_path, suffix, damage):
    (tmp_path / f"t.csv{suffix}").write_bytes(damage(COMPRESSIONS[suffix](b"1,2,3\n")))
    refused(lambda: read_table(tmp_path / f"t.csv{suffix}", ()))


# .csv


TEXTS = {
    "nothing": (b"", "is empty"),
    "empty lines": (b"\n \n\n", "is empty"),
    "a header alone": (b"x1,x2\n", "holds no rows of numbers"),
    "remarks alone": (b"# a\n# b\n", "holds no rows of numbers"),
    "rows of other lengths": (b"1,2,3\n1,2\n", "holds 2 numbers in row 1 (from 0) and 3 in those before"),
    "words": (b"1,2\n3,abc\n", "holds 'abc' in row 1 (from 0), which is no number"),
    "an empty entry": (b"1,2\n3,\n", "holds '' in row 1"),
    "a long word": (b"1,2\n3," + b"x" * 10**6 + b"\n", "..."),
    "semicolons": (b"1;2\n3;4\n", "separated by semicolons; use commas"),
    "semicolons and decimal commas": (b"1,5;2,5\n3,5;4,5\n", "separated by semicolons"),
    "semicolons under a header": (b"x1;x2\n1;2\n", "separated by semicolons"),
    "tabs": (b"1\t2\n3\t4\n", "separated by tabs"),
    "spaces": (b"1 2\n3 4\n", "separated by spaces"),
    "a null byte": (b"1,2\n3,\x00\n", "null byte"),
    "UTF-16": ("1,2\n".encode("utf-16"), "UTF-16"),
    "not text": (b"\x80\x81\x82", "not text"),
    "a picture": (b"\x89PNG\r\n\x1a\n\x00\x00", "not text"),
}


@pytest.mark.parametrize(("content", "words"), TEXTS.values(), ids=TEXTS)
def test_other_texts_are_refused(content, words):
    refused(lambda: parse_csv(content), words)


def test_a_huge_line_is_read():
    assert parse_csv(b",".join([b"1"] * 300_000)).rows.shape == (1, 300_000)


# Anything


READERS = {"npy": parse_npy, "npz": lambda content: parse_npz(content, ("points",)), "csv": parse_csv}
SEEDS = {"npy": npy(NUMBERS), "npz": npz(np.savez_compressed, points=NUMBERS), "csv": b"x1,x2\n1,2\n3.5,-4e5\n"}


@pytest.mark.parametrize("kind", READERS)
@hypothesis.settings(max_examples=150)
@hypothesis.given(strategies.data())
def test_no_damage_escapes(kind, data):
    """Any bytes, or a whole file with some of its bytes changed: numbers, or one line."""
    content = bytearray(SEEDS[kind])
    for _ in range(data.draw(strategies.integers(1, 4))):
        content[data.draw(strategies.integers(0, len(content) - 1))] = data.draw(strategies.integers(0, 255))
    cut = data.draw(strategies.integers(0, len(content)))
    for damaged in (bytes(content), bytes(content[:cut]), data.draw(strategies.binary(max_size=60))):
        with contextlib.suppress(Unreadable):
            READERS[kind](damaged)


def test_a_missing_table_is_missing(tmp_path):
    refused(lambda: read_table(Path(tmp_path / "absent.npz"), ()), "is missing")
