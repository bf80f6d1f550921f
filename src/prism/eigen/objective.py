"""What a step of training lowers: the energy at random coordinates and parameters, with its derivatives by all weights.

    SeparableEnergy    of a product: random coordinates, for each of them parameters of its own
    ChainEnergy        of a sum or a train: all coordinates, accumulated in blocks; some for the metric

Half the gradient g and a metric G make the natural step (G + λ)⁻¹ g. Where each coordinate has its own network, each
coordinate of a step is a problem for itself.
"""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from prism.eigen.chain import environments, pencil, scaled_functions
from prism.eigen.integrals import along, map_blocks
from prism.eigen.metric import LocalMetric, flat, function_changes, generator_changes, unflattened
from prism.eigen.network import FactorNetwork, TensorNetwork
from prism.eigen.quadrature import Rule, gauss, random_bend
from prism.eigen.separable import OneCoordinate, one_coordinate
from prism.numerics.arguments import check_whole
from prism.numerics.keys import Purpose, child, items
from prism.problem.potential import Index, Potential
from prism.shapes import Hidden, Key, Parameter, Scalar

BESIDE = 0.1
"""What of the energy of one coordinate is added to its metric, where its potential is near its bottom."""
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
        rule, sampling = self.rule(batch.bends[0]), self.sampling

        def one(number: Index) -> tuple[Scalar, Scalar]:
            i = batch.coordinates[number]
            solved = jax.vmap(lambda mu: self._solved(model, mu, i, rule))(batch.parameters[number])
            found, energy = jax.vmap(lambda s: (s.above_bottom, jnp.trace(s.energies)))(solved)
            return jnp.mean(found / jax.lax.stop_gradient(found)), jnp.mean(energy)

        relative, energy = map_blocks(one, sampling.coordinates, sampling.block)
        return jnp.mean(relative) + jax.lax.stop_gradient(jnp.mean(energy) - jnp.mean(relative))

    def system(self, model: TensorNetwork, batch: EnergyBatch) -> System:
        rule, groups = self.rule(batch.bends[0]), self._groups(model, batch)
        one = lambda i, mu: _local(model.factor(i), model.known(mu, i), self.potential, mu, i, rule)
        local, energy = _crossed(one, batch)
        grouped = jax.tree.map(lambda leaf: leaf.reshape(groups, -1, *leaf.shape[2:]), local)
        gradient, metric = jax.lax.map(lambda some: some.summed(), grouped)
        return System(gradient, metric, jnp.mean(energy))

    def judged(self, model: TensorNetwork, batch: EnergyBatch) -> Float[Array, "groups"]:
        found = self._logarithms(model, batch, self.rule(batch.bends[1]))
        return jnp.sum(found.reshape(self._groups(model, batch), -1), axis=1)

    def _logarithms(self, model: TensorNetwork, batch: EnergyBatch, rule: Rule) -> Float[Array, "c m"]:
        """Of the energies above the bottom of the potential: their changes are relative ones."""
        return jnp.log(_crossed(lambda i, mu: self._solved(model, mu, i, rule).above_bottom, batch))

    def _groups(self, model: TensorNetwork, batch: EnergyBatch) -> int:
        return 1 if model.shared else len(batch.coordinates)

    def _solved(self, model: TensorNetwork, mu: Parameter, i: Index, rule: Rule) -> OneCoordinate:
        return one_coordinate(model.factor(i), model.known(mu, i), self.potential, mu, i, rule)


def _crossed(function: Callable[[Index, Parameter], Any], batch: EnergyBatch) -> Any:
    """Of every coordinate of a batch with each of its parameters."""
    of_one = lambda i, parameters: jax.vmap(lambda mu: function(i, mu))(parameters)
    return jax.vmap(of_one)(batch.coordinates, batch.parameters)


def _local(
    network: FactorNetwork, known: Hidden, potential: Potential, mu: Parameter, i: Index, rule: Rule
) -> tuple[LocalMetric, Scalar]:
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
    local = LocalMetric.of(changes, solved.rows.reshape(-1) / size, generator_changes(network, known))
    return local, jnp.trace(solved.energies)


class ChainEnergy(EnergyObjective):
    """Of a sum of products or a train. The gradient is that of all coordinates; the metric that of some, each as if
    the others did not move."""

    accumulates = True

    def draw(self, model: TensorNetwork, key: Key) -> EnergyBatch:
        count, params, d = self.sampling.coordinates, self.sampling.params, self.potential.dimension
        coordinates = jax.random.randint(child(key, Purpose.POINTS), (count,), 0, d)
        return EnergyBatch(jnp.zeros((), jnp.int32), coordinates, self.parameters(key, params)[None], self.bends(key))

    def loss(self, model: TensorNetwork, batch: EnergyBatch) -> Scalar:
        return self._energy(model, batch, batch.bends[0])

    def system(self, model: TensorNetwork, batch: EnergyBatch) -> System:
        weights = flat(model.factors)
        of = lambda w: self._energy(self.put(model, batch, w[None]), batch, batch.bends[0])
        energy, gradient = jax.value_and_grad(of)(weights)
        rule, parameters = self.rule(batch.bends[0]), batch.parameters[0]
        around = jax.vmap(lambda mu: environments(model, self.potential, mu, rule, self.sampling.block))(parameters)
        which = jnp.arange(len(batch.coordinates)) % len(parameters)
        one = lambda i, m: self._local(model, parameters[m], i, rule, around[m, i])
        metric = jax.vmap(one)(batch.coordinates, which).summed()[1] / len(batch.coordinates)
        return System(gradient[None] / 2.0, metric[None], energy)

    def judged(self, model: TensorNetwork, batch: EnergyBatch) -> Float[Array, "groups"]:
        return self._energy(model, batch, batch.bends[1])[None]

    def _energy(self, model: TensorNetwork, batch: EnergyBatch, bend: Scalar) -> Scalar:
        rule, block = self.rule(bend), self.sampling.block
        one = lambda mu: pencil(model, self.potential, mu, rule, block).lowest[0]
        return jnp.mean(jax.vmap(one)(batch.parameters[0])) / self.potential.dimension

    def _local(
        self, model: TensorNetwork, mu: Parameter, i: Index, rule: Rule, environment: Float[Array, "s s"]
    ) -> LocalMetric:
        """∂Ψ/∂θ through one coordinate in the norm of its energy, but for what changes the size of Ψ."""
        network, known = model.factors, model.known(mu, i)
        raw, scales = scaled_functions(model, self.potential, mu, i, rule)
        values, derivatives = (change * scales[:, None] for change in function_changes(network, known, rule))
        derivatives = derivatives / jnp.asarray(self.potential.half_width(i), rule.nodes.dtype)
        squared = jnp.sum(environment * raw.overlaps())
        scaling = jnp.einsum("qs,st,q,qtw->w", raw.values, environment, raw.weights, values) / squared
        single = along(self.potential.single, raw.positions, i, self.potential.parameters.named(mu))
        above = single - jnp.min(single)
        energy = jnp.sum(environment * raw.energies(above)) / squared
        leave = lambda change, functions: change - functions[..., None] * scaling
        weigh = lambda change, weights: jnp.einsum("qsw,st,q,qtv->wv", change, environment, weights / squared, change)
        product = weigh(leave(derivatives, raw.derivatives), raw.weights)
        product = product + weigh(leave(values, raw.values), raw.weights * (above + BESIDE * energy))
        return LocalMetric(product, jnp.zeros(len(product)), generator_changes(network, known))
