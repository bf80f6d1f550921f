"""The functions φ_s(y_i; μ) of one coordinate, each a value of a small network, and the tensor network they make.

    φ_s(ξ; μ, i) = (1 − ξ²) · exp(N_0 − bξ²) · (N_s(ξ; γ, β) + c_s (√2b ξ)^k_s),    y_i = L_i ξ,    (γ, β) = G(μ, i)

μ enters as scale and shift of the hidden values of the one-dimensional networks alone, so that Ψ stays separable. All
coordinates share one network, whose generator is told the place of the coordinate beside μ, or each has its own.
"""

import math
from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.taylor import Activation, Tanh
from prism.eigen.forms import Form, Product
from prism.networks.modulation import FILM, NONE, HyperGenerator, Modulation, ModulationSettings, glorot
from prism.numerics.arguments import check_whole
from prism.numerics.keys import Purpose, child, items
from prism.problem.parameters import ParameterSpace
from prism.problem.potential import Index, Potential
from prism.shapes import Hidden, Key, Matrices, Parameter, Scalar, Vectors

BELL = 10.0
"""b: how narrow the functions are before training, as an exponent at the ends of their interval."""
WAVES = 3.0
"""The size of the weights that read ξ: functions of one coordinate bend some times over it."""
PARTING = 0.3
"""The size of the random part of the functions before training."""
REACH = 2.0
"""Coordinates from an end of a chain over which its nearness falls to 1/e."""


@dataclass(frozen=True)
class FactorArchitecture:
    """Sizes and settings of the one-dimensional networks."""

    width: int = 16
    depth: int = 2
    """Hidden layers."""
    generator_width: int = 16
    generator_depth: int = 2
    modulation: ModulationSettings = FILM
    activation: Activation = field(default_factory=Tanh)
    shared: bool = True
    """Whether all coordinates share one network; else each has its own."""

    def __post_init__(self) -> None:
        for name in ("width", "depth", "generator_width", "generator_depth"):
            check_whole(name, getattr(self, name), 1)


class FactorNetwork(eqx.Module):
    """ξ ↦ (N_0, ..., N_s), modulated."""

    entry: Float[Array, "*own width"]
    weights: Matrices
    biases: Vectors
    readout: Float[Array, "*own width outputs"]
    offset: Float[Array, "*own outputs"]
    generator: HyperGenerator
    activation: Activation
    powers: tuple[int, ...] = eqx.field(static=True)

    @staticmethod
    def create(architecture: FactorArchitecture, form: Form, inputs: int, key: Key) -> "FactorNetwork":
        """`inputs` numbers are what the generator reads."""
        width, depth = architecture.width, architecture.depth
        weight_keys = items(child(key, Purpose.WEIGHTS), depth - 1)
        modulation = FILM if architecture.modulation == NONE else architecture.modulation
        hidden = [architecture.generator_width] * architecture.generator_depth
        level = jnp.concatenate([jnp.zeros(1), form.offset])
        return FactorNetwork(
            WAVES * jax.random.normal(child(key, Purpose.LIFT), (width,)),
            tuple(glorot(k, width, width) for k in weight_keys),
            (jax.random.normal(child(key, Purpose.LIFT_BIAS), (width,)), *[jnp.zeros(width)] * (depth - 1)),
            PARTING * glorot(child(key, Purpose.READOUT), width, len(level)),
            level,
            HyperGenerator.create(inputs, [width] * depth, modulation, hidden, child(key, Purpose.GENERATOR)),
            architecture.activation,
            form.powers,
        )

    def __call__(self, xi: Scalar, known: Hidden) -> Float[Array, "s"]:
        """φ at ξ, where the generator is told what is `known` of μ and the coordinate."""
        return self.at_all(xi[None], known)[0][0]

    def at_all(self, xi: Float[Array, "q"], known: Hidden) -> tuple[Float[Array, "q s"], Float[Array, "q s"]]:
        """φ and dφ/dξ at many ξ."""
        return self.modulated(xi, self.generator(known))

    def modulated(
        self, xi: Float[Array, "q"], modulations: tuple[Modulation, ...]
    ) -> tuple[Float[Array, "q s"], Float[Array, "q s"]]:
        """The same under given modulations."""
        return jax.jvp(lambda xi: self._functions(xi, modulations), (xi,), (jnp.ones_like(xi),))

    def _functions(self, xi: Float[Array, "q"], modulations: tuple[Modulation, ...]) -> Float[Array, "q s"]:
        bent = lambda layer, values: self.activation.start(_modulated(modulations[layer], values))[0]
        hidden = bent(0, xi[:, None] * self.entry + self.biases[0])
        for layer, weight in enumerate(self.weights, start=1):
            hidden = bent(layer, hidden @ weight + self.biases[layer])
        found = hidden @ self.readout
        bell = (1.0 - xi**2) * jnp.exp(found[:, 0] + self.offset[0] - BELL * xi**2)
        started = jnp.stack([(math.sqrt(2.0 * BELL) * xi) ** power for power in self.powers], axis=1)
        return bell[:, None] * (found[:, 1:] + self.offset[1:] * started)


