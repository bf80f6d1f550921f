"""The directory of a run: config.json, environment.json, metrics.jsonl, report.json, plots/, checkpoints/, model/.

It is known by the mark of `prism.files.marks`, which is written before anything else.
"""

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prism.errors import InputError, UnusableOutput
from prism.files.marks import MARK, Layout
from prism.files.outputs import check_directory
from prism.files.storage import MANIFEST, write_file

MODEL_FILES = r"model/(manifest\.json|model\.json|model\.safetensors)"
STEP = f"step-{'[0-9]' * 12}"
RUN = Layout(
    "run",
    (
        r"(config|environment|report|trust)\.json",
        r"metrics\.jsonl",
        r"plots/(convergence|error_over_parameters|slice|space_slice)\.png",
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
        try:
            check_directory(path)
        except UnusableOutput as error:
            raise InputError(f"{error.complaint}; choose another --out") from error
        directory, used = RunDirectory(path), RUN.used(path)
        if used and not RUN.holds(path):
            earlier = f", or go on with --resume {path}" if "config.json" in used else ""
            raise InputError(
                f"{path} holds {used[0]} but not the mark of a run ({MARK}), so it is left alone: "
                f"choose another --out{earlier}, or remove it yourself"
            )
        if used and not force:
            raise InputError(
                f"{path} is in use; continue it with --resume {path}, replace it with --force, or choose another --out"
            )
        directory._check_whole()
        return directory

    def begin(self, config: Mapping[str, object], resume: bool) -> None:
        """Make and mark the directory, clear it of an earlier run unless that is resumed, write what the run is."""
        self.path.mkdir(parents=True, exist_ok=True)
        RUN.mark(self.path) if resume else RUN.claim(self.path)
        self.write_json("config.json", config)
        self.write_json("environment.json", environment())

    @staticmethod
    def existing(path: Path) -> "RunDirectory":
        """The directory of a run to resume: one with the mark, or with a checkpoint of a version before the mark."""
        directory = RunDirectory(path)
        if not (path / "config.json").is_file():
            raise InputError(f"{path} holds no run (no config.json); start one with --out {path}")
        if not RUN.holds(path) and not any(directory.checkpoints.glob(f"{STEP}/{MANIFEST}")):
            raise InputError(
                f"{path} holds a config.json, but neither the mark of a run ({MARK}) nor a checkpoint; "
                "start a new run in another --out"
            )
        directory._check_whole()
        return directory

    def _check_whole(self) -> None:
        """Refuse files of others in the directories that the run will replace as a whole."""
        try:
            RUN.check_whole(self.path)
        except UnusableOutput as error:
            raise InputError(f"{error.complaint}; move it elsewhere first") from error

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
        write_file(self.path / name, (json.dumps(content, indent=2) + "\n").encode())

    def read_json(self, name: str) -> object:
        try:
            return json.loads((self.path / name).read_text())
        except (OSError, ValueError) as error:  # ValueError: malformed, or not text
            raise InputError(f"cannot read {self.path / name}: {error}") from error

    def append_metric(self, record: Mapping[str, object]) -> None:
        with (self.path / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(record) + "\n")

    def metrics(self) -> list[dict]:
        """The whole lines; one cut off by a crash is left out."""
        file = self.path / "metrics.jsonl"
        records = []
        for line in file.read_bytes().splitlines() if file.exists() else []:
            try:
                records.append(json.loads(line))
            except ValueError:  # malformed, or not text
                break
        return records

    def rewind_metrics(self, step: int) -> None:
        """Drop what was recorded after the checkpoint that a run is resumed from."""
        kept = [record for record in self.metrics() if record["step"] <= step]
        write_file(self.path / "metrics.jsonl", "".join(json.dumps(record) + "\n" for record in kept).encode())


def environment() -> dict[str, object]:
    """What the numbers of a run depend on besides its settings."""
    import equinox
    import jax
    import numpy
    import optax

    import prism

    return {
        "prism": prism.__version__,
        "python": sys.version.split()[0],
        "jax": jax.__version__,
        "equinox": equinox.__version__,
        "optax": optax.__version__,
        "numpy": numpy.__version__,
        "platform": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "devices": [str(device) for device in jax.devices()],
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }
