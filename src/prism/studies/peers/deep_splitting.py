"""u(x, t_n) ≈ E[ V_{n−1}(x + ξ) + Δt f(V_{n−1}(x + ξ)) ],  ξ ~ N(0, 2Δt I):  deep splitting.

A step of the reaction, then one of the diffusion, whose expectation is found by regression. From V_0 = g on, slice by
slice, V_n is the network with the least

    E | V_n(X) − V_{n−1}(X + ξ) − Δt f(V_{n−1}(X + ξ)) |²,      X ~ N(0, 2(T − t_n) I),

so that X + ξ has the law at which V_{n−1} was trained, and the last X is the point 0 itself.

From the paper: 20 slices, 500 steps of Adam in each with 256 fresh points, two hidden layers of ReLU. Not from it:

- a slice starts from the network of the slice before, not from a random one;
- no batch normalisation: x is divided by √(2T), and V is a level in units of u with a network in units of the deviation
  of g(X_T), both from 256 paths before training;
- the width d + 10 ends at 256, and the last layer starts at zero;
- the rate decays exponentially from 1e-2 to 1e-5 in every slice, and is ten times that for the level, not in three
  stairs from 0.1 to 1e-3;
- the last slice, a single number in the paper, is a network as all others, trained at the point 0 alone.

The explicit step of the reaction leaves about (Δt/2) |f(u(0, T)) − E f(g(X_T))|: 0.4 % of u for the heat equation with
f = (1 − u²)/(1 + u²), T = 0.3 and 20 slices, which no training removes.

Reference: Beck, Becker, Cheridito, Jentzen, Neufeld, "Deep splitting method for parabolic PDEs", SIAM J. Sci. Comput.
43 (2021).
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from prism.numerics.keys import Purpose, child, children, item
from prism.shapes import Key, Point, Scalar
from prism.studies.peers.problem import PeerResult, SemilinearProblem, Units, Unknowns, gaussians, minimise, timed

POINTS = 256
"""In every training step."""


def deep_splitting(problem: SemilinearProblem, key: Key, steps_per_slice: int = 500, slices: int = 20) -> PeerResult:
    """u(0, T) by so many training steps on each of so many slices of time; `steps` of the result counts all of them.

    Example:
        deep_splitting(SemilinearProblem(10, 0.3, lambda x: x @ x, jnp.zeros_like), root(0)).value   # 2dT = 6
    """
    return timed(partial(_trained, problem, steps_per_slice, slices), key, slices * steps_per_slice)


def _trained(problem: SemilinearProblem, steps: int, slices: int, key: Key) -> Scalar:
    """V of the last slice at the point 0."""
    model_key, units_key = children(key, Purpose.MODEL, Purpose.UNITS)
    units = Units.measure(problem, units_key)

    def advance(unknowns: Unknowns, number: Int[Array, ""]) -> tuple[Unknowns, None]:
        slice_key = item(child(key, Purpose.TRAINING), number)
        return _next_slice(problem, units, unknowns, number, steps, slices, slice_key), None

    first = Unknowns.create(problem.dimension, 1, problem.hidden_width, model_key)
    last, _ = jax.lax.scan(advance, first, jnp.arange(slices))
    return _value(problem, units, last, jnp.zeros(problem.dimension))


def _next_slice(
    problem: SemilinearProblem,
    units: Units,
    previous: Unknowns,
    number: Int[Array, ""],
    steps: int,
    slices: int,
    key: Key,
) -> Unknowns:
    """V_n from V_{n−1}, with n − 1 the number of slices before."""
    duration = problem.horizon / slices
    spread = jnp.sqrt(2.0 * duration * (slices - 1 - number))

    def loss(unknowns: Unknowns, key: Key) -> Scalar:
        keys = children(key, Purpose.POINTS, Purpose.NOISE)
        points, moves = (gaussians(key, POINTS, problem.dimension) for key in keys)
        points = spread * points
        moved = points + math.sqrt(2.0 * duration) * moves
        before = jax.lax.cond(
            number == 0, jax.vmap(problem.initial), jax.vmap(partial(_value, problem, units, previous)), moved
        )
        targets = before + duration * jax.vmap(problem.reaction)(before)
        fitted = jax.vmap(partial(_value, problem, units, unknowns))(points)
        return jnp.mean(jnp.square((fitted - targets) / units.size))

    return minimise(loss, previous, key, steps)


def _value(problem: SemilinearProblem, units: Units, unknowns: Unknowns, x: Point) -> Scalar:
    """V(x)."""
    return unknowns.value(units) + units.deviation * unknowns.network(x / problem.reach)[0]
