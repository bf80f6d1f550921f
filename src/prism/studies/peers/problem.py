"""u_t = Δu + f(u),  u(x, 0) = g(x),  asked for u(0, T): the question that every peer answers, for one μ at a time.

X_T ~ N(0, 2T I)      where the paths of the diffusion from x = 0 end
Units                 the sizes of g(X_T) and of u, from a few such paths
Unknowns              a level in units of u, and a network in units of the deviation of g(X_T)
minimise              Adam on fresh draws in every step
timed                 the answer, with compilation apart from training
"""

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from prism.errors import InputError
from prism.numerics.keys import Purpose, child, item, items
from prism.numerics.random import normals
from prism.shapes import Hidden, Key, Matrices, Point, Scalar, Vectors

MOST_WIDTH = 256
"""Hidden layers are no wider than this; up to d = 246 they have the papers' width d + 10."""
PATHS_FOR_UNITS = 256
RATE, LAST_RATE = 1e-2, 1e-5
"""The rate of Adam decays exponentially from the one to the other."""
LEVEL_SPEED = 10.0
"""How much faster than the network a level moves: it may have to cross the size of u, and is a single number."""
EPSILON = 1e-12
"""Of Adam. Gradients of the network shrink with the deviation of g(X_T), which is 10⁻⁵ of u at d = 10,000 for the heat
equation of the papers: the usual 1e-8 would stop them."""


@dataclass(frozen=True)
class SemilinearProblem:
    """u_t = Δu + f(u) on ℝ^d from u(x, 0) = g(x); `initial` is g at one point, `reaction` is f, `horizon` is T.

    Example:
        SemilinearProblem(10, 0.3, lambda x: jnp.arctan(jnp.max(x)), lambda u: u - u**3)
    """

    dimension: int
    horizon: float
    initial: Callable[[Point], Scalar]
    reaction: Callable[[Scalar], Scalar]

    def __post_init__(self):
        if self.dimension < 1 or not 0.0 < self.horizon < math.inf:
            raise InputError(
                f"dimension {self.dimension} and horizon {self.horizon} leave nothing to solve; "
                "give a dimension of at least 1 and a finite horizon above 0"
            )

    @property
    def hidden_width(self) -> int:
        """Of the networks for this problem."""
        return min(self.dimension + 10, MOST_WIDTH)

    @property
    def reach(self) -> float:
        """√(2T): the deviation of each coordinate of X_T."""
        return math.sqrt(2.0 * self.horizon)


@dataclass(frozen=True)
class PeerResult:
    """An estimate of u(0, T), the seconds that training took, those that compilation took before, and the number of
    training steps in all."""

    value: float
    seconds: float
    compile_seconds: float
    steps: int


class Units(eqx.Module):
    """Mean and deviation of g(X_T), and the size of u: √E g² + T √E f(g)²."""

    mean: Scalar
    deviation: Scalar
    size: Scalar

    @staticmethod
    def measure(problem: SemilinearProblem, key: Key) -> "Units":
        """From a few paths."""
        ends = problem.reach * gaussians(key, PATHS_FOR_UNITS, problem.dimension)
        values = jax.vmap(problem.initial)(ends)
        root_mean_square = lambda values: jnp.sqrt(jnp.mean(jnp.square(values)))
        size = root_mean_square(values) + problem.horizon * root_mean_square(jax.vmap(problem.reaction)(values))
        # Everything is divided by the size, also where u is zero everywhere.
        size = jnp.maximum(size, jnp.finfo(size.dtype).tiny)
        return Units(jnp.mean(values), jnp.std(values), size)


class Network(eqx.Module):
    """Layers  h' = relu(√2 h W/√n + b)  with n the length of h, weights of size one, and a linear last layer.

    With the division by √n outside of W, one rate of Adam suits every dimension and width. The last layer starts at
    zero, for it would only add noise.
    """

    weights: Matrices
    biases: Vectors

    @staticmethod
    def create(widths: tuple[int, ...], key: Key) -> "Network":
        """`widths` from the inputs to the outputs."""
        *pairs, (inputs, outputs) = itertools.pairwise(widths)
        keys = items(key, len(pairs))
        drawn = [gaussians(layer_key, a + 1, b) for layer_key, (a, b) in zip(keys, pairs, strict=True)]
        weights = (*(matrix[1:] for matrix in drawn), jnp.zeros((inputs, outputs)))
        biases = (*(matrix[0] for matrix in drawn), jnp.zeros(outputs))
        return Network(weights, biases)

    def __call__(self, inputs: Float[Array, "inputs"]) -> Hidden:
        *layers, (last_weight, last_bias) = zip(self.weights, self.biases, strict=True)
        hidden = inputs
        for weight, bias in layers:
            hidden = jax.nn.relu(math.sqrt(2.0 / len(hidden)) * (hidden @ weight) + bias)
        return hidden @ last_weight / math.sqrt(len(hidden)) + last_bias


class Unknowns(eqx.Module):
    """What is trained: a level, which moves a value of u away from the mean of g(X_T), and a network."""

    level: Scalar
    network: Network

    @staticmethod
    def create(inputs: int, outputs: int, width: int, key: Key) -> "Unknowns":
        """The level at zero, two hidden layers of this width."""
        return Unknowns(jnp.zeros(()), Network.create((inputs, width, width, outputs), child(key, Purpose.WEIGHTS)))

    def value(self, units: Units) -> Scalar:
        """The level as a value of u."""
        return units.mean + LEVEL_SPEED * units.size * self.level


def gaussians(key: Key, count: int, dimension: int) -> Float[Array, "count dimension"]:
    """So many points of N(0, I)."""
    return normals(key, count * dimension).reshape(count, dimension)


def minimise(loss: Callable[[Unknowns, Key], Scalar], unknowns: Unknowns, key: Key, steps: int) -> Unknowns:
    """The unknowns after so many steps of Adam, each with the loss of a fresh key."""
    optimiser = optax.adam(optax.exponential_decay(RATE, steps, LAST_RATE / RATE), eps=EPSILON)

    def step(state: tuple[Unknowns, Any], number: Int[Array, ""]) -> tuple[tuple[Unknowns, Any], None]:
        unknowns, memory = state
        updates, memory = optimiser.update(jax.grad(loss)(unknowns, item(key, number)), memory)
        return (eqx.apply_updates(unknowns, updates), memory), None

    first = (unknowns, optimiser.init(eqx.filter(unknowns, eqx.is_array)))
    (unknowns, _), _ = jax.lax.scan(step, first, jnp.arange(steps))
    return unknowns


def timed(program: Callable[[Key], Scalar], key: Key, steps: int) -> PeerResult:
    """What the program gives for this key, compiled first and then run once."""
    begun = time.perf_counter()
    compiled = jax.jit(program).lower(key).compile()
    ready = time.perf_counter()
    value = float(jax.block_until_ready(compiled(key)))
    return PeerResult(value, time.perf_counter() - ready, ready - begun, steps)
