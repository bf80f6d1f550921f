"""The numbers of a network that fine-tuning may change at one μ, all of them behind the lift.

A change is a tree of arrays that starts at zero. While it is tuned, the network keeps what is frozen apart from what is
not, so that the frozen side is computed once; at the end the changes go into ordinary weights.
"""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.networks.model import Model
from prism.networks.modulation import HyperGenerator, Modulation
from prism.shapes import Parameter, Vector


class Tunable(eqx.Module):
    """Some numbers of a network, and how a change of them enters it."""

    @abc.abstractmethod
    def start(self, model: Model) -> Any:
        """No change."""

    @abc.abstractmethod
    def apply(self, model: Model, mu: Parameter, change: Any) -> Model:
        """The changed network at this μ, frozen parts kept apart."""

    @abc.abstractmethod
    def settle(self, model: Model, mu: Parameter, change: Any) -> Model:
        """The same at this μ, with ordinary weights."""


class Factored(eqx.Module):
    """W = U diag(σ) Vᵀ in factors: what a frozen V makes of frozen values need not be computed again."""

    left: Float[Array, "rows rank"]
    diagonal: Float[Array, "rank"]
    right: Float[Array, "columns rank"]

    @property
    def T(self) -> "Factored":
        return Factored(self.right, self.diagonal, self.left)

    def __rmatmul__(self, h: Float[Array, "rows"]) -> Float[Array, "columns"]:
        return ((h @ self.left) * self.diagonal) @ self.right.T

    def product(self) -> Float[Array, "rows columns"]:
        return (self.left * self.diagonal[None]) @ self.right.T


class Diagonals(Tunable):
    """The singular values of the manifold's matrices, W = U diag(σ ∘ (1 + θ)) Vᵀ: the paper's choice."""

    def start(self, model: Model) -> tuple[Vector, ...]:
        return tuple(jnp.zeros(min(weight.shape), weight.dtype) for weight in model.manifold.weights)

    def apply(self, model: Model, mu: Parameter, change: tuple[Vector, ...]) -> Model:
        return eqx.tree_at(lambda m: m.manifold.weights, model, self._factored(model, change))

    def settle(self, model: Model, mu: Parameter, change: tuple[Vector, ...]) -> Model:
        products = tuple(weight.product() for weight in self._factored(model, change))
        return eqx.tree_at(lambda m: m.manifold.weights, model, products)

    def _factored(self, model: Model, change: tuple[Vector, ...]) -> tuple[Factored, ...]:
        factors = [jnp.linalg.svd(weight, full_matrices=False) for weight in model.manifold.weights]
        pairs = zip(factors, change, strict=True)
        return tuple(Factored(left, values * (1.0 + theta), right.T) for (left, values, right), theta in pairs)


class FixedGenerator(eqx.Module):
    """A generator's answer at one μ, whatever it is asked."""

    modulations: tuple[Modulation, ...]
    affine: Vector | None
    widths: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, mu: Parameter) -> tuple[Modulation, ...]:
        return self.modulations

    def factors(self, mu: Parameter) -> Vector | None:
        return self.affine


class Modulators(Tunable):
    """γ and β at this μ of every layer of the manifold behind the first, and the weights q of what skips it."""

    def start(self, model: Model) -> FixedGenerator:
        none, zero = Modulation(None, None), lambda array: None if array is None else jnp.zeros_like(array)
        layers = model.modulation(model.parameters.middle())
        unchanged = [Modulation(zero(layer.gamma), zero(layer.beta)) for layer in layers[1 : model.depth]]
        of_lift = [none] * (len(layers) - model.depth)
        affine = zero(model.generator.factor_offset)
        return FixedGenerator((none, *unchanged, *of_lift), affine, model.generator.widths)

    def apply(self, model: Model, mu: Parameter, change: FixedGenerator) -> Model:
        standard = model.parameters.standardise(mu)
        pairs = zip(model.generator(standard), change.modulations, strict=True)
        layers = tuple(Modulation(_moved(old.gamma, new.gamma), _moved(old.beta, new.beta)) for old, new in pairs)
        affine = _moved(model.generator.factors(standard), change.affine)
        return eqx.tree_at(lambda m: m.generator, model, FixedGenerator(layers, affine, change.widths))

    def settle(self, model: Model, mu: Parameter, change: FixedGenerator) -> Model:
        """A head H becomes H + e θᵀ/|e|², e the embedding of μ: the least change that adds θ to its answer there."""
        generator = model.generator
        embedding = generator.embed(model.parameters.standardise(mu))
        direction = embedding / jnp.sum(embedding**2)

        def turned(head: Array | None, changes: list[Vector | None]) -> Array | None:
            if head is None:
                return None
            whole = [jnp.zeros(w) if new is None else new for w, new in zip(change.widths, changes, strict=True)]
            return head + jnp.outer(direction, jnp.concatenate(whole))

        settled = HyperGenerator(
            generator.weights,
            generator.biases,
            turned(generator.scale_head, [layer.gamma for layer in change.modulations]),
            turned(generator.shift_head, [layer.beta for layer in change.modulations]),
            generator.factor_head,
            _moved(generator.factor_offset, change.affine),
            generator.widths,
        )
        return eqx.tree_at(lambda m: m.generator, model, settled)


class LastLayer(Tunable):
    """The readout and its offset."""

    def start(self, model: Model) -> tuple[Vector, Array]:
        return jnp.zeros_like(model.manifold.readout), jnp.zeros_like(model.manifold.offset)

    def apply(self, model: Model, mu: Parameter, change: tuple[Vector, Array]) -> Model:
        there = lambda m: (m.manifold.readout, m.manifold.offset)
        changed = tuple(old + new for old, new in zip(there(model), change, strict=True))
        return eqx.tree_at(there, model, changed)

    settle = apply


def _moved(old: Vector | None, by: Vector | None) -> Vector | None:
    return old if old is None or by is None else old + by