def _modulated(modulation: Modulation, values: Float[Array, "q width"]) -> Float[Array, "q width"]:
    scaled = values if modulation.gamma is None else modulation.gamma * values
    return scaled if modulation.beta is None else scaled + modulation.beta


class TensorNetwork(eqx.Module):
    """Ψ(y; μ) of all coordinates."""

    factors: FactorNetwork
    """That of all coordinates, or one for each along a first axis."""
    form: Form = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    shared: bool = eqx.field(static=True)
    blind: bool = eqx.field(static=True)
    """Whether it is not told μ."""
    parameters: ParameterSpace
    held: Parameter | None = None
    """The μ that it is told, whatever it is asked for; None: the one asked for."""

    @staticmethod
    def create(architecture: FactorArchitecture, form: Form, potential: Potential, key: Key) -> "TensorNetwork":
        space, d = potential.parameters, potential.dimension
        told = space.size + (len(place(jnp.zeros((), int), d, form)) if architecture.shared else 0)
        create = lambda key: FactorNetwork.create(architecture, form, told, key)
        factors = create(key) if architecture.shared else eqx.filter_vmap(create)(items(key, d))
        return TensorNetwork(factors, form, d, architecture.shared, architecture.modulation == NONE, space)

    def known(self, mu: Parameter, i: Index) -> Hidden:
        """What the generator is told."""
        told = self.parameters.standardise(mu if self.held is None else self.held)
        told = jnp.zeros_like(told) if self.blind else told
        return jnp.concatenate([told, place(i, self.dimension, self.form).astype(told.dtype)]) if self.shared else told

    def held_at(self, mu: Parameter) -> "TensorNetwork":
        """The wave function of this μ, for every Hamiltonian."""
        return eqx.tree_at(lambda m: m.held, self, mu, is_leaf=lambda leaf: leaf is None)

    def factor(self, i: Index) -> FactorNetwork:
        """The network of one coordinate."""
        take = lambda leaf: leaf[i] if eqx.is_array(leaf) else leaf
        return self.factors if self.shared else jax.tree.map(take, self.factors)


def place(i: Index, dimension: int, form: Form) -> Float[Array, "n"]:
    """Where a coordinate stands among all: what a network that all coordinates share is told of it. Of a sum or a train
    also how near either end is: in the middle of a long chain neighbours are told nearly the same."""
    theta = (i + 1.0) / (dimension + 1.0)
    among = jnp.stack([math.sqrt(2.0) * jnp.cos(math.pi * theta), math.sqrt(3.0) * (2.0 * theta - 1.0)])
    if isinstance(form, Product):
        return among
    return jnp.concatenate([among, jnp.exp(-jnp.stack([i, dimension - 1.0 - i]) / REACH)])
