"""A network's shape and a family's parameters in JSON, and what JSON says made objects again.

Names are looked up in tables; what does not fit its schema is `Unreadable`.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from prism.derivatives import taylor
from prism.errors import InputError
from prism.files.reading import Unreadable, converted
from prism.networks.lifts.parts import Affine, Blocks, Dense, Norm, Part, Parts, Quadratic, Sites, Time, parts_of
from prism.networks.model import Architecture, Model
from prism.networks.modulation import ModulationSettings
from prism.networks.sizes import refuse_endless
from prism.numerics.ranges import MOST_COUNTED
from prism.problem.parameters import ParameterSpace

ACTIVATIONS = {kind.__name__: kind for kind in taylor.ACTIVATIONS.values()}
SIZES = ("width", "depth", "generator_width", "generator_depth")
PARTS: dict[str, type[Part]] = {kind.__name__: kind for kind in (Dense, Affine, Blocks, Norm, Quadratic, Sites, Time)}


@dataclass(frozen=True)
class ArchitectureDescription:
    """An architecture as JSON keeps it."""

    lift: list[dict[str, object]]
    width: int
    depth: int
    generator_width: int
    generator_depth: int
    scale: bool
    shift: bool
    activation: str
    linear_lift: bool = False


@dataclass(frozen=True)
class ParametersDescription:
    """The space of parameters of a family: its law, and the bounds in their order."""

    law: str
    bounds: dict[str, tuple[float, float]]

    @staticmethod
    def of(space: ParameterSpace) -> "ParametersDescription":
        return ParametersDescription(type(space).__name__, space.bounds())

    def check(self, space: ParameterSpace) -> None:
        """Refuse a family with other parameters, or with the same in another order."""
        now = ParametersDescription.of(space)
        if (now.law, [*now.bounds.items()]) != (self.law, [*self.bounds.items()]):
            raise InputError(
                f"the family has the parameters {now.describe()}, what is stored was solved for {self.describe()}; "
                "give the family as it was, or solve it anew"
            )

    def describe(self) -> str:
        """As Python writes it."""
        return f"{self.law}({', '.join(f'{name}=({low:g}, {high:g})' for name, (low, high) in self.bounds.items())})"


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
    return asdict(
        ArchitectureDescription(
            lift=[{"part": type(part).__name__, **asdict(part)} for part in parts_of(architecture.lift).parts],
            **{name: getattr(architecture, name) for name in SIZES},
            scale=architecture.modulation.scale,
            shift=architecture.modulation.shift,
            activation=type(architecture.activation).__name__,
            linear_lift=architecture.linear_lift,
        )
    )


def build_architecture(description: ArchitectureDescription | Mapping[str, object]) -> Architecture:
    """The architecture that JSON describes."""
    found = converted(description, ArchitectureDescription) if isinstance(description, Mapping) else description
    for name in SIZES:
        if not 0 <= getattr(found, name) <= MOST_COUNTED:
            raise Unreadable(f"is malformed ({name} cannot be {getattr(found, name)})")
    if found.activation not in ACTIVATIONS:
        raise Unreadable(f"is malformed (activation cannot be {found.activation!r})")
    architecture = Architecture(
        Parts(tuple(_build_part(part) for part in found.lift)),
        **{name: getattr(found, name) for name in SIZES},
        modulation=ModulationSettings(scale=found.scale, shift=found.shift),
        activation=ACTIVATIONS[found.activation](),
        linear_lift=found.linear_lift,
    )
    try:
        refuse_endless(architecture)
    except InputError as error:
        raise Unreadable(f"is malformed ({error})") from error
    return architecture


def _build_part(description: Mapping[str, object]) -> Part:
    """A part of the lift; its own checks refuse what it cannot be."""
    kind, given = description.get("part"), {name: value for name, value in description.items() if name != "part"}
    if not isinstance(kind, str) or kind not in PARTS:
        raise Unreadable(f"has a lift with a part {kind!r}, which this version of prism does not know")
    known = {entry.name for entry in dataclasses.fields(PARTS[kind])}
    if unknown := sorted(given.keys() - known):
        raise Unreadable(f"is malformed ({kind} has no {unknown[0]})")
    return converted(given, PARTS[kind])
