"""The energy of a sum of products or a train: of all coordinates at random parameters, accumulated in blocks."""

import jax
import jax.numpy as jnp

from prism.eigen.chain import pencil
from prism.eigen.network import TensorNetwork
from prism.eigen.objective import EnergyBatch, EnergyObjective
from prism.shapes import Key, Parameter, Scalar


class ChainEnergy(EnergyObjective):
    """Of a sum of products or a train."""

    def draw(self, model: TensorNetwork, key: Key) -> EnergyBatch:
        every = jnp.arange(self.potential.dimension)
        parameters = self.parameters(key, self.sampling.params)[None]
        return EnergyBatch(jnp.zeros((), jnp.int32), every, parameters, self.bends(key))

    def loss(self, model: TensorNetwork, batch: EnergyBatch) -> Scalar:
        rule = self.rule(batch.bends[0])

        def energy(mu: Parameter) -> Scalar:
            return pencil(model, self.potential, mu, rule, self.sampling.block).lowest[0]

        return jnp.mean(jax.vmap(energy)(batch.parameters[0])) / self.potential.dimension
