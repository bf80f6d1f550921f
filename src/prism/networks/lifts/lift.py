"""The lift  x ↦ z, the first map and the only place where the dimension appears.

Its first channels are linear, z = x W + b; behind them stand those of its groups (`groups.py`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.directions import Gradients
from prism.networks.lifts.blocks import BlockChannels
from prism.networks.lifts.groups import Along, Coefficients, Group
from prism.networks.lifts.norm import SquaredNorm
from prism.networks.lifts.parts import Affine, Blocks, Dense, Norm, Part, Parts, Quadratic, Sites, Time
from prism.networks.lifts.quadratic import LearnedForms
from prism.networks.lifts.sites import SiteSums
from prism.networks.lifts.time import TimeChannel
from prism.networks.modulation import FactorStart, Modulation
from prism.numerics.keys import Purpose, child, item
from prism.problem.domains import Domain
from prism.shapes import Hidden, Key, Point

CHANNELS: dict[type[Part], Callable[[Any, Domain, Key], Group]] = {
    Norm: lambda part, domain, key: SquaredNorm.create(part, domain),
    Time: lambda part, domain, key: TimeChannel.create(part, domain),
    Quadratic: lambda part, domain, key: LearnedForms.create(part, domain),
    Blocks: BlockChannels.create,
    Sites: SiteSums.create,
}
"""How the channels of each part begin, those of the matrix apart."""


class Lifted(eqx.Module):
    """z and its Taylor coefficients along the directions of each frame: all that the network sees of a point."""

    value: Hidden
    frames: tuple[Coefficients, ...]


class Lift(eqx.Module):
    """z = (x W + b, groups...)(x), with W of coordinates × linear channels."""

    weight: Float[Array, "coordinates linear"]
    bias: Float[Array, "linear"]
    groups: tuple[Group, ...] = ()
    affine: int = eqx.field(static=True, default=0)
    """How many of the linear channels, the last of them, are read out and not bent."""

    @staticmethod
    def create(parts: Parts, domain: Domain, key: Key) -> "Lift":
        dense, affine = parts.of_kind(Dense), sum(part.channels for part in parts.of_kind(Affine))
        weight, bias = jnp.zeros((domain.coordinates, 0)), jnp.zeros(0)
        if dense:
            weight, bias = _dense_start(dense[0], domain.coordinates, key)
        own = [(number, part) for number, part in enumerate(parts.parts) if type(part) in CHANNELS]
        groups = tuple(CHANNELS[type(part)](part, domain, item(key, number)) for number, part in own)
        return Lift(jnp.pad(weight, ((0, 0), (0, affine))), jnp.pad(bias, (0, affine)), groups, affine)

    @property
    def parts(self) -> Parts:
        """What it is made of; how it began is not kept."""
        dense = [Dense(self.linear - self.affine)] if self.linear > self.affine else []
        affine = [Affine(self.affine)] if self.affine else []
        return Parts((*dense, *affine, *[group.part for group in self.groups]))

    @property
    def width(self) -> int:
        """All channels."""
        return self.linear + sum(group.channels for group in self.groups)

    @property
    def bent_width(self) -> int:
        """Those that go through the manifold."""
        return self.linear - self.affine + sum(group.channels for group in self.groups if group.bent)

    @property
    def linear(self) -> int:
        """The channels x W + b, the first ones."""
        return self.bias.shape[0]

    @property
    def factor_starts(self) -> tuple[FactorStart, ...]:
        """How the factors q(μ) of the channels that are read out begin, part by part."""
        groups = [FactorStart(group.channels, group.distinct_factors) for group in self.groups if not group.bent]
        return (*([FactorStart(self.affine, True)] if self.affine else []), *groups)

    @property
    def workspace(self) -> int:
        """How many numbers derivatives at one point hold at once, where they grow with the dimension."""
        return self.weight.shape[0] + sum(group.workspace for group in self.groups)

    @property
    def modulated(self) -> tuple[int, ...]:
        """The widths of layers of its own that μ scales and shifts."""
        return tuple(width for group in self.groups for width in group.modulated)

    @property
    def knows_mu(self) -> bool:
        """Whether z moves with μ, so that points cannot be lifted once for all μ."""
        return bool(self.modulated)

    def bent(self, z: Float[Array, "... width"]) -> Float[Array, "... bent"]:
        """The channels that go through the manifold."""
        return self._select(z, self.linear - self.affine, 0, True)

    def read_out(self, z: Float[Array, "... width"]) -> Float[Array, "... rest"]:
        """The channels that skip it, the affine ones first."""
        return self._select(z, self.affine, self.linear - self.affine, False)

    def _select(self, z: Array, linear: int, start: int, bent: bool) -> Array:
        chosen, end = [z[..., start : start + linear]], self.linear
        for group in self.groups:
            chosen += [z[..., end : end + group.channels]] if group.bent == bent else []
            end += group.channels
        return chosen[0] if len(chosen) == 1 else jnp.concatenate(chosen, axis=-1)

    def __call__(self, x: Point, modulations: Sequence[Modulation] = ()) -> Hidden:
        return self.lifted(x, modulations, ()).value

    def lifted(self, x: Point, modulations: Sequence[Modulation], frames: Sequence[Along]) -> Lifted:
        """The point, and what leaves the lift along the directions of each frame."""
        linear = x @ self.weight + self.bias
        firsts = [along.decomposition.directions.through(self.weight) for along in frames]
        if not self.groups:
            return Lifted(linear, tuple(Coefficients((first,), None) for first in firsts))
        found = [group.lifted(x, own, frames) for group, own in self._with_modulations(modulations)]
        value = jnp.concatenate([linear, *[z for z, _ in found]])
        others = [[coefficients[number] for _, coefficients in found] for number in range(len(frames))]
        return Lifted(value, tuple(self._beside(first, own) for first, own in zip(firsts, others, strict=True)))

    def span_width(self, read_out: bool) -> int:
        """The channels of which `gradients` tells."""
        return self.linear + sum(group.channels for group in self.groups if self._is_spanned(group, read_out))

    def _is_spanned(self, group: Group, read_out: bool) -> bool:
        """Whether directions have to span the gradients of a group."""
        return group.sees_space and (group.bent or self._all_spanned(read_out))

    def _all_spanned(self, read_out: bool) -> bool:
        """Groups that are read out are spanned too where another spans the point itself: no direction is then left that
        follows it."""
        return read_out or any(group.spans_point for group in self.groups)

    def gradients(self, x: Point, modulations: Sequence[Modulation], read_out: bool) -> Gradients:
        """Those in x of all channels, or of all but groups that are read out."""
        linear, own = [self.weight], [jnp.zeros((x.shape[0], 0), x.dtype)]
        for group, modulation in self._with_modulations(modulations):
            if (matrix := group.matrix) is not None:
                linear.append(matrix)
            elif self._is_spanned(group, read_out):
                own.append(group.jacobian(x, modulation))
        return Gradients(jnp.concatenate(linear, axis=1), jnp.concatenate(own, axis=1))

    def _beside(self, first: Float[Array, "n linear"], others: Sequence[Coefficients]) -> Coefficients:
        """The coefficients of the groups beside those of the linear channels, which have none beyond the first."""
        zero = jnp.zeros_like(first)
        lower = [
            jnp.concatenate([zero if k else first, *[other.lower[k] for other in others]], axis=1)
            for k in range(len(others[0].lower))
        ]
        tops = [other.top for other in others if other.top is not None]
        return Coefficients(tuple(lower), jnp.concatenate([jnp.zeros_like(self.bias), *tops]) if tops else None)

    def _with_modulations(self, modulations: Sequence[Modulation]) -> list[tuple[Group, Sequence[Modulation]]]:
        """Every group with the modulations of its own layers."""
        pairs, start = [], 0
        for group in self.groups:
            count = len(group.modulated)
            pairs.append((group, modulations[start : start + count]))
            start += count
        return pairs


def _dense_start(part: Dense, coordinates: int, key: Key) -> tuple[Float[Array, "coordinates width"], Hidden]:
    """W ~ N(0, 1/coordinates), b ~ N(0, deviation²): in a ball, whose coordinates are of order 1/√d, the network so
    starts nearly linear in x. Clocks see time alone."""
    width = part.width
    weight = jax.random.normal(child(key, Purpose.WEIGHTS), (coordinates, width)) / coordinates**0.5
    bias = part.bias * jax.random.normal(child(key, Purpose.LIFT_BIAS), (width,))
    if part.clocks is not None:
        clock = jnp.arange(width) < max(1, width // 4)
        time = part.clocks * coordinates**0.5 * weight[-1]
        weight = jnp.where(clock[None], 0.0, weight).at[-1].set(jnp.where(clock, time, 0.0))
        bias = jnp.where(clock, 0.0, bias)
    return weight, bias
