"""Runs whose files were edited or forged: JSON and safetensors, with the hash of what stands there now."""

import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from reliability.cases import ANY, ODD, REFUSED, WORTHLESS, Case

MU = ("--mu", "mu1=1", "mu2=1")
RESUME, MORE = ("solve", "--resume", "run", "--json"), ("solve", "--resume", "run", "--more-steps", "2", "--json")
ASK: dict[str, tuple[str, ...]] = {
    "predict": ("predict", "run", *MU, "--points", "points.csv", "--json"),
    "trust": ("trust", "run", *MU, "--json"),
    "export": ("export", "run", "--out", "out", "--json"),
    "invert": ("invert", "run", "data.csv", "--json"),
    "tune": ("tune", "run", *MU, "--seconds", "0.5", "--out", "out", "--json"),
}
BROKEN: dict[str, bytes] = {
    "empty": b"",
    "a list": b"[]",
    "null": b"null",
    "a number": b"7",
    "text": b'"text"',
    "not JSON": b"{not json}",
    "a single quote": b"'",
    "nested deeply": b"[" * 100_000,
    "objects nested deeply": b'{"a":' * 100_000,
    "of 5000 digits": b"1" * 5000,
    "random bytes": bytes(range(256)),
    "UTF-16": '{"format": 1}'.encode("utf-16"),
    "an empty object": b"{}",
    "NaN": b"NaN",
}
VALUES: tuple[Any, ...] = (None, True, False, -1, 0, 10**12, 10**400, 1e308, 0.5, "", "text", "é", [], {}, [[]], [None])


