"""φ of sites: one small network of the few coordinates of a place, its layers scaled and shifted by μ."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.taylor import Jet, Sin, Tanh
from prism.networks.lifts.parts import Sites
from prism.networks.modulation import Modulation, glorot
from prism.numerics.keys import Purpose, children
from prism.shapes import Hidden, Key


class LocalNetwork(eqx.Module):
    """The weights of φ: tanh, then sines."""

    first: Float[Array, "inputs hidden"]
    first_bias: Float[Array, "hidden"]
    second: Float[Array, "hidden features"]
    second_bias: Float[Array, "features"]

    @staticmethod
    def create(inputs: int, part: Sites, key: Key) -> "LocalNetwork":
        """First weights from smooth to steep, and biases that put every sine at its own phase."""
        purposes = (Purpose.WEIGHTS, Purpose.LIFT_BIAS, Purpose.READOUT, Purpose.SHIFT_HEAD)
        first_key, bias_key, second_key, phase_key = children(key, *purposes)
        steepness = jnp.geomspace(*part.steepness, part.hidden)
        return LocalNetwork(
            steepness[None] * jax.random.normal(first_key, (inputs, part.hidden)),
            jax.random.normal(bias_key, (part.hidden,)),
            1.5 * glorot(second_key, part.hidden, part.features),
            jax.random.normal(phase_key, (part.features,)),
        )

    def at(self, modulations: Sequence[Modulation]) -> "LocalFunction":
        """φ(·; μ) without its value at the origin; scaled and shifted hidden values are those of other weights."""
        first, first_bias = _scaled_and_shifted(self.first, self.first_bias, modulations[0])
        second, second_bias = _scaled_and_shifted(self.second, self.second_bias, modulations[1])
        origin = jnp.tanh(first_bias) @ second + second_bias
        return LocalFunction(first, first_bias, second, second_bias, jnp.sin(origin))


class LocalFunction(eqx.Module):
    """sin(tanh(y W + b) W' + b') − offset."""

    first: Float[Array, "inputs hidden"]
    first_bias: Float[Array, "hidden"]
    second: Float[Array, "hidden features"]
    second_bias: Float[Array, "features"]
    offset: Float[Array, "features"]

    def __call__(self, jet: Jet) -> Jet:
        """Its jet from that of y."""
        hidden = Tanh().push(jet.map_linear(lambda y: y @ self.first).shift(self.first_bias[None]))
        sines = Sin().push(hidden.map_linear(lambda h: h @ self.second).shift(self.second_bias[None]))
        return sines.shift(-self.offset[None])

    def derivatives(
        self, inputs: Float[Array, "inputs places"], directions: Float[Array, "m inputs"]
    ) -> "LocalDerivatives":
        """The same to second order along directions that all places share, written out: three arrays of the size of all
        hidden values, where a jet has as many as directions and two."""
        along, second = directions @ self.first, self.second.T
        t = jnp.tanh(self.first.T @ inputs + self.first_bias[:, None])
        rise = 1.0 - t * t
        values = second @ t + self.second_bias[:, None]
        firsts = jax.vmap(lambda z: (second * z[None]) @ rise)(along)
        bend = -(second * jnp.sum(along * along, axis=0)[None]) @ (t * rise)
        sine, cosine = jnp.sin(values), jnp.cos(values)
        half_laplacian = cosine * bend - 0.5 * sine * jnp.sum(firsts * firsts, axis=0)
        return LocalDerivatives(sine - self.offset[:, None], cosine[None] * firsts, half_laplacian)


class LocalDerivatives(eqx.Module):
    """φ at every place, its derivatives along m directions within the place, and half the sum of its second ones."""

    value: Float[Array, "features places"]
    first: Float[Array, "m features places"]
    half_laplacian: Float[Array, "features places"]


def _scaled_and_shifted(weight: Array, bias: Hidden, modulation: Modulation) -> tuple[Array, Hidden]:
    """The weights of γ ⊙ (y W + b) + β."""
    if modulation.gamma is not None:
        weight, bias = weight * modulation.gamma[None], bias * modulation.gamma
    return weight, bias if modulation.beta is None else bias + modulation.beta
