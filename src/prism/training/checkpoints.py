"""Checkpoints: the state of a training run, kept so that it can go on after any interruption.

Each is a stored directory `step-000000012345` with the arrays of the state, a record in JSON and a manifest
that tells damage. The newest one that is whole is the one a run resumes from.
"""

import contextlib
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from prism.errors import CorruptedFile, InputError
from prism.files import storage
from prism.files.arrays import pack_arrays, unpack_arrays
from prism.files.encoding import json_text
from prism.files.reading import blaming, parse_json

State = TypeVar("State")

STATE_FILE = "state.safetensors"
RECORD_FILE = "record.json"
STEP_NAME = re.compile(r"step-(\d{12})")


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of one run in one directory, of which the `keep` newest stay."""

    directory: Path
    keep: int = 3

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise InputError(f"keep = {self.keep} would keep no checkpoint: use 1 or more")

    def save(self, step: int, state: Any, record: dict[str, object]) -> None:
        """Store the arrays of a state and its record, then remove the checkpoints that are too old.

        Only checkpoints of earlier steps are ever removed, and the one just written is whole, so a whole one
        exists at every moment.
        """
        if not 0 <= step < 10**12:
            raise InputError(f"step = {step} cannot name a checkpoint: use 0 to 999999999999")
        try:
            encoded_record = json_text(record, indent=2).encode() + b"\n"
        except (TypeError, ValueError) as error:
            raise InputError(f"the record cannot be written as JSON ({error}): use plain values") from error
        path = self.directory / f"step-{step:012d}"
        storage.remove_incomplete(self.directory)
        _remove_remains(path)
        storage.write_directory(path, {STATE_FILE: pack_arrays(state), RECORD_FILE: encoded_record})
        earlier = [path for path in self._newest_first() if _step(path) < step]
        for path in earlier[self.keep - 1 :]:
            storage.remove_directory(path)

    def newest(self, template: State, before: int | None = None) -> tuple[State, dict[str, Any]] | None:
        """The state and record of the newest whole checkpoint (of a step before `before`), or None without one.

        A damaged checkpoint is passed over with a warning. One that is whole but belongs to another template
        (a network of another width, say) raises InputError: resuming from an older one would hide it.
        """
        paths = [path for path in self._newest_first() if before is None or _step(path) < before]
        for path in paths:
            try:
                return _load(path, template)
            except CorruptedFile as error:
                if path == paths[-1]:
                    raise CorruptedFile(
                        f"no checkpoint in {self.directory} is whole; the last one tried: {error}"
                    ) from error
                warnings.warn(f"checkpoint {path} is damaged ({error}); using the previous one", stacklevel=2)
        return None

    def newest_record(self) -> tuple[int, dict[str, Any]] | None:
        """Step and record of the newest checkpoint whose record can be read, without its state; None without one."""
        for path in self._newest_first():
            with contextlib.suppress(CorruptedFile):
                return _step(path), _record(path, storage.read_stored(path, RECORD_FILE))
        return None

    def discard_after(self, step: int) -> None:
        """Remove the checkpoints of later steps: a run that goes on from this one must not be resumed from those."""
        for path in self._newest_first():
            if _step(path) > step:
                storage.remove_directory(path)

    def _newest_first(self) -> list[Path]:
        paths = [path for path in storage.list_directories(self.directory) if STEP_NAME.fullmatch(path.name)]
        return sorted(paths, key=_step, reverse=True)


def _step(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def _remove_remains(path: Path) -> None:
    """A checkpoint that has lost its manifest, and so can be read by nobody, makes room for a new one of its step."""
    names = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    if names and names <= {STATE_FILE, RECORD_FILE}:
        storage.remove_directory(path)


def _record(path: Path, content: bytes) -> dict[str, Any]:
    with blaming(path / RECORD_FILE, CorruptedFile):
        return parse_json(content, dict)


def _load(path: Path, template: State) -> tuple[State, dict[str, Any]]:
    files = storage.read_directory(path)
    for name in (STATE_FILE, RECORD_FILE):
        if name not in files:
            raise CorruptedFile(f"{path / storage.MANIFEST} does not list {name}")
    record = _record(path, files[RECORD_FILE])
    try:
        return unpack_arrays(template, files[STATE_FILE]), record
    except InputError as error:
        raise InputError(
            f"checkpoint {path} belongs to another model, optimiser or version ({error}): "
            "resume with the settings and the version it was written with, or start a new run elsewhere"
        ) from error
