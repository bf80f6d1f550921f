"""Integrals over one coordinate: Gauss and Legendre's rule on [−1, 1], and the same rule with its nodes bent.

    ξ ↦ ξ + c(1 − ξ²)    maps [−1, 1] onto itself for |c| < 1/2; with weights times 1 − 2cξ the rule stays as good

A network that is trained at the same nodes for ever learns to be wrong between them. So every step has its own bend,
and is judged at yet another one.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.shapes import Key, Scalar

MOST_BEND = 0.3
BLOCK = 64
"""Coordinates that are worked on at once where nobody says how many."""


class Rule(eqx.Module):
    """Nodes and weights of ∫ over [−1, 1]."""

    nodes: Float[Array, "q"]
    weights: Float[Array, "q"]

    def bent(self, c: Scalar) -> "Rule":
        """The rule with its nodes moved to one side."""
        return Rule(self.nodes + c * (1.0 - self.nodes**2), self.weights * (1.0 - 2.0 * c * self.nodes))


def gauss(count: int) -> Rule:
    """Exact for polynomials of degree 2·count − 1."""
    nodes, weights = _legendre(count)
    return Rule(jnp.asarray(nodes, float), jnp.asarray(weights, float))


@functools.cache
def _legendre(count: int) -> tuple[Float[np.ndarray, "q"], Float[np.ndarray, "q"]]:
    return np.polynomial.legendre.leggauss(count)


def random_bend(key: Key) -> Scalar:
    """A c that leaves the rule as good as it is."""
    return MOST_BEND * jax.random.uniform(key, minval=-1.0)
