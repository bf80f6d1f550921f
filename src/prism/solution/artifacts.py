"""The stored form of a solution: arrays as safetensors, the network's shape and the problem's options as JSON.

    solution.save("heat")                                in one process
    solution = prism.load("heat", family=Heat(...))      in another: the same bits

Nothing in a file is executed: names are looked up in tables, a family of the user's own is given by the user.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

from prism.errors import CorruptedFile, InputError
from prism.files import storage
from prism.files.arrays import pack_arrays, unpack_arrays
from prism.files.encoding import json_text
from prism.files.reading import blaming, parse_json
from prism.networks.model import Architecture, Model
from prism.networks.sizes import Extent, refuse_larger_than
from prism.numerics.keys import root
from prism.problem.family import Family
from prism.problem.fingerprint import fingerprint, same_equation
from prism.solution.descriptions import (
    ArchitectureDescription,
    ParametersDescription,
    architecture_of,
    build_architecture,
    describe_architecture,
)

FORMAT = 4
ARRAYS, DESCRIPTION = "model.safetensors", "model.json"


@dataclass(frozen=True)
class Format:
    """What model.json says in every version."""

    format: int


@dataclass(frozen=True)
class Description:
    """model.json"""

    family: str
    architecture: ArchitectureDescription
    problem: dict[str, object] | None
    dimension: int | None = None
    equation: str | None = None
    tuned_at: dict[str, float] | None = None
    parameters: ParametersDescription | None = None


@dataclass(frozen=True)
class Stored:
    """What a directory holds, read and checked, before it is made a solution."""

    architecture: Architecture
    kind: str
    problem: Mapping[str, object] | None
    arrays: bytes
    dimension: int | None = None
    equation: str | None = None
    """The fingerprint of the equation that was solved."""
    tuned_at: dict[str, float] | None = None
    """The μ that it was tuned for."""
    parameters: ParametersDescription | None = None

    def restore(self, family: Family) -> tuple[Model, Family]:
        """The network, and the family with the random coefficients that are stored."""
        if type(family).__name__ != self.kind:
            raise InputError(f"the stored solution is one of {self.kind}, not of {type(family).__name__}")
        if self.dimension not in (None, family.domain.dimension):
            raise InputError(
                f"the stored solution has {self.dimension:,} dimensions, the family {family.domain.dimension:,}"
            )
        if self.parameters is not None:
            self.parameters.check(family.parameters)
        if not same_equation(self.equation, fingerprint(family)):
            raise InputError(
                f"this {self.kind} is not the equation that was solved: residual, constraint, conditions, domain or "
                "parameters have changed; give the family as it was, or solve it anew"
            )
        refuse_larger_than(
            self.architecture,
            Extent.of(family.domain, family.parameters),
            len(self.arrays) // np.dtype(np.float32).itemsize,
        )
        create = lambda: Model.create(self.architecture, family.domain, family.parameters, root(0))
        restored = unpack_arrays(_Contents(eqx.filter_eval_shape(create), family), self.arrays)
        _check_finite(restored.model)
        return restored.model, restored.family


def _check_finite(model: Model) -> None:
    """Refuse weights that no training ends with."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(eqx.filter(model, eqx.is_inexact_array)):
        if not np.isfinite(leaf).all():
            name = jax.tree_util.keystr(path)
            raise CorruptedFile(f"the stored solution is damaged: {name} of its network is not finite; solve it anew")


class _Contents(eqx.Module):
    """The tree whose arrays are stored, under the paths of its fields."""

    model: Model
    family: Family


def save(
    model: Model,
    family: Family,
    path: Path,
    problem: Mapping[str, object] | None = None,
    tuned_at: Mapping[str, float] | None = None,
) -> None:
    """Write a solution as a directory, whole or not at all; `problem` tells how to build its family again."""
    description = {
        "format": FORMAT,
        "family": type(family).__name__,
        "dimension": family.domain.dimension,
        "equation": fingerprint(family),
        "architecture": describe_architecture(architecture_of(model)),
        "problem": problem,
        "tuned_at": None if tuned_at is None else dict(tuned_at),
        "parameters": asdict(ParametersDescription.of(family.parameters)),
    }
    files = {
        ARRAYS: pack_arrays(_Contents(model, family)),
        DESCRIPTION: (json_text(description, indent=2) + "\n").encode(),
    }
    storage.write_directory(path, files)


def read(path: Path) -> Stored:
    """A stored solution, its hashes checked."""
    files = storage.read_directory(path)
    for name in (ARRAYS, DESCRIPTION):
        if name not in files:
            raise CorruptedFile(f"{path} holds no solution: {storage.MANIFEST} does not list {name}")
    with blaming(f"{path} holds no solution: {DESCRIPTION}", CorruptedFile):
        found = parse_json(files[DESCRIPTION], Format).format
        if found != FORMAT:
            raise InputError(f"{path} has format {found}; this version of prism reads {FORMAT}")
        content = parse_json(files[DESCRIPTION], Description)
        architecture = build_architecture(content.architecture)
    return Stored(
        architecture,
        content.family,
        content.problem,
        files[ARRAYS],
        content.dimension,
        content.equation,
        content.tuned_at,
        content.parameters,
    )


def model_directory(path: Path) -> Path:
    """The directory of a stored solution, given that or its run's."""
    return path / "model" if (path / "model").is_dir() else path
