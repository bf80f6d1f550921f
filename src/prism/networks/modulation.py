"""How μ enters: as scale and shift of hidden values, made by a small generator.

    HyperGenerator(μ) -> (γ, β) per layer,     z̃ = γ ⊙ z + β,     and q, the factors of channels that are read out

γ and β are constants for differentiation in x (in a jet γ multiplies every coefficient and β reaches only the
zeroth: the paper's Theorem 1) and trainable for the optimiser. The paper's variants are settings of this
one module.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.expansion import AnyExpansion
from prism.numerics.keys import Purpose, child, items
from prism.shapes import Hidden, Key, Matrices, Parameter, Vectors


@dataclass(frozen=True)
class ModulationSettings:
    """Which of γ and β exist, and whether they start at the identity (γ = 1, β = 0)."""

    scale: bool = True
    shift: bool = True
    starts_at_identity: bool = True
    meaning: str = field(default="", compare=False)


FILM = ModulationSettings(meaning="γ(μ) ⊙ z + β(μ)")
"""Every hidden layer scaled and shifted: the paper's choice, and the default."""
SCALE = ModulationSettings(shift=False, meaning="γ(μ) ⊙ z")
"""Scaled alone."""
SHIFT = ModulationSettings(scale=False, meaning="z + β(μ)")
"""Shifted alone."""
CONCAT = ModulationSettings(
    scale=False, starts_at_identity=False, meaning="μ's embedding added in every layer, the naive baseline"
)
"""μ's embedding, through a matrix of its own, added in every hidden layer (the paper's naive baseline, P²INN)."""
NONE = ModulationSettings(scale=False, shift=False, meaning="blind to μ")
"""The fixed-parameter network, blind to μ."""
MODULATIONS = {"film": FILM, "scale": SCALE, "shift": SHIFT, "concat": CONCAT, "none": NONE}


class Modulation(eqx.Module):
    """γ and β of one layer; None where the setting has none."""

    gamma: Float[Array, "*rows width"] | None
    beta: Float[Array, "*rows width"] | None

    def push(self, jet: AnyExpansion) -> AnyExpansion:
        """The jet of γ ⊙ z + β."""
        if self.gamma is not None:
            gamma = self.gamma
            jet = jet.map_linear(lambda z: gamma * z)
        return jet if self.beta is None else jet.shift(self.beta)


@dataclass(frozen=True)
class FactorStart:
    """How the factors q(μ) of one part's channels begin: all at one or, where `distinct`, as (1, 0, ..., 0) and a
    random function of μ, so that the channels part at once."""

    channels: int
    distinct: bool

    def offset(self) -> Float[Array, "channels"]:
        return jnp.eye(1, self.channels)[0] if self.distinct else jnp.ones(self.channels)

    def head(self, embedding: int, key: Key) -> Float[Array, "embedding channels"]:
        return glorot(key, embedding, self.channels) if self.distinct else jnp.zeros((embedding, self.channels))


class HyperGenerator(eqx.Module):
    """Standardised μ -> (γ, β) of every layer: a multilayer perceptron with a linear head."""

    weights: Matrices
    biases: Vectors
    scale_head: Float[Array, "embedding widths"] | None
    shift_head: Float[Array, "embedding widths"] | None
    factor_head: Float[Array, "embedding affine"] | None
    factor_offset: Float[Array, "affine"] | None
    widths: tuple[int, ...] = eqx.field(static=True)

    @staticmethod
    def create(
        parameters: int,
        widths: Sequence[int],
        settings: ModulationSettings,
        hidden: Sequence[int],
        key: Key,
        factor_starts: Sequence[FactorStart] = (),
    ) -> "HyperGenerator":
        """`widths` of the modulated layers; `hidden` widths of the generator's own; `factor_starts` of the channels of
        the lift that are read out."""
        keys, sizes = items(child(key, Purpose.WEIGHTS), len(hidden)), itertools.pairwise((parameters, *hidden))
        weights = tuple(glorot(k, a, b) for k, (a, b) in zip(keys, sizes, strict=True))
        embedding, total = hidden[-1], sum(widths)

        def head(present: bool, purpose: Purpose):
            if not present:
                return None
            zero = jnp.zeros((embedding, total))
            return zero if settings.starts_at_identity else glorot(child(key, purpose), embedding, total)

        scale_head = head(settings.scale, Purpose.SCALE_HEAD)
        shift_head = head(settings.shift, Purpose.SHIFT_HEAD)
        biases = tuple(jnp.zeros(width) for width in hidden)
        factor_head, factor_offset = None, None
        if factor_starts:
            factor_offset = jnp.concatenate([start.offset() for start in factor_starts])
            if settings.scale or settings.shift:
                head_keys = items(child(key, Purpose.FACTOR_HEAD), len(factor_starts))
                parts = zip(factor_starts, head_keys, strict=True)
                factor_head = jnp.concatenate([start.head(embedding, own) for start, own in parts], axis=1)
        return HyperGenerator(weights, biases, scale_head, shift_head, factor_head, factor_offset, tuple(widths))

    def __call__(self, mu: Parameter) -> tuple[Modulation, ...]:
        if not self.heads:
            return self.modulations(())
        embedding = self.embed(mu)
        return self.modulations([embedding @ head for head in self.heads])

    @property
    def heads(self) -> tuple[Any, ...]:
        """Those that exist, that of the scales first."""
        return tuple(head for head in (self.scale_head, self.shift_head) if head is not None)

    def modulations(self, columns: Sequence[Float[Array, "widths"]]) -> tuple[Modulation, ...]:
        """γ and β of every layer, of the embedding times each head."""
        gammas = self._split(None if self.scale_head is None else columns[0], 1.0)
        betas = self._split(None if self.shift_head is None else columns[-1], 0.0)
        return tuple(Modulation(gamma, beta) for gamma, beta in zip(gammas, betas, strict=True))

    def factors(self, mu: Parameter) -> Float[Array, "affine"] | None:
        """q(μ) = q₀ + embedding·Q; None where no channel is read out."""
        if self.factor_offset is None or self.factor_head is None:
            return self.factor_offset
        return self.factor_offset + self.embed(mu) @ self.factor_head

    def embed(self, mu: Parameter) -> Hidden:
        embedding = mu
        for weight, bias in zip(self.weights, self.biases, strict=True):
            embedding = jnp.tanh(embedding @ weight + bias)
        return embedding

    def _split(self, columns: Array | None, centre: float) -> Sequence[Float[Array, "_"] | None]:
        """By layers."""
        if columns is None:
            return [None] * len(self.widths)
        ends = list(itertools.accumulate(self.widths))[:-1]
        return jnp.split(centre + columns, ends)


def glorot(key: Key, inputs: int, outputs: int) -> Float[Array, "inputs outputs"]:
    """N(0, 2 / (inputs + outputs))."""
    return jax.random.normal(key, (inputs, outputs)) * (2.0 / (inputs + outputs)) ** 0.5
