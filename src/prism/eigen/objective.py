"""What a step of training lowers: the energy of a tensor network, at random parameters."""

import abc
from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from prism.eigen.network import TensorNetwork
from prism.eigen.quadrature import Rule, gauss, random_bend
from prism.numerics.arguments import check_whole
from prism.numerics.keys import Purpose, child, items
from prism.problem.potential import Potential
from prism.shapes import Key, Parameter, Scalar

MOST_NODES = 1000
"""Of a rule, which are found as eigenvalues of a matrix of so many rows."""


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
            check_whole(name, getattr(self, name), 1, MOST_NODES if name == "nodes" else None)

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


class EnergyObjective(eqx.Module):
    """The energy of a tensor network."""

    potential: Potential
    sampling: EnergySampling = eqx.field(static=True)
    at: Parameter | None = None
    """The one μ that all draws are of; None: the whole space."""

    repeats_batches: ClassVar[bool] = True

    @abc.abstractmethod
    def draw(self, model: TensorNetwork, key: Key) -> EnergyBatch:
        """What one step sees."""

    @abc.abstractmethod
    def loss(self, model: TensorNetwork, batch: EnergyBatch) -> Scalar:
        """The energy per coordinate."""

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
