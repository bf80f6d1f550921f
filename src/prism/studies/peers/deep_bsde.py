"""dY = −f(Y) dt + Z·dW  along  X = √2 W,  Y_T = g(X_T):  DeepBSDE, which gives u(0, T) as Y_0.

With Y_t = u(X_t, T − t) and Z_t = √2 ∇u(X_t, T − t) this is Itô's formula. Unknown are the number Y_0 and a network for
Z; both are trained so that the Euler-Maruyama path from Y_0 ends at g:

    Y_{n+1} = Y_n − f(Y_n) Δt + Z(t_n, X_n)·ΔW_n,      minimise E |Y_N − g(X_N)|².

From the paper: 20 time steps, 64 fresh paths in each of 4,000 steps of Adam, two hidden layers of ReLU. Not from it:

- one network with the time as an input, instead of one for each time step: at d = 10,000 those would have 100 million
  weights (a shared network as in Chan-Wai-Nam, Mikael, Warin, J. Sci. Comput. 79, 2019);
- no batch normalisation: x is divided by √(2T), Z comes in units of the deviation of g(X_T);
- the width d + 10 ends at 256, and the last layer starts at zero;
- Y_0 starts at the mean of g over 256 paths instead of a random number in a range that the user guesses;
- the rate decays exponentially from 1e-2 to 1e-5 instead of staying at 5e-4, and Y_0 in units of u moves ten times as
  fast, so that a few hundred steps take it where it belongs in any dimension.

The steps of time leave about (Δt/2) |f(u(0, T)) − E f(g(X_T))|: 0.4 % of u for the heat equation with
f = (1 − u²)/(1 + u²), T = 0.3 and 20 steps, which no training removes.

Reference: E, Han, Jentzen, "Deep learning-based numerical methods for high-dimensional parabolic partial differential
equations and backward stochastic differential equations", Commun. Math. Stat. 5 (2017).
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.numerics.keys import Purpose, children
from prism.numerics.random import normals
from prism.shapes import Key, Point, Scalar
from prism.studies.peers.problem import Network, PeerResult, SemilinearProblem, Units, Unknowns, minimise, timed

PATHS = 64
"""In every training step."""


def deep_bsde(problem: SemilinearProblem, key: Key, steps: int = 4_000, time_steps: int = 20) -> PeerResult:
    """u(0, T) by so many training steps; with fewer than 300 Y_0 does not settle.

    Example:
        deep_bsde(SemilinearProblem(10, 0.3, lambda x: x @ x, jnp.zeros_like), root(0), steps=500).value   # 2dT = 6
    """
    return timed(partial(_trained, problem, steps, time_steps), key, steps)


def _trained(problem: SemilinearProblem, steps: int, time_steps: int, key: Key) -> Scalar:
    """Y_0 after training."""
    model_key, units_key, training_key = children(key, Purpose.MODEL, Purpose.UNITS, Purpose.TRAINING)
    dimension, units = problem.dimension, Units.measure(problem, units_key)
    deviation = math.sqrt(problem.horizon / time_steps)

    def loss(unknowns: Unknowns, key: Key) -> Scalar:
        moves = deviation * normals(key, PATHS * time_steps * dimension).reshape(PATHS, time_steps, dimension)
        return jnp.mean(jnp.square(jax.vmap(partial(_mismatch, problem, units, unknowns))(moves)))

    first = Unknowns.create(dimension + 1, dimension, problem.hidden_width, model_key)
    return minimise(loss, first, training_key, steps).value(units)


def _mismatch(
    problem: SemilinearProblem, units: Units, unknowns: Unknowns, moves: Float[Array, "time_steps dimension"]
) -> Scalar:
    """Y_N − g(X_N) in units of u, for the path with these moves ΔW of the Brownian motion."""
    time_steps = len(moves)
    ends = math.sqrt(2.0) * jnp.cumsum(moves, axis=0)
    starts = jnp.concatenate([jnp.zeros_like(ends[:1]), ends[:-1]])
    times = jnp.arange(time_steps) / time_steps
    # X does not depend on Y: the network sees the whole path at once, and only scalars go from step to step.
    gains = jax.vmap(partial(_gain, problem, units, unknowns.network))(times, starts, moves)

    def advance(y: Scalar, gain: Scalar) -> tuple[Scalar, None]:
        return y - problem.horizon / time_steps * problem.reaction(y) + gain, None

    y, _ = jax.lax.scan(advance, unknowns.value(units), gains)
    return (y - problem.initial(ends[-1])) / units.size


def _gain(problem: SemilinearProblem, units: Units, network: Network, time: Scalar, x: Point, move: Point) -> Scalar:
    """Z(t, x)·ΔW; `time` is t/T. The network of outputs of size one gives a deviation of Σ Z·ΔW like that of g(X_T)."""
    root = math.sqrt(problem.dimension)
    # The time is given the weight of all coordinates together.
    z = network(jnp.concatenate([x / problem.reach, root * time[None]]))
    return units.deviation / (root * math.sqrt(problem.horizon)) * (z @ move)
