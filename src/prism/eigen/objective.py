"""What a step of training lowers: the energy at random coordinates and parameters, with its derivatives by all weights.

Half the gradient g and a metric G make the natural step (G + λ)⁻¹ g. Where each coordinate has its own network, each
coordinate of a step is a problem for itself.
"""

import abc
from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from prism.eigen.metric import flat, unflattened
from prism.eigen.network import FactorNetwork, TensorNetwork
from prism.eigen.quadrature import Rule, gauss, random_bend
from prism.numerics.arguments import check_whole
from prism.numerics.keys import Purpose, child, items
from prism.problem.potential import Potential
from prism.shapes import Key, Parameter, Scalar

Weights = Float[Array, "groups weights"]
"""All weights of the networks of a step, each network a row."""


@dataclass(frozen=True)
class EnergySampling:
    """What one step sees: so many coordinates, with so many parameters, at so many nodes; `block` coordinates are
    worked on at once."""

    coordinates: int = 64
    params: int = 1
    nodes: int = 56
    block: int = 64

    def __post_init__(self) -> None:
        for name in ("coordinates", "params", "nodes", "block"):
            check_whole(name, getattr(self, name), 1)

    @property
    def argument(self) -> str:
        """As a program in Python gives it."""
        return f"sampling={self!r}"

    @property
    def pairs(self) -> int:
        return self.coordinates * self.params


class EnergyBatch(eqx.Module):
    """The draws of one step."""

    number: Int[Array, ""]
    coordinates: Int[Array, "c"]
    parameters: Float[Array, "_ m p"]
    bends: Float[Array, "2"]
    """Of the nodes that a step is made at, and of those that it is judged at."""


class System(eqx.Module):
    """Half the gradient and half the metric of the energy, of each network of a step."""

    gradient: Weights
    metric: Float[Array, "groups weights weights"]
    energy: Scalar
    """Per coordinate."""


class EnergyObjective(eqx.Module):
    """The energy of a tensor network."""

    potential: Potential
    sampling: EnergySampling = eqx.field(static=True)
    at: Parameter | None = None
    """The one μ that all draws are of; None: the whole space."""

    accumulates: ClassVar[bool] = False
    """Whether every step goes over all coordinates."""
    repeats_batches: ClassVar[bool] = True

    @property
    @abc.abstractmethod
    def roundings(self) -> float:
        """How many units of rounding a judged energy may be off by, relative to one coordinate's."""

    @abc.abstractmethod
    def draw(self, model: TensorNetwork, key: Key) -> EnergyBatch:
        """What one step sees."""

    @abc.abstractmethod
    def loss(self, model: TensorNetwork, batch: EnergyBatch) -> Scalar:
        """The energy per coordinate, with the gradient of the relative one."""

    @abc.abstractmethod
    def system(self, model: TensorNetwork, batch: EnergyBatch) -> System:
        """g and G of every network of the step."""

    @abc.abstractmethod
    def judged(self, model: TensorNetwork, batch: EnergyBatch) -> Float[Array, "groups"]:
        """The energy of every network of the step, at other nodes than those of g and G."""

    def first_failure(self, model: TensorNetwork, batch: EnergyBatch) -> str | None:
        """A sentence that names the first parameter of the batch at which the energy is not finite."""
        for mu in np.asarray(batch.parameters).reshape(-1, batch.parameters.shape[-1]):
            alone = eqx.tree_at(lambda b: b.parameters, batch, jnp.broadcast_to(mu, batch.parameters.shape))
            if not bool(jnp.isfinite(self.loss(model, alone))):
                names = zip(self.potential.parameters.names, mu, strict=True)
                where = ", ".join(f"{name} = {value:.4g}" for name, value in names)
                return f"the energy of {type(self.potential).__name__} is not finite at {where}"
        return None

    def rule(self, bend: Scalar) -> Rule:
        return gauss(self.sampling.nodes).bent(bend)

    def parameters(self, key: Key, count: int) -> Float[Array, "n p"]:
        """Random μ."""
        if self.at is not None:
            return jnp.broadcast_to(self.at, (count, len(self.at)))
        return jax.vmap(self.potential.parameters.sample)(items(child(key, Purpose.PARAMETERS), count))

    def bends(self, key: Key) -> Float[Array, "2"]:
        return jax.vmap(random_bend)(items(child(key, Purpose.DIRECTIONS), 2))

    def weights(self, model: TensorNetwork, batch: EnergyBatch) -> Weights:
        """Those of the networks of a step."""
        return flat(model.factors)[None] if model.shared else jax.vmap(flat)(_taken(model.factors, batch.coordinates))

    def put(self, model: TensorNetwork, batch: EnergyBatch, weights: Weights) -> TensorNetwork:
        """The model with these in their place."""
        if model.shared:
            return eqx.tree_at(lambda m: m.factors, model, unflattened(model.factors, weights[0]))
        some = _taken(model.factors, batch.coordinates)
        moved = jax.vmap(unflattened)(some, weights)
        put = lambda all, new: all.at[batch.coordinates].set(new) if eqx.is_inexact_array(all) else all
        return eqx.tree_at(lambda m: m.factors, model, jax.tree.map(put, model.factors, moved))


def _taken(factors: FactorNetwork, coordinates: Int[Array, "c"]) -> FactorNetwork:
    return jax.tree.map(lambda leaf: leaf[coordinates] if eqx.is_array(leaf) else leaf, factors)
