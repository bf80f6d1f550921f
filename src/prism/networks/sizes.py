"""How many numbers a network has, in closed form: known before anything of it is traced or allocated."""

import math
from dataclasses import dataclass

from prism.errors import InputError
from prism.networks.lifts.parts import parts_of
from prism.networks.model import Architecture
from prism.problem.parameters import ParameterSpace
from prism.problem.points import Domain

MOST_LAYERS = 256
"""Layers are traced one after the other: each adds about a second to what compiling takes."""
MOST_PARTS = 64
"""Parts of a lift, which are traced one after the other too."""


@dataclass(frozen=True)
class Extent:
    """The sizes of a problem that a network depends on; `times` is 1 where a point has a time, else 0."""

    dimension: int
    times: int
    parameters: int

    @staticmethod
    def of(domain: Domain, parameters: ParameterSpace) -> "Extent":
        return Extent(domain.dimension, domain.coordinates - domain.dimension, parameters.size)

    @property
    def coordinates(self) -> int:
        return self.dimension + self.times


@dataclass(frozen=True)
class Weights:
    """Numbers of a network's weights, by what holds them."""

    lift: int
    """The matrix of parts that are linear in x."""
    followers: int
    """Of parts that follow the slopes of the residual."""
    sites: int
    """Of all other parts."""
    entry: int
    """From the lift's channels to the first layer behind them, and the shift of either."""
    hidden: int
    """From layer to layer behind the lift, and the readout."""
    generator: int
    heads: int
    """From the generator to γ and β of every layer."""


def weights_of(architecture: Architecture, extent: Extent) -> Weights:
    """All weights of a network of this architecture, the biases of its layers left out."""
    parts = parts_of(architecture.lift).parts
    count = lambda chosen: sum(part.weight_count(extent.dimension, extent.times) for part in parts if chosen(part))
    bent = sum(part.channel_count for part in parts if part.is_bent)
    width, depth, embedding = architecture.width, architecture.depth, architecture.generator_width
    inner = embedding * embedding * (architecture.generator_depth - 1) if architecture.generator_depth else 0
    modulated = bent + width * (depth - 1) + sum(part.modulated_count for part in parts)
    return Weights(
        lift=count(lambda part: part.is_linear and not part.follows_slopes),
        followers=count(lambda part: part.follows_slopes),
        sites=count(lambda part: not part.is_linear and not part.follows_slopes),
        entry=bent * width if depth > 1 else bent,
        hidden=width * width * max(0, depth - 2),
        generator=extent.parameters * embedding + inner,
        heads=embedding * modulated * (architecture.modulation.scale + architecture.modulation.shift),
    )


def refuse_endless(architecture: Architecture) -> None:
    """Refuse more layers or parts than can be compiled in reasonable time."""
    counts = {
        "layers": (architecture.depth, MOST_LAYERS),
        "layers of the generator": (architecture.generator_depth, MOST_LAYERS),
        "parts of the lift": (len(parts_of(architecture.lift).parts), MOST_PARTS),
    }
    for what, (count, most) in counts.items():
        if count > most:
            raise InputError(f"{count_text(count)} {what} take too long to compile; give {most} or less")


def refuse_larger_than(architecture: Architecture, extent: Extent, numbers: int) -> None:
    """Refuse an architecture of more weights than the numbers that are there for them, as those of a file are."""
    refuse_endless(architecture)
    weights = sum(vars(weights_of(architecture, extent)).values())
    if weights > numbers:
        raise InputError(
            f"an architecture of {count_text(weights)} weights does not fit the {count_text(numbers)} numbers that are "
            "stored"
        )


def count_text(count: int) -> str:
    """A whole number for a reader, however long it is."""
    return f"{count:,}" if count < 10**15 else f"10^{int(math.log10(count))}"
