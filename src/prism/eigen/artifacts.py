"""The stored form of an eigensolution: arrays as safetensors, shapes and the problem's options as JSON.

Nothing in a file is executed: names are looked up in tables, a potential of the user's own is given by the user.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import equinox as eqx
import jax

from prism.derivatives import taylor
from prism.eigen.fingerprint import fingerprint
from prism.eigen.forms import Form, Product, Sum, Train
from prism.eigen.network import FactorArchitecture, TensorNetwork
from prism.errors import CorruptedFile, InputError
from prism.files import storage
from prism.files.arrays import pack_arrays, unpack_arrays
from prism.files.encoding import json_text
from prism.files.reading import Unreadable, blaming, parse_json, read_json
from prism.networks.modulation import ModulationSettings
from prism.numerics.keys import root
from prism.problem.fingerprint import same_equation
from prism.problem.potential import Potential
from prism.solution.artifacts import ARRAYS, DESCRIPTION
from prism.solution.descriptions import ParametersDescription

KIND = "eigensolution"
FORMAT = 1
MOST_SIZE = 10_000
"""Of a width, a depth or a rank, that a file may name."""
ACTIVATIONS = {kind.__name__: kind for kind in taylor.ACTIVATIONS.values()}
FORMS: dict[str, type[Form]] = {kind.__name__: kind for kind in (Product, Sum, Train)}


@dataclass(frozen=True)
class NetworkDescription:
    """Form and architecture as JSON keeps them."""

    form: str
    size: int
    """Terms of a sum, bond of a train, excited functions of a product."""
    width: int
    depth: int
    generator_width: int
    generator_depth: int
    scale: bool
    shift: bool
    starts_at_identity: bool
    activation: str
    shared: bool

    @staticmethod
    def of(form: Form, architecture: FactorArchitecture) -> "NetworkDescription":
        one = architecture
        modulation = one.modulation
        return NetworkDescription(
            type(form).__name__,
            next(iter(vars(form).values())),
            *(one.width, one.depth, one.generator_width, one.generator_depth),
            *(modulation.scale, modulation.shift, modulation.starts_at_identity),
            type(one.activation).__name__,
            one.shared,
        )

    def build(self) -> tuple[Form, FactorArchitecture]:
        """The objects; sizes that no run has are refused."""
        sizes = ("size", "width", "depth", "generator_width", "generator_depth")
        for name in sizes:
            if not 0 <= getattr(self, name) <= MOST_SIZE:
                raise Unreadable(f"is malformed ({name} cannot be {getattr(self, name)})")
        if self.form not in FORMS or self.activation not in ACTIVATIONS:
            raise Unreadable("is malformed (its form or activation is not known)")
        modulation = ModulationSettings(self.scale, self.shift, self.starts_at_identity)
        numbers = (self.width, self.depth, self.generator_width, self.generator_depth)
        architecture = FactorArchitecture(*numbers, modulation, ACTIVATIONS[self.activation](), self.shared)
        try:
            return FORMS[self.form](self.size), architecture  # pyright: ignore[reportCallIssue]
        except InputError as error:
            raise Unreadable(f"is malformed ({error})") from error


@dataclass(frozen=True)
class Description:
    """model.json"""

    format: int
    kind: str
    family: str
    dimension: int
    levels: int
    network: NetworkDescription
    parameters: ParametersDescription
    equation: str | None
    problem: dict[str, object] | None
    tuned_at: dict[str, float] | None


class _Contents(eqx.Module):
    """The tree whose arrays are stored."""

    network: TensorNetwork
    potential: Potential


@dataclass(frozen=True)
class StoredLevels:
    """What a directory holds, read and checked, before it is made a solution."""

    description: Description
    arrays: bytes

    def restore(self, potential: Potential) -> tuple[TensorNetwork, Potential]:
        """The network, and the potential with the arrays that it was solved with."""
        told = self.description
        if type(potential).__name__ != told.family:
            raise InputError(f"the stored solution is one of {told.family}, not of {type(potential).__name__}")
        if potential.dimension != told.dimension:
            raise InputError(
                f"the stored solution has {told.dimension:,} dimensions, the potential {potential.dimension:,}"
            )
        told.parameters.check(potential.parameters)
        if not same_equation(told.equation, fingerprint(potential)):
            raise InputError(
                f"this {told.family} is not the potential that was solved; give it as it was, or solve it anew"
            )
        form, architecture = told.network.build()
        create = lambda: TensorNetwork.create(architecture, form, potential, root(0))
        restored = unpack_arrays(_Contents(eqx.filter_eval_shape(create), potential), self.arrays)
        for path, leaf in jax.tree_util.tree_leaves_with_path(eqx.filter(restored.network, eqx.is_inexact_array)):
            if not bool(jax.numpy.isfinite(leaf).all()):
                name = jax.tree_util.keystr(path)
                raise CorruptedFile(
                    f"the stored solution is damaged: {name} of its network is not finite; solve it anew"
                )
        return restored.network, restored.potential


def save(
    network: TensorNetwork,
    architecture: FactorArchitecture,
    potential: Potential,
    levels: int,
    path: Path,
    problem: Mapping[str, object] | None = None,
    tuned_at: Mapping[str, float] | None = None,
) -> None:
    """Write it as a directory, whole or not at all."""
    description = Description(
        FORMAT,
        KIND,
        type(potential).__name__,
        potential.dimension,
        levels,
        NetworkDescription.of(network.form, architecture),
        ParametersDescription.of(potential.parameters),
        fingerprint(potential),
        None if problem is None else dict(problem),
        None if tuned_at is None else dict(tuned_at),
    )
    files = {
        ARRAYS: pack_arrays(_Contents(network, potential)),
        DESCRIPTION: (json_text(asdict(description), indent=2) + "\n").encode(),
    }
    storage.write_directory(path, files)


def read(path: Path) -> StoredLevels:
    """A stored eigensolution, its hashes checked."""
    files = storage.read_directory(path)
    for name in (ARRAYS, DESCRIPTION):
        if name not in files:
            raise CorruptedFile(f"{path} holds no solution: {storage.MANIFEST} does not list {name}")
    with blaming(f"{path} holds no eigensolution: {DESCRIPTION}", CorruptedFile):
        description = parse_json(files[DESCRIPTION], Description)
    if description.format != FORMAT:
        raise InputError(f"{path} has format {description.format}; this version of prism reads {FORMAT}")
    return StoredLevels(description, files[ARRAYS])


def is_eigensolution(path: Path) -> bool:
    """Whether a directory of a model says that it holds one."""
    try:
        return read_json(path / DESCRIPTION, dict).get("kind") == KIND
    except (OSError, Unreadable):
        return False
