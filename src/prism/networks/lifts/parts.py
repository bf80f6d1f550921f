"""What a lift is made of, as it is asked for:  Dense(256) + Affine(4) + Sites(2).

| part | its channels | carries |
|---|---|---|
| Dense(h) | x W + b | h directions of space |
| Affine(k) | the same, past the nonlinearity, read out by q(μ) | the slope b(μ)·x |
| Blocks(B, h) | the same with W[iB+j] = w_j V[i] | h directions that repeat in every block up to a factor |
| Norm() | Σ_i w_i x_i² | radial solutions |
| Time() | t | what changes with time, beside parts that do not see it |
| Quadratic(w) | Σ_i D_i x_i² + Σ_ij A_ij x_i x_j over pairs of neighbours, read out by q(μ) | sparse curvature |
| Sites(w) | Σ_i A_i·φ(x_i, ..., x_{i+w−1}; μ) | chains, lattices, sums over coordinates, pairs |
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from prism.errors import InputError

Kind = TypeVar("Kind", bound="Part")
Places = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Part:
    """One part of a lift; parts are added."""

    @property
    def follows_slopes(self) -> bool:
        """Whether it has weights, as many as coordinates, that move by the slopes of the residual alone where the
        optimiser takes these."""
        return False

    @property
    def is_bent(self) -> bool:
        """Whether its channels go through the manifold; else they are read out, each with a factor q(μ)."""
        return True

    @property
    def is_linear(self) -> bool:
        """Whether its channels are linear in x and t."""
        return False

    @property
    def is_single(self) -> bool:
        """Whether it is one channel, without weights of its own."""
        return False

    @property
    def channel_count(self) -> int:
        """How many channels it has."""
        return 1

    @property
    def modulated_count(self) -> int:
        """How many values inside it μ scales and shifts."""
        return 0

    def weight_count(self, dimension: int, times: int) -> int:
        """Its weights in so many space dimensions and `times` (0 or 1) more for time, biases left out."""
        return 0

    def follower_count(self, dimension: int, pairs: int) -> int:
        """Numbers that a step by slopes holds of it, beside its weights, for so many pairs of points and parameters."""
        return 0

    @property
    def sizes(self) -> Mapping[str, int]:
        """Its whole numbers that may be smaller, by name."""
        return {}

    def with_size(self, name: str, count: int) -> Self:
        """The same with another of its `sizes`."""
        return replace(self, **{name: count})

    def __add__(self, other: "Part | Parts") -> "Parts":
        return Parts((self,)) + other


@dataclass(frozen=True)
class Parts:
    """Several parts of one lift."""

    parts: tuple[Part, ...]

    def __post_init__(self):
        if len(self.of_kind(Dense)) > 1 or len(self.of_kind(Affine)) > 1:
            raise InputError("a lift has one dense and one affine part at most; add their channels")

    def __add__(self, other: "Part | Parts") -> "Parts":
        return Parts(self.parts + parts_of(other).parts)

    @property
    def follows_slopes(self) -> bool:
        """Whether one of them does."""
        return any(part.follows_slopes for part in self.parts)

    def of_kind(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """Those of one kind."""
        return tuple(part for part in self.parts if isinstance(part, kind))

    def exchanged(self, kind: type[Part], new: Part | None) -> "Parts":
        """With another part in the place of those of one kind, or with none of them."""
        kept = tuple(part for part in self.parts if not isinstance(part, kind))
        return Parts(kept if new is None else (new, *kept))


@dataclass(frozen=True)
class Dense(Part):
    """`width` channels z = x W + b. First biases have the deviation `bias`: away from zero the activation bends, and
    curvature can be learned. With `clocks`, the deviation of the first weights of time (the last coordinate), a quarter
    of the channels begins as z = c t, without space, and the others begin without time."""

    width: int = 128
    bias: float = 0.0
    clocks: float | None = None

    def __post_init__(self):
        _check_count("width of a dense lift", self.width)

    @property
    def is_linear(self) -> bool:
        return True

    @property
    def sizes(self) -> Mapping[str, int]:
        return {"width": self.width}

    @property
    def channel_count(self) -> int:
        return self.width

    def weight_count(self, dimension: int, times: int) -> int:
        return (dimension + times) * self.width


@dataclass(frozen=True)
class Affine(Part):
    """`channels` z = x W + b that skip the nonlinearity and are read out by q(μ)."""

    channels: int = 4

    def __post_init__(self):
        _check_count("number of affine channels", self.channels)

    @property
    def is_linear(self) -> bool:
        return True

    @property
    def sizes(self) -> Mapping[str, int]:
        return {"channels": self.channels}

    @property
    def channel_count(self) -> int:
        return self.channels

    def weight_count(self, dimension: int, times: int) -> int:
        return (dimension + times) * self.channels

    @property
    def is_bent(self) -> bool:
        return False


@dataclass(frozen=True)
class Blocks(Part):
    """`width` channels z = x W + b with W[iB+j] = w_j V[i]: coordinates in blocks of `size` share one w, scaled by
    the block's row of V. It has a B-th of a dense part's weights, and represents only directions of space that repeat
    from block to block up to a factor."""

    size: int = 100
    width: int = 64
    bias: float = 1.0

    def __post_init__(self):
        _check_count("size of a block", self.size)
        _check_count("width of a lift in blocks", self.width)

    @property
    def is_linear(self) -> bool:
        return True

    @property
    def sizes(self) -> Mapping[str, int]:
        return {"size": self.size, "width": self.width}

    @property
    def channel_count(self) -> int:
        return self.width

    def weight_count(self, dimension: int, times: int) -> int:
        return (math.ceil(dimension / self.size) + times) * self.width + self.size

    def follower_count(self, dimension: int, pairs: int) -> int:
        return pairs * math.ceil(dimension / self.size) * self.size  # points filled up to whole blocks

    @property
    def follows_slopes(self) -> bool:
        return True


@dataclass(frozen=True)
class Norm(Part):
    """One channel Σ_i w_i x_i², in units of its spread over the domain; w_i = 1 unless `weights` are given, one for
    each space coordinate (0 leaves a coordinate out). With `neighbours`, one less than coordinates, it is the quadratic
    form Σ_i w_i x_i² + Σ_i c_i x_i x_{i+1}. Where `logarithmic` the channel is log(ε + s), ε what one coordinate makes
    of s: it tells small norms apart that are all the same beside the norm of a typical point."""

    weights: tuple[float, ...] | None = None
    neighbours: tuple[float, ...] | None = None
    logarithmic: bool = False

    @property
    def is_single(self) -> bool:
        return True


@dataclass(frozen=True)
class Time(Part):
    """One channel t, in units of its spread: for lifts whose other parts do not see time, as `Norm() + Time()`."""

    @property
    def is_single(self) -> bool:
        return True


@dataclass(frozen=True)
class Local(Part):
    """A part over few coordinates at a time: those of each `window` of neighbours (around the end where `periodic`), or
    of the `groups` that are given."""

    window: int = 2
    periodic: bool = field(default=False, kw_only=True)
    groups: Places | None = field(default=None, kw_only=True)

    def __post_init__(self):
        name = type(self).__name__
        _check_count(f"window of {name}", self.window)
        if self.groups is None:
            return
        if not self.groups or any(len(place) != self.window for place in self.groups):
            raise InputError(f"groups of {name}: give at least one, each of {self.window} coordinates (the window)")
        if self.periodic:
            raise InputError(
                f"{name}: periodic means windows of neighbours, and groups are none; leave out one of them"
            )

    @property
    def sizes(self) -> Mapping[str, int]:
        """The window of neighbours; that of groups is as wide as they are."""
        return {"window": self.window} if self.groups is None else {}

    def with_groups(self, groups: Places) -> Self:
        """The same over these places."""
        return replace(self, groups=groups)

    def check_places(self, dimension: int) -> None:
        """Refuse coordinates that do not exist."""
        name = type(self).__name__
        if self.groups is None:
            if self.window > dimension:
                raise InputError(
                    f"{name}: a window of {self.window} coordinates does not fit into {dimension} dimensions; give one "
                    f"of {dimension} or less"
                )
            return
        numbers = [number for place in self.groups for number in place]
        wrong = [number for number in numbers if not isinstance(number, int) or not 0 <= number < dimension]
        if wrong:
            raise InputError(f"groups of {name} name coordinate {wrong[0]!r}; give numbers from 0 to {dimension - 1}")
        twice = [place for place in self.groups if len(set(place)) < len(place)]
        if twice:
            raise InputError(f"the group {twice[0]} of {name} names a coordinate twice; leave one out")


@dataclass(frozen=True)
class Quadratic(Local):
    """`channels` quadratic forms z_c ∝ Σ_i D_ic x_i² + Σ_(i,j) A_ijc x_i x_j, each read out with a factor q_c(μ).

    Pairs (i, j) are coordinates within a window of neighbours (a window of 1 has none), or the groups that are given.
    Beside an affine part it is what a function of very many small coordinates has next in its Taylor series. D and A
    follow the slopes of the residual.
    """

    channels: int = 4

    def __post_init__(self):
        super().__post_init__()
        _check_count("number of channels of Quadratic", self.channels)
        if self.groups is not None and self.window != 2:
            raise InputError("groups of Quadratic are pairs of coordinates; give window=2")

    @property
    def follows_slopes(self) -> bool:
        return True

    @property
    def sizes(self) -> Mapping[str, int]:
        return {**super().sizes, "channels": self.channels}

    @property
    def channel_count(self) -> int:
        return self.channels

    def weight_count(self, dimension: int, times: int) -> int:
        return (dimension + self._pair_count(dimension)) * self.channels

    def follower_count(self, dimension: int, pairs: int) -> int:
        return self.weight_count(dimension, 0) * self.channels  # a small system for every entry

    def _pair_count(self, dimension: int) -> int:
        if self.groups is not None:
            return len(self.groups)
        reach = min(self.window, dimension) - 1
        if self.periodic:
            return dimension * min(reach, (dimension - 1) // 2)
        return reach * dimension - reach * (reach + 1) // 2

    @property
    def is_bent(self) -> bool:
        return False


@dataclass(frozen=True)
class Sites(Local):
    """`channels` z_c = Σ_i A_ic · (φ(x_i, ..., x_{i+w−1}; μ) − φ(0; μ)) over all places i.

    φ is one small network for all places: the `window` coordinates of a place (and time, where there is one) through
    `hidden` tanh to `features` sines, each layer scaled and shifted by μ. A has coefficients of its own for every place
    or, where `shared`, the same for all: then z is translation-invariant for windows, exchangeable for single
    coordinates. Places are windows of neighbours (around the end where `periodic`), or the `groups` of coordinates that
    are given. Channels that are `bent` go through the manifold; others are read out, each with a factor that μ decides.
    """

    features: int = 4
    channels: int = 1
    shared: bool = False
    bent: bool | None = None
    """None: bent where shared."""
    hidden: int = 32
    steepness: tuple[float, float] = (0.06, 0.6)
    """The first weights' deviations, from the smoothest hidden value to the steepest, in units of one over the spread
    of a coordinate."""

    def __post_init__(self):
        super().__post_init__()
        for name in ("features", "channels", "hidden"):
            _check_count(f"number of {name} of Sites", getattr(self, name))

    @property
    def is_bent(self) -> bool:
        return self.shared if self.bent is None else self.bent

    @property
    def sizes(self) -> Mapping[str, int]:
        return {**super().sizes, "features": self.features, "channels": self.channels, "hidden": self.hidden}

    @property
    def channel_count(self) -> int:
        return self.channels

    @property
    def modulated_count(self) -> int:
        return self.hidden + self.features

    def weight_count(self, dimension: int, times: int) -> int:
        windows = dimension if self.periodic else dimension - self.window + 1
        places = 1 if self.shared else len(self.groups) if self.groups else max(1, windows)
        network = (self.window + times + 1) * self.hidden + (self.hidden + 1) * self.features
        return network + places * self.features * self.channels


def parts_of(lift: Part | Parts) -> Parts:
    """A single part as a sum of one."""
    return Parts((lift,)) if isinstance(lift, Part) else lift


def _check_count(name: str, count: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"the {name} is {count!r}; give a whole number of 1 or more")
