"""The network  N(x; μ) = level + amplitude · (Manifold(z_bent; μ) + q(μ)·z_rest),  z = Lift(x; μ).

Some channels of the lift skip the nonlinearity. With the weights q(μ) of the generator the affine ones make a part
a(μ) + b(μ)·x, whose gradient b(μ) moves with μ in the span of a few learned directions.
"""

from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.derivatives.directions import Gradients
from prism.derivatives.expansion import AnyExpansion
from prism.derivatives.taylor import Activation, Tanh
from prism.networks.lifts.groups import Along
from prism.networks.lifts.lift import Lift, Lifted
from prism.networks.lifts.parts import Affine, Dense, Part, Parts, parts_of
from prism.networks.manifold import Manifold
from prism.networks.modulation import FILM, HyperGenerator, Modulation, ModulationSettings
from prism.numerics.keys import Purpose, child
from prism.problem.domains import Domain
from prism.problem.parameters import ParameterSpace
from prism.shapes import Hidden, Key, Parameter, Point, Scalar


@dataclass(frozen=True)
class Architecture:
    """Sizes and settings of a network; the defaults are the paper's, section 5.1.

    `lift` says how a point enters, as a sum of parts: `Dense(128) + Affine(4)`. Behind it `depth` activated layers in
    all, the first on the lift's own channels, the others of `width`; `generator_depth` layers of `generator_width` make
    γ and β of μ, as `modulation` says.
    """

    lift: Part | Parts = Dense(128) + Affine(4)
    width: int = 128
    depth: int = 4
    generator_width: int = 64
    generator_depth: int = 3
    modulation: ModulationSettings = FILM
    activation: Activation = field(default_factory=Tanh)
    linear_lift: bool = False
    """Whether the lift's channels, once modulated, go on unbent: γ(μ) then sets the speed of time alone."""


class Model(eqx.Module):
    """N(x; μ), measured from `level` in units of `amplitude` (neither is trained: both are set from the problem)."""

    lift: Lift
    manifold: Manifold
    generator: HyperGenerator
    level: Scalar
    amplitude: Scalar
    parameters: ParameterSpace

    @staticmethod
    def create(architecture: Architecture, domain: Domain, parameters: ParameterSpace, key: Key) -> "Model":
        lift = Lift.create(parts_of(architecture.lift), domain, child(key, Purpose.LIFT))
        widths = (lift.bent_width, *[architecture.width] * (architecture.depth - 1))
        hidden = [architecture.generator_width] * architecture.generator_depth
        return Model(
            lift,
            Manifold.create(widths, architecture.activation, child(key, Purpose.MANIFOLD), architecture.linear_lift),
            HyperGenerator.create(
                parameters.size,
                (*widths, *lift.modulated),
                architecture.modulation,
                hidden,
                child(key, Purpose.GENERATOR),
                lift.factor_starts,
            ),
            jnp.zeros(()),
            jnp.ones(()),
            parameters,
        )

    def modulation(self, mu: Parameter) -> tuple[Modulation, ...]:
        """Of the manifold's layers, then of those that the lift has."""
        return self.generator(self.parameters.standardise(mu))

    @property
    def depth(self) -> int:
        """Activated layers of the manifold."""
        return len(self.manifold.weights) + 1

    def constant(self, value: Scalar) -> "Model":
        """The network that is amplitude · value everywhere."""
        outputs = lambda m: [m.manifold.readout, m.generator.factor_head, m.generator.factor_offset]
        present = lambda m: [leaf for leaf in outputs(m) if leaf is not None]
        zero = eqx.tree_at(lambda m: [m.level, *present(m)], self, replace_fn=jnp.zeros_like)
        return eqx.tree_at(lambda m: m.manifold.offset, zero, value)

    def lift_point(self, x: Point, mu: Parameter) -> Hidden:
        """z."""
        return self.lift(x, self._lift_modulation(mu))

    def lifted(self, x: Point, mu: Parameter, frames: list[Along]) -> Lifted:
        """z, and its coefficients along the directions of each frame."""
        return self.lift.lifted(x, self._lift_modulation(mu), frames)

    def gradients(self, x: Point, mu: Parameter, read_out: bool = True) -> Gradients:
        """Those in x of the lift's channels, with or without groups that are read out."""
        return self.lift.gradients(x, self._lift_modulation(mu), read_out)

    def read(self, lifted: AnyExpansion, mu: Parameter) -> AnyExpansion:
        """The expansion of N from that of z."""
        level, amplitude = jax.lax.stop_gradient((self.level, self.amplitude))
        network = self.manifold(lifted.map_linear(self.lift.bent), self.modulation(mu)[: self.depth])
        q = self.generator.factors(self.parameters.standardise(mu))
        if q is not None:
            network = network + lifted.map_linear(lambda z: self.lift.read_out(z) @ q)
        return network.map_linear(lambda value: amplitude * value).shift(level)

    def _lift_modulation(self, mu: Parameter) -> tuple[Modulation, ...]:
        return self.modulation(mu)[self.depth :] if self.lift.knows_mu else ()
