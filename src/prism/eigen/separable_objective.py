"""The energy of a product: random coordinates, for each of them parameters of its own.

Half the gradient g and a metric G make the natural step (`natural`); both are of rows of residuals (`separable`), as of
least squares. Where each coordinate has its own network, each coordinate of a step is a problem for itself.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from prism.eigen.integrals import map_blocks
from prism.eigen.metric import GeneratorChange, LocalRows, flat, function_changes, unflattened
from prism.eigen.network import FactorNetwork, TensorNetwork
from prism.eigen.objective import EnergyBatch, EnergyObjective
from prism.eigen.quadrature import Rule
from prism.eigen.separable import OneCoordinate, one_coordinate
from prism.numerics.keys import Purpose, child
from prism.problem.potential import Index, Potential
from prism.shapes import Hidden, Key, Parameter, Scalar

Weights = Float[Array, "groups weights"]
"""All weights of the networks of a step, each network a row."""


class System(eqx.Module):
    """Half the gradient and half the metric of the energy, of each network of a step."""

    gradient: Weights
    metric: Float[Array, "groups weights weights"]
    energy: Scalar
    """Per coordinate."""


class SeparableEnergy(EnergyObjective):
    """Of a product in a separable potential."""

    def draw(self, model: TensorNetwork, key: Key) -> EnergyBatch:
        count, params, d = self.sampling.coordinates, self.sampling.params, self.potential.dimension
        draw = lambda: jax.random.randint(child(key, Purpose.POINTS), (count,), 0, d)
        # Networks of their own are moved once in a step at most.
        once = lambda: jax.random.choice(child(key, Purpose.POINTS), d, (count,), replace=False)
        coordinates = draw() if model.shared else once()
        parameters = self.parameters(key, count * params)
        return EnergyBatch(
            jnp.zeros((), jnp.int32), coordinates, parameters.reshape(count, params, -1), self.bends(key)
        )

    def loss(self, model: TensorNetwork, batch: EnergyBatch) -> Scalar:
        """The energy per coordinate; its gradient is that of the mean relative energy, so that stiff coordinates do not
        outweigh soft ones."""
        rule, sampling = self.rule(batch.bends[0]), self.sampling

        def one(number: Index) -> tuple[Scalar, Scalar]:
            i = batch.coordinates[number]
            solved = jax.vmap(lambda mu: self._solved(model, mu, i, rule))(batch.parameters[number])
            found, energy = jax.vmap(lambda s: (s.above_bottom, jnp.trace(s.energies)))(solved)
            return jnp.mean(found / jax.lax.stop_gradient(found)), jnp.mean(energy)

        relative, energy = map_blocks(one, sampling.coordinates, sampling.block)
        return jnp.mean(relative) + jax.lax.stop_gradient(jnp.mean(energy) - jnp.mean(relative))

    def system(self, model: TensorNetwork, batch: EnergyBatch) -> System:
        """g and G of every network of the step."""
        rule, groups = self.rule(batch.bends[0]), self._groups(model, batch)
        one = lambda i, mu: local_rows(model.factor(i), model.known(mu, i), self.potential, mu, i, rule)
        local, energy = _over_pairs(one, batch)
        grouped = jax.tree.map(lambda leaf: leaf.reshape(groups, -1, *leaf.shape[2:]), local)
        gradient, metric = jax.lax.map(lambda some: (some.gradient(), some.metric()), grouped)
        return System(gradient, metric, jnp.mean(energy))

    def judged(self, model: TensorNetwork, batch: EnergyBatch) -> Float[Array, "groups"]:
        """Σ log E of every network of the step, at other nodes than those of g and G."""
        found = self._logarithms(model, batch, self.rule(batch.bends[1]))
        return jnp.sum(found.reshape(self._groups(model, batch), -1), axis=1)

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

    def _logarithms(self, model: TensorNetwork, batch: EnergyBatch, rule: Rule) -> Float[Array, "c m"]:
        """Of the energies above the bottom of the potential: their changes are relative ones."""
        return jnp.log(_over_pairs(lambda i, mu: self._solved(model, mu, i, rule).above_bottom, batch))

    def _groups(self, model: TensorNetwork, batch: EnergyBatch) -> int:
        return 1 if model.shared else len(batch.coordinates)

    def _solved(self, model: TensorNetwork, mu: Parameter, i: Index, rule: Rule) -> OneCoordinate:
        return one_coordinate(model.factor(i), model.known(mu, i), self.potential, mu, i, rule)


def _taken(factors: FactorNetwork, coordinates: Int[Array, "c"]) -> FactorNetwork:
    return jax.tree.map(lambda leaf: leaf[coordinates] if eqx.is_array(leaf) else leaf, factors)


def _over_pairs(function: Callable[[Index, Parameter], Any], batch: EnergyBatch) -> Any:
    """Of every coordinate of a batch with each of its parameters."""
    of_one = lambda i, parameters: jax.vmap(lambda mu: function(i, mu))(parameters)
    return jax.vmap(of_one)(batch.coordinates, batch.parameters)


def local_rows(
    network: FactorNetwork, known: Hidden, potential: Potential, mu: Parameter, i: Index, rule: Rule
) -> tuple[LocalRows, Scalar]:
    """Of r/√|r|² of one coordinate, and the energies in r."""
    solved = one_coordinate(network, known, potential, mu, i, rule)
    q = solved.functions
    values, derivatives = function_changes(network, known, rule)
    half_width = jnp.asarray(potential.half_width(i), rule.nodes.dtype)
    through = lambda change: jnp.einsum("qtw,ts->qsw", change, solved.inverse)
    values, derivatives = through(values), through(derivatives) / half_width
    inside = jnp.einsum("ql,q,qsw->lsw", q.values, q.weights, values)
    leave = lambda change, functions: change - jnp.einsum("ql,lsw->qsw", functions, inside)
    changes = jnp.stack([leave(derivatives, q.derivatives), leave(values, q.values)])
    size = jnp.sqrt(solved.above_bottom)
    changes = (changes * solved.row_weights[..., None] / size).reshape(-1, changes.shape[-1])
    local = LocalRows(solved.rows.reshape(-1) / size, changes, GeneratorChange.of(network.generator, known))
    return local, jnp.trace(solved.energies)
