"""The network  N(x; μ) = amplitude · (Manifold(z; μ) + q(μ)·z_affine),  z = Lift(x).

The last channels of the lift skip the nonlinearity: with the weights q(μ) of the generator they make an affine part
a(μ) + b(μ)·x, whose gradient b(μ) moves with μ in the span of a few learned directions.
"""

from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp

from prism.derivatives.taylor import Activation, Jet, Tanh
from prism.networks.lift import Lift
from prism.networks.manifold import Manifold
from prism.networks.modulation import FILM, HyperGenerator, Modulation, ModulationSettings
from prism.numerics.keys import Purpose, child
from prism.problem.domains import Domain
from prism.problem.parameters import ParameterSpace
from prism.shapes import Key, Parameter, Scalar


@dataclass(frozen=True)
class Architecture:
    """Sizes and settings of a network; the defaults are the paper's, section 5.1.

    `lift_width` channels of the lift, then `depth` activated layers in all, those behind the lift of `width`;
    `generator_depth` layers of `generator_width` make γ and β of μ, as `modulation` says; `affine` channels of the lift
    skip the nonlinearity.
    """

    lift_width: int = 128
    width: int = 128
    depth: int = 4
    generator_width: int = 64
    generator_depth: int = 3
    modulation: ModulationSettings = FILM
    activation: Activation = field(default_factory=Tanh)
    affine: int = 4
    lift_bias: float = 0.0
    """Deviation of the lift's first biases: away from zero the activation bends, and curvature can be learned."""
    clocks: float | None = None
    """Deviation of the first weights of time, the last coordinate, in a quarter of the lift's channels that begin as
    clocks, without space, while the others begin without time. None: all channels see all coordinates."""
    linear_lift: bool = False
    """Whether the lift's channels, once modulated, go on unbent: γ(μ) then sets the speed of time alone."""


class Model(eqx.Module):
    """N(x; μ), whose output is measured in units of `amplitude` (not trained: set from the problem)."""

    lift: Lift
    manifold: Manifold
    generator: HyperGenerator
    amplitude: Scalar
    parameters: ParameterSpace

    @staticmethod
    def create(architecture: Architecture, domain: Domain, parameters: ParameterSpace, key: Key) -> "Model":
        widths = (architecture.lift_width, *[architecture.width] * (architecture.depth - 1))
        hidden = [architecture.generator_width] * architecture.generator_depth
        return Model(
            Lift.create(
                domain.coordinates,
                architecture.lift_width,
                child(key, Purpose.LIFT),
                architecture.affine,
                architecture.lift_bias,
                architecture.clocks,
            ),
            Manifold.create(widths, architecture.activation, child(key, Purpose.MANIFOLD), architecture.linear_lift),
            HyperGenerator.create(
                parameters.size,
                widths,
                architecture.modulation,
                hidden,
                child(key, Purpose.GENERATOR),
                architecture.affine,
            ),
            jnp.ones(()),
            parameters,
        )

    def modulation(self, mu: Parameter) -> tuple[Modulation, ...]:
        return self.generator(self.parameters.standardise(mu))

    def constant(self, value: Scalar) -> "Model":
        """The network that is amplitude · value everywhere."""
        outputs = lambda m: [m.manifold.readout, m.generator.affine_head, m.generator.affine_offset]
        present = lambda m: [leaf for leaf in outputs(m) if leaf is not None]
        zero = eqx.tree_at(present, self, replace_fn=jnp.zeros_like)
        return eqx.tree_at(lambda m: m.manifold.offset, zero, value)

    def read(self, lifted: Jet, mu: Parameter) -> Jet:
        """The jet of N from that of z."""
        amplitude, width = jax.lax.stop_gradient(self.amplitude), self.generator.widths[0]
        network = self.manifold(lifted.map_linear(lambda z: z[:width]), self.modulation(mu))
        q = self.generator.affine_weights(self.parameters.standardise(mu))
        if q is not None:
            network = network + lifted.map_linear(lambda z: z[width:] @ q)
        return network.map_linear(lambda value: amplitude * value)
