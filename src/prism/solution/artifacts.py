"""The stored form of a solution: arrays as safetensors, the network's shape and the problem's options as JSON.

    solution.save("heat")                                in one process
    solution = prism.load("heat", family=Heat(...))      in another: the same bits

Nothing in a file is executed: names are looked up in tables, a family of the user's own is given by the user.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import equinox as eqx

from prism.derivatives import taylor
from prism.errors import CorruptedFile, InputError
from prism.files import storage
from prism.files.arrays import pack_arrays, unpack_arrays
from prism.networks.lifts.parts import Affine, Blocks, Dense, Norm, Part, Parts, Quadratic, Sites, Time, parts_of
from prism.networks.model import Architecture, Model
from prism.networks.modulation import ModulationSettings
from prism.numerics.keys import root
from prism.problem.family import Family
from prism.problem.fingerprint import fingerprint, same_equation

FORMAT = 4
ARRAYS, DESCRIPTION = "model.safetensors", "model.json"
ACTIVATIONS = {kind.__name__: kind for kind in taylor.ACTIVATIONS.values()}
SIZES = ("width", "depth", "generator_width", "generator_depth")
PARTS: dict[str, type[Part]] = {kind.__name__: kind for kind in (Dense, Affine, Blocks, Norm, Quadratic, Sites, Time)}


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

    def restore(self, family: Family) -> tuple[Model, Family]:
        """The network, and the family with the random coefficients that are stored."""
        if type(family).__name__ != self.kind:
            raise InputError(f"the stored solution is one of {self.kind}, not of {type(family).__name__}")
        if self.dimension not in (None, family.domain.dimension):
            raise InputError(
                f"the stored solution has {self.dimension:,} dimensions, the family {family.domain.dimension:,}"
            )
        if not same_equation(self.equation, fingerprint(family)):
            raise InputError(
                f"this {self.kind} is not the equation that was solved: residual, constraint, conditions, domain or "
                "parameters have changed; give the family as it was, or solve it anew"
            )
        create = lambda: Model.create(self.architecture, family.domain, family.parameters, root(0))
        restored = unpack_arrays(_Contents(eqx.filter_eval_shape(create), family), self.arrays)
        return restored.model, restored.family


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
    }
    files = {
        ARRAYS: pack_arrays(_Contents(model, family)),
        DESCRIPTION: (json.dumps(description, indent=2) + "\n").encode(),
    }
    storage.write_directory(path, files)


def read(path: Path) -> Stored:
    """A stored solution, its hashes checked."""
    files = storage.read_directory(path)
    try:
        content = json.loads(files[DESCRIPTION])
        if content["format"] != FORMAT:
            raise InputError(f"{path} has format {content['format']!r}; this version of prism reads {FORMAT}")
        return Stored(
            build_architecture(content["architecture"]),
            content["family"],
            content["problem"],
            files[ARRAYS],
            *(content.get(name) for name in ("dimension", "equation", "tuned_at")),
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise CorruptedFile(f"{path} holds no solution ({type(error).__name__}: {error})") from error


def model_directory(path: Path) -> Path:
    """The directory of a stored solution, given that or its run's."""
    return path / "model" if (path / "model").is_dir() else path


def architecture_of(model: Model) -> Architecture:
    """The architecture, as the arrays show it."""
    generator = model.generator
    return Architecture(
        model.lift.parts,
        width=model.manifold.readout.shape[0],
        depth=model.depth,
        generator_width=generator.biases[-1].shape[0],
        generator_depth=len(generator.biases),
        modulation=ModulationSettings(scale=generator.scale_head is not None, shift=generator.shift_head is not None),
        activation=model.manifold.activation,
        linear_lift=model.manifold.linear_lift,
    )


def describe_architecture(architecture: Architecture) -> dict[str, object]:
    """An architecture as JSON keeps it."""
    return {
        "lift": [{"part": type(part).__name__, **asdict(part)} for part in parts_of(architecture.lift).parts],
        **{name: getattr(architecture, name) for name in SIZES},
        "scale": architecture.modulation.scale,
        "shift": architecture.modulation.shift,
        "activation": type(architecture.activation).__name__,
        "linear_lift": architecture.linear_lift,
    }


def build_architecture(description: Mapping[str, object]) -> Architecture:
    """The architecture that JSON describes."""
    sizes = {name: description[name] for name in SIZES}
    wrong = [name for name, size in sizes.items() if type(size) is not int or not 0 <= size < 2**31]
    if wrong or description["activation"] not in ACTIVATIONS:
        name = wrong[0] if wrong else "activation"
        raise InputError(f"the stored architecture's {name} cannot be {description[name]!r}")
    modulation = ModulationSettings(scale=bool(description["scale"]), shift=bool(description["shift"]))
    activation = ACTIVATIONS[str(description["activation"])]()
    linear_lift = bool(description.get("linear_lift", False))
    lift = Parts(tuple(_build_part(part) for part in description["lift"]))  # pyright: ignore[reportGeneralTypeIssues]
    return Architecture(lift, **sizes, modulation=modulation, activation=activation, linear_lift=linear_lift)  # pyright: ignore[reportArgumentType]


def _build_part(description: Mapping[str, object]) -> Part:
    """A part of the lift; its own checks refuse what it cannot be."""
    fields = {name: _as_tuples(value) for name, value in description.items() if name != "part"}
    if description["part"] not in PARTS:
        raise InputError(
            f"the stored lift has a part {description['part']!r}, which this version of prism does not know"
        )
    return PARTS[str(description["part"])](**fields)


def _as_tuples(value: object) -> object:
    """Lists of JSON as tuples."""
    return tuple(_as_tuples(entry) for entry in value) if isinstance(value, list) else value
