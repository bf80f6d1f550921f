"""The directory of a run: config.json, environment.json, metrics.jsonl, report.json, plots/, checkpoints/, model/."""

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prism.errors import InputError
from prism.files.storage import INCOMPLETE, write_file

FILES = ("config.json", "environment.json", "metrics.jsonl", "report.json")
DIRECTORIES = ("checkpoints", "model", "plots")


@dataclass(frozen=True)
class RunDirectory:
    """Where one run writes."""

    path: Path

    @staticmethod
    def new(path: Path, force: bool) -> "RunDirectory":
        """Where a new run may write; one in use is refused unless forced. Nothing is touched before `begin`."""
        entries = [entry.name for entry in path.iterdir()] if path.is_dir() else []
        used = [name for name in entries if not name.startswith(INCOMPLETE)]
        foreign = [] if "config.json" in used else [name for name in used if name in FILES + DIRECTORIES]
        if force and foreign:
            raise InputError(f"{path} holds {foreign[0]} but is no run; it is left alone, choose another --out")
        if used and not force:
            raise InputError(
                f"{path} is in use; continue it with --resume {path}, replace it with --force, or choose another --out"
            )
        nearest = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
        if not nearest.is_dir() or not os.access(nearest, os.W_OK):
            reason = "no permission" if nearest.is_dir() else f"{nearest} is a file"
            raise InputError(f"cannot write to {path}: {reason}; choose another --out")
        return RunDirectory(path)

    def begin(self, config: Mapping[str, object], resume: bool) -> None:
        """Make the directory, clear it of an earlier run unless that is resumed, and write what the run is."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not resume:
            self.clear()
        self.write_json("config.json", config)
        self.write_json("environment.json", environment())

    @staticmethod
    def existing(path: Path) -> "RunDirectory":
        """The directory of a run to resume."""
        if not (path / "config.json").is_file():
            raise InputError(f"{path} holds no run (no config.json); start one with --out {path}")
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

    def clear(self) -> None:
        """Remove an earlier run's own files, and nothing else."""
        for file in (*self.path.glob(f"{INCOMPLETE}*"), *(self.path / name for name in FILES)):
            if file.is_file():
                file.unlink()
        for name in DIRECTORIES:
            _remove_tree(self.path / name)

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


def _remove_tree(path: Path) -> None:
    import shutil

    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
