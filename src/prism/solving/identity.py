"""Which run a checkpoint belongs to: its configuration and the parameters of its family, kept in every checkpoint.

A run whose config.json says something else than its checkpoints was edited, and is not resumed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from prism.errors import CorruptedFile, InputError
from prism.files.reading import blaming, converted, quoted
from prism.problem.family import Family
from prism.problem.fingerprint import same_equation
from prism.problem.potential import Potential
from prism.solution.descriptions import ParametersDescription

FREE = ("steps", "minutes", "checkpoint_seconds", "family_sha256")
"""What may change when a run is resumed: the budget, and the text of a file that still says the same equation."""


@dataclass(frozen=True)
class Identity:
    """What a checkpoint says of its run; those of earlier versions say nothing."""

    run: dict[str, object] | None = None
    parameters: ParametersDescription | None = None

    @staticmethod
    def of(config: Mapping[str, object], problem: Family | Potential) -> "Identity":
        """That of a run with this config.json."""
        kept = {name: value for name, value in config.items() if name not in FREE}
        return Identity(kept, ParametersDescription.of(problem.parameters))

    @staticmethod
    def from_record(record: Mapping[str, object]) -> "Identity":
        """What a checkpoint's record tells."""
        with blaming("the record.json of the newest checkpoint", CorruptedFile):
            return converted(record, Identity)

    def as_record(self) -> dict[str, object]:
        """For a checkpoint."""
        return asdict(self)

    def check_config(self, config: Mapping[str, object], directory: Path) -> None:
        """Refuse a config.json that is not the one under which the checkpoints were made."""
        now = dict(_entries(config))
        for name, kept in _entries(self.run or {}):
            if not _same(name, kept, now.get(name)):
                says, said = (quoted(repr(value)) for value in (now.get(name), kept))
                raise InputError(
                    f"{directory / 'config.json'} says {name} = {says}, the run's checkpoints {said}; put it back, or "
                    "start a new run"
                )

    def check_family(self, problem: Family | Potential) -> None:
        """Refuse a family with other parameters."""
        if self.parameters is not None:
            self.parameters.check(problem.parameters)


UNKNOWN = Identity()


def _entries(content: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every entry by its whole name, those of objects inside too."""
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _entries(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _same(name: str, kept: object, now: object) -> bool:
    """Whether an entry is unchanged; a file may move, and equations are compared as far as they can be."""
    if name == "equation":
        return same_equation(None if kept is None else str(kept), None if now is None else str(now))
    if name == "family":
        return str(kept).rpartition(":")[2] == str(now).rpartition(":")[2]
    return kept == now
