"""The coupled quantum harmonic oscillator (paper, Example 3), in normal modes or in its own coordinates.

    −Δ + μ₁ Σ x_i² − μ₂ Σ x_i x_(i+1),      λ(μ) = Σ_k ω_k,      ω_k² = μ₁ − μ₂ cos(kπ/(d+1))

The discrete sine transform y = Sᵀx, the same for every μ, makes the potential Σ_k ω_k² y_k². For μ₂ > μ₁ some ω_k² is
negative in enough dimensions, and the potential unbounded below.
"""

import itertools
import math
from typing import ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.problem.parameters import ParameterSpace, Uniform
from prism.problem.potential import Index, Pair, Potential
from prism.shapes import Key, Named, Scalar

MOST_COUPLING = 0.9
"""μ₂/μ₁ up to which the softest mode is stiff enough to be told from a free one."""
ROUNDING = 1e-12
"""Of a bound that is asked for exactly."""
DECAY = 24.0
"""ωL² at the end of an interval: Ψ² has fallen to e^−24 there, and λ rises by less than 1e-9 of itself."""
PLAIN_HALF_WIDTH = 5.0


class _CoupledOscillator(Potential):
    """μ₁ Σ x_i² − μ₂ Σ x_i x_(i+1) in some coordinates."""

    dimension: int = eqx.field(static=True)
    parameters: ParameterSpace

    box: ClassVar[ParameterSpace] = Uniform(mu1=(0.8, 1.2), mu2=(0.2, 0.72))
    """The parameters unless others are given: the paper's μ₁, and of its μ₂ what keeps μ₂ ≤ 0.9 μ₁, with more below."""

    def __check_init__(self):
        if self.dimension < 1:
            raise InputError(f"an oscillator in {self.dimension} dimensions: give 1 or more")
        bounds = self.parameters.bounds()
        if set(bounds) != {"mu1", "mu2"}:
            raise InputError(f"the parameters of the oscillator are mu1 and mu2, not {', '.join(bounds)}")
        (low, _), (least, most) = bounds["mu1"], bounds["mu2"]
        if least < 0.0:
            raise InputError(f"mu2 in [{least:g}, {most:g}]: give an interval from 0 on, the sign changes no level")
        if most > MOST_COUPLING * low * (1.0 + ROUNDING):
            raise InputError(
                f"mu2 reaches {most:g} where mu1 is {low:g}: for mu2 > mu1 the potential is unbounded below and has no "
                f"ground state, and near it the softest mode is all but free; keep mu2 <= {MOST_COUPLING} mu1, here up "
                f"to {MOST_COUPLING * low:g}"
            )

    @classmethod
    def create(cls, dimension: int, key: Key | None = None, parameters: ParameterSpace | None = None) -> Self:
        """In so many dimensions; nothing of it is random."""
        return cls(dimension=dimension, parameters=parameters or cls.box)

    def frequencies(self, mu: Named) -> Float[Array, "d"]:
        """ω_k(μ) from below, k = 1 ... d."""
        return jnp.sqrt(jax.vmap(lambda i: self.stiffness(i, mu))(jnp.arange(self.dimension)))

    def stiffness(self, i: Index, mu: Named) -> Scalar:
        """ω_k², k = i + 1."""
        return mu.mu1 - mu.mu2 * jnp.cos((i + 1.0) * (math.pi / (self.dimension + 1)))

    def exact(self, mu: Named, levels: int) -> Float[Array, "levels"]:
        """The lowest of Σ_k ω_k (2n_k + 1). Each but the first excites one of the softest modes, one less than levels
        are asked for; modes are joined one after the other, and only the lowest sums kept."""
        frequencies = self.frequencies(mu)
        above = jnp.zeros(1)
        for frequency in frequencies[: levels - 1]:
            sums = above[:, None] + 2.0 * frequency * jnp.arange(levels)[None, :]
            above = jnp.sort(sums.reshape(-1))[:levels]
        return jnp.sum(frequencies) + above

    def trivial(self, mu: Named) -> Scalar:
        """d√μ₁: the best product in the oscillator's own coordinates, in which μ₂ does not appear."""
        return self.dimension * jnp.sqrt(mu.mu1)


class CoupledOscillator(_CoupledOscillator):
    """−Δ + μ₁ Σ x_i² − μ₂ Σ x_i x_(i+1), in normal modes: −Δ + Σ_k ω_k(μ)² y_k².

    The y_k are the discrete sine transform of the x_i, the same for every μ; a product of functions of them is exact.
    `--coordinates plain` takes the x_i themselves, which interact."""

    def single(self, y: Scalar, i: Index, mu: Named) -> Scalar:
        return self.stiffness(i, mu) * y * y

    def half_width(self, i: Index) -> Scalar:
        """Where the widest state of the box has decayed; the stiffness is least at a corner."""
        corners = itertools.product(*self.parameters.bounds().values())
        named = [Named(dict(zip(self.parameters.names, corner, strict=True))) for corner in corners]
        least = jnp.min(jnp.stack([self.stiffness(i, mu) for mu in named]), axis=0)
        return jnp.sqrt(DECAY / jnp.sqrt(least))


class PlainCoupledOscillator(_CoupledOscillator):
    """−Δ + μ₁ Σ x_i² − μ₂ Σ x_i x_(i+1) in its own coordinates, where neighbours are coupled, on [−5, 5]^d."""

    def single(self, y: Scalar, i: Index, mu: Named) -> Scalar:
        return mu.mu1 * y * y

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return (Pair(left=lambda y, i, mu: -mu.mu2 * y, right=lambda y, i, mu: y),)

    def half_width(self, i: Index) -> float:
        return PLAIN_HALF_WIDTH
