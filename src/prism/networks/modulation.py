"""How μ enters: as scale and shift of hidden values, made by a small generator.

    HyperGenerator(μ) -> (γ, β) per layer,     z̃ = γ ⊙ z + β,     and q, the weights of the affine channels

γ and β are constants for differentiation in x (in a jet γ multiplies every coefficient and β reaches only the
zeroth: the paper's Theorem 1) and trainable for the optimiser. The paper's variants are settings of this
one module.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.taylor import Jet
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

    def for_rows(self) -> "Modulation":
        """The same for many z at once, one in each row."""
        row = lambda vector: None if vector is None else vector[None]
        return Modulation(row(self.gamma), row(self.beta))

    def push(self, jet: Jet) -> Jet:
        """The jet of γ ⊙ z + β."""
        if self.gamma is not None:
            gamma = self.gamma
            jet = jet.map_linear(lambda z: gamma * z)
        return jet if self.beta is None else jet.shift(self.beta)


class HyperGenerator(eqx.Module):
    """Standardised μ -> (γ, β) of every layer: a multilayer perceptron with a linear head."""

    weights: Matrices
    biases: Vectors
    scale_head: Float[Array, "embedding widths"] | None
    shift_head: Float[Array, "embedding widths"] | None
    affine_head: Float[Array, "embedding affine"] | None
    affine_offset: Float[Array, "affine"] | None
    widths: tuple[int, ...] = eqx.field(static=True)

    @staticmethod
    def create(
        parameters: int,
        widths: Sequence[int],
        settings: ModulationSettings,
        hidden: Sequence[int],
        key: Key,
        read_out: Sequence[tuple[int, bool]] = (),
    ) -> "HyperGenerator":
        """`widths` of the modulated layers; `hidden` widths of the generator's own; of the lift's channels that are
        read out, part by part, how many, and whether their weights are mixed by μ from the start: those of other parts
        start at one."""
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
        affine_head, affine_offset = None, None
        if sum(channels for channels, _ in read_out):
            starts = [jnp.eye(1, channels)[0] if mixed else jnp.ones(channels) for channels, mixed in read_out]
            affine_offset = jnp.concatenate(starts)
            if settings.scale or settings.shift:
                keys = items(child(key, Purpose.AFFINE_HEAD), len(read_out))
                heads = [
                    glorot(own, embedding, channels) if mixed and channels else jnp.zeros((embedding, channels))
                    for own, (channels, mixed) in zip(keys, read_out, strict=True)
                ]
                affine_head = jnp.concatenate(heads, axis=1)
        return HyperGenerator(weights, biases, scale_head, shift_head, affine_head, affine_offset, tuple(widths))

    def __call__(self, mu: Parameter) -> tuple[Modulation, ...]:
        if self.scale_head is None and self.shift_head is None:
            return tuple(Modulation(None, None) for _ in self.widths)
        embedding = self.embed(mu)
        gammas = self._split(self.scale_head, embedding, 1.0)
        betas = self._split(self.shift_head, embedding, 0.0)
        return tuple(Modulation(gamma, beta) for gamma, beta in zip(gammas, betas, strict=True))

    def affine_weights(self, mu: Parameter) -> Float[Array, "affine"] | None:
        """q(μ) = q₀ + embedding·Q, whose first entry starts near one; None without affine channels."""
        if self.affine_offset is None or self.affine_head is None:
            return self.affine_offset
        return self.affine_offset + self.embed(mu) @ self.affine_head

    def embed(self, mu: Parameter) -> Hidden:
        embedding = mu
        for weight, bias in zip(self.weights, self.biases, strict=True):
            embedding = jnp.tanh(embedding @ weight + bias)
        return embedding

    def _split(self, head, embedding: Hidden, centre: float) -> Sequence[Float[Array, "_"] | None]:
        if head is None:
            return [None] * len(self.widths)
        ends = list(itertools.accumulate(self.widths))[:-1]
        return jnp.split(centre + embedding @ head, ends)


def glorot(key: Key, inputs: int, outputs: int) -> Float[Array, "inputs outputs"]:
    """N(0, 2 / (inputs + outputs))."""
    return jax.random.normal(key, (inputs, outputs)) * (2.0 / (inputs + outputs)) ** 0.5