def rehash(directory: Path) -> None:
    """Make the manifest say what stands in the directory now."""
    manifest = json.loads((directory / "manifest.json").read_bytes())
    for name in manifest["files"]:
        content = (directory / name).read_bytes()
        manifest["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (directory / "manifest.json").write_text(json.dumps(manifest))


def broken(path: str, content: bytes) -> Callable[[Path], None]:
    def prepare(place: Path) -> None:
        file = newest(place, path)
        file.write_bytes(content)
        if file.name != "manifest.json" and (file.parent / "manifest.json").exists():
            rehash(file.parent)

    return prepare


def newest(place: Path, path: str) -> Path:
    """The file of a run; STEP stands for its newest checkpoint."""
    steps = sorted(entry.name for entry in (place / "run" / "checkpoints").glob("step-*"))
    return place / "run" / path.replace("STEP", steps[-1] if steps else "STEP")


def edited(path: str, seed: int) -> Callable[[Path], None]:
    """One value somewhere in a file of JSON replaced, removed or renamed."""

    def prepare(place: Path) -> None:
        random, file = np.random.default_rng(seed), newest(place, path)
        content = json.loads(file.read_bytes().splitlines()[0] if path.endswith("l") else file.read_bytes())
        at = content
        while True:
            key = list(at)[random.integers(len(at))] if isinstance(at, dict) else int(random.integers(len(at)))
            if not (isinstance(at[key], dict | list) and at[key]) or random.random() < 0.3:
                break
            at = at[key]
        if random.random() < 0.8:
            at[key] = VALUES[random.integers(len(VALUES))]
        else:
            at.pop(key)
        broken(path, json.dumps(content).encode())(place)

    return prepare


def tensors(header: Any, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def _parts(content: bytes) -> tuple[dict[str, Any], bytes]:
    length = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def _with_nan(content: bytes) -> bytes:
    header, data = _parts(content)
    floats = [
        entry["data_offsets"] for name, entry in header.items() if entry.get("dtype") == "F32" and "model" in name
    ]
    values = bytearray(data)
    for low, high in floats:
        values[low:high] = np.full((high - low) // 4, np.nan, np.float32).tobytes()
    return tensors(header, bytes(values))


def _with_entries(change: Callable[[dict[str, Any], str], object]) -> Callable[[bytes], bytes]:
    def forge(content: bytes) -> bytes:
        header, data = _parts(content)
        change(header, next(name for name in header if "model" in name))
        return tensors(header, data)

    return forge


FORGERIES: dict[str, tuple[Callable[[bytes], bytes], frozenset[int]]] = {
    "empty": (lambda content: b"", REFUSED),
    "truncated": (lambda content: content[:-8], REFUSED),
    "cut in its header": (lambda content: content[:60], REFUSED),
    "a header of 2^63 bytes": (lambda content: struct.pack("<Q", 2**63) + content[8:], REFUSED),
    "a header that is no JSON": (lambda content: tensors(b"{not json}", b""), REFUSED),
    "a header nested deeply": (lambda content: tensors(b"[" * 100_000, b""), REFUSED),
    "zeros": (lambda content: bytes(len(content)), REFUSED),
    "another dtype": (_with_entries(lambda header, name: header[name].update(dtype="I32")), REFUSED),
    "an unknown dtype": (_with_entries(lambda header, name: header[name].update(dtype="Q7")), REFUSED),
    "an array of brain floats": (_with_entries(lambda header, name: header[name].update(dtype="BF16")), REFUSED),
    "another shape": (_with_entries(lambda header, name: header[name].update(shape=[1, 2, 3])), REFUSED),
    "a huge shape": (_with_entries(lambda header, name: header[name].update(shape=[10**12, 10**12])), REFUSED),
    "a missing array": (_with_entries(lambda header, name: header.pop(name)), REFUSED),
    "a renamed array": (_with_entries(lambda header, name: header.update(other=header.pop(name))), REFUSED),
    "overlapping arrays": (_with_entries(lambda header, name: header[name].update(data_offsets=[0, 4])), REFUSED),
    "NaN for weights": (_with_nan, WORTHLESS),
}


def draw(random: np.random.Generator) -> Case:
    """A forged array, a broken or an edited file of JSON, and a command that reads it."""
    return (_forged, _broken, _edited)[random.choice(3, p=(0.3, 0.35, 0.35))](random)


def _reader(random: np.random.Generator) -> tuple[str, ...]:
    return ASK[random.choice(list(ASK), p=(0.4, 0.2, 0.15, 0.15, 0.1))]


def _forged(random: np.random.Generator) -> Case:
    note = random.choice(list(FORGERIES))
    forge, codes = FORGERIES[note]
    of_model = random.random() < 0.75
    path = "model/model.safetensors" if of_model else "checkpoints/STEP/state.safetensors"
    # Of the checkpoints an older one may be whole, from which the run goes on.
    call, codes = (_reader(random), codes) if of_model else (MORE, ANY)
    prepare = lambda place: broken(path, forge(newest(place, path).read_bytes()))(place)
    return Case("safetensors", f"{path}: {note}", call, codes, prepare)


FILES: dict[str, tuple[tuple[str, ...] | None, frozenset[int]]] = {
    "model/model.json": (None, REFUSED),
    "model/manifest.json": (None, REFUSED),
    "checkpoints/STEP/record.json": (MORE, ODD),
    "checkpoints/STEP/manifest.json": (MORE, ODD),
    "config.json": (MORE, REFUSED),
    ".prism.json": (RESUME, REFUSED),
    "report.json": (RESUME, ODD),
    "metrics.jsonl": (MORE, ODD),
    "trust.json": (ASK["trust"], ODD),
}
"""Who reads a file (None: whatever asks the solution), and how it may end where the file is broken."""


def _broken(random: np.random.Generator) -> Case:
    path, note = random.choice(list(FILES)), random.choice(list(BROKEN))
    reader, codes = FILES[path]
    return Case("run", f"{path}: {note}", reader or _reader(random), codes, broken(path, BROKEN[note]))


def _edited(random: np.random.Generator) -> Case:
    editable = [path for path in FILES if path not in ("trust.json", "model/manifest.json")]
    path, seed = random.choice(editable), int(random.integers(2**31))
    reader, _ = FILES[path]
    # A change may be one that a reader cannot know or need not mind: a name in a report, more seconds.
    return Case("run", f"{path}: edit {seed}", reader or _reader(random), ODD, edited(path, seed))
