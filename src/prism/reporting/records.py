"""The directory of a run: config.json, environment.json, metrics.jsonl, report.json, plots/, checkpoints/, model/,
and the trust.json that `prism trust` adds.

It is known by the mark of `prism.files.marks`, which is written before anything else.
"""

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from prism.errors import InputError, UnusableOutput
from prism.files.encoding import json_text
from prism.files.marks import MARK, Layout
from prism.files.outputs import check_directory
from prism.files.reading import Unreadable, blaming, parse_json, read_bytes, read_json
from prism.files.storage import append_line, make_directory, write_file
from prism.solution.training_record import TrainingRecord

MODEL_FILES = r"model/(manifest\.json|model\.json|model\.safetensors)"
STEP = f"step-{'[0-9]' * 12}"
RUN = Layout(
    "run",
    (
        r"(config|environment|report|trust)\.json",
        r"metrics\.jsonl",
        r"plots/(convergence|error_over_parameters|slice|space_slice|levels|densities)\.png",
        r"checkpoints/step-\d{12}/(manifest\.json|record\.json|state\.safetensors)",
        MODEL_FILES,
    ),
    whole=("model", f"checkpoints/{STEP}"),
)


@dataclass(frozen=True)
class RunDirectory:
    """Where one run writes."""

    path: Path

    @staticmethod
    def new(path: Path, force: bool) -> "RunDirectory":
        """Where a new run may write; an earlier run is refused unless forced, anything else always.

        Nothing is touched before `begin`.
        """
        check_directory(path)
        used = RUN.used(path)
        if used and not RUN.holds(path):
            raise UnusableOutput(f"{path} holds {used[0]} but not the mark of a run ({MARK}), so it is left alone")
        if used and not force:
            resumable = path if (path / "config.json").is_file() else None
            raise UnusableOutput(f"{path} is in use", replaceable=True, resumable=resumable)
        _refuse_foreign_files(path)
        return RunDirectory(path)

    def begin(self, config: Mapping[str, object], resume: bool) -> None:
        """Make and mark the directory, clear it of an earlier run unless that is resumed, write what the run is."""
        make_directory(self.path)
        RUN.mark(self.path) if resume else RUN.claim(self.path)
        self.write_json("config.json", config)
        self.write_json("environment.json", environment())

    @staticmethod
    def existing(path: Path) -> "RunDirectory":
        """The directory of a run to resume."""
        if not (path / "config.json").is_file():
            raise InputError(f"{path} holds no run (no config.json); give the directory that a run was written to")
        if not RUN.holds(path):
            raise InputError(
                f"{path} holds a config.json, but not the mark of a run ({MARK}), and is left alone; "
                "start a new run elsewhere"
            )
        _refuse_foreign_files(path)
        return RunDirectory(path)

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def model(self) -> Path:
        return self.path / "model"

    @property
    def plots(self) -> Path:
        return self.path / "plots"

    def write_json(self, name: str, content: Mapping[str, object]) -> None:
        write_file(self.path / name, (json_text(content, indent=2) + "\n").encode())

    def read_json(self, name: str) -> dict[str, object]:
        """One of its files as an object of JSON, whatever that holds."""
        with blaming(self.path / name, InputError):
            return read_json(self.path / name, dict)

    def append_metric(self, record: TrainingRecord) -> None:
        append_line(self.path / "metrics.jsonl", json_text(record.as_json()))

    def metrics(self) -> list[TrainingRecord]:
        """Every line; a last one that a crash cut off is left out."""
        file = self.path / "metrics.jsonl"
        with blaming(file, InputError):
            lines = read_bytes(file).splitlines() if file.exists() else []
        records = []
        for number, line in enumerate(lines, start=1):
            try:
                records.append(parse_json(line, TrainingRecord))
            except Unreadable as error:
                if number < len(lines):
                    raise InputError(f"{file}: line {number} {error}; remove this line") from error
        return records

    def rewind_metrics(self, step: int) -> None:
        """Drop what was recorded after the checkpoint that a run is resumed from."""
        kept = [record for record in self.metrics() if record.step <= step]
        lines = "".join(json_text(record.as_json()) + "\n" for record in kept)
        write_file(self.path / "metrics.jsonl", lines.encode())


def _refuse_foreign_files(path: Path) -> None:
    """Refuse files of others in the directories that a run will replace as a whole."""
    try:
        RUN.check_whole(path)
    except UnusableOutput as error:
        raise InputError(f"{error.complaint}; move it elsewhere first") from error


def environment() -> dict[str, object]:
    """What the numbers of a run depend on besides its settings."""
    import jax

    import prism

    return {
        "prism": prism.__version__,
        "python": sys.version.split()[0],
        **{name: metadata.version(name) for name in ("jax", "equinox", "optax", "numpy")},
        "platform": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "devices": [str(device) for device in jax.devices()],
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }
