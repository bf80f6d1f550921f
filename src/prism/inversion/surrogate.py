"""The solution at fixed points as a function of the parameters alone.

    s ↦ u(x_i; μ(s)),     s in the unit box [0, 1]^p: the parameter space in the coordinate in which it is uniform

The points are lifted once. After that nothing sees the dimension where the hard constraint is radial, because it then
knows a point through |x| and the one-dimensional point (|x|) stands for it; another constraint is asked at x itself.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.derivatives.estimators import Estimator
from prism.networks.model import Model
from prism.numerics.keys import CHECK, stream
from prism.objective.residuals import lifted_value, residual, solution_value
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace
from prism.shapes import Hidden, Key, Parameter, Point, Scalar
from prism.solution.solution import Solution
from prism.solving.settings import default_estimator
from prism.training.natural.spring import Spring

SIZE_PAIRS = 256
"""Random pairs of a point and a parameter that tell how large u is."""


class Surrogate(eqx.Module):
    """u at the points of one data set, lifted."""

    model: Model
    family: Family
    lifted: Float[Array, "n width"]
    places: Float[Array, "n _"]

    @staticmethod
    def create(solution: Solution, points: Float[Array, "n coordinates"]) -> "Surrogate":
        return Surrogate(solution.model, solution.family, *_lifted(solution, points))

    def value(self, lifted: Hidden, place: Point, s: Parameter) -> Scalar:
        """u at one point."""
        return lifted_value(self.model, self.family, lifted, place, from_unit_box(self.family.parameters, s))

    def values_and_slopes(self, s: Parameter) -> tuple[Float[Array, "n"], Float[Array, "n p"]]:
        """u and ∂u/∂s at every point."""
        at = lambda unknown: jax.vmap(self.value, in_axes=(0, 0, None))(self.lifted, self.places, unknown)
        return at(s), jax.jacfwd(at)(s)


class Physics(eqx.Module):
    """The scaled residual r(x_i; μ(s)) / scale of the equation: where it is large the surrogate is not to be believed.

    It needs the whole points: the source does.
    """

    model: Model
    family: Family
    estimator: Estimator
    points: Float[Array, "n coordinates"]
    key: Key
    scale: Scalar

    @staticmethod
    def create(solution: Solution, points: Float[Array, "n coordinates"]) -> "Physics":
        """`scale` is the rms of the residual of the silent network at the middle μ, as in training."""
        family, key = solution.family, stream(0, CHECK)
        silent = solution.model.constant(jnp.zeros_like(solution.model.manifold.offset))
        physics = Physics(silent, family, default_estimator(family, Spring()), points, key, jnp.ones(()))
        at_rest, _ = linearise(physics, np.full((1, family.parameters.size), 0.5))
        scale = jnp.asarray(np.sqrt(np.mean(at_rest**2)) or 1.0, dtype=float)
        return eqx.tree_at(lambda p: (p.model, p.scale), physics, (solution.model, scale))

    def values_and_slopes(self, s: Parameter) -> tuple[Float[Array, "n"], Float[Array, "n p"]]:
        def one(x: Point, unknown: Parameter) -> Scalar:
            mu = from_unit_box(self.family.parameters, unknown)
            return residual(self.model, self.family, self.estimator, x, mu, self.key) / self.scale

        at = lambda unknown: jax.vmap(one, in_axes=(0, None))(self.points, unknown)
        return at(s), jax.jacfwd(at)(s)


def linearise(
    surrogate: Surrogate | Physics, s: Float[np.ndarray, "m p"]
) -> tuple[Float[np.ndarray, "m n"], Float[np.ndarray, "m n p"]]:
    """Values and slopes at every point, for each of m parameters, as float64."""
    values, slopes = _batched(surrogate, jnp.asarray(s, dtype=float))
    return np.asarray(values, np.float64), np.asarray(slopes, np.float64)


@eqx.filter_jit
def _batched(surrogate: Surrogate | Physics, s: Array) -> tuple[Array, Array]:
    return jax.vmap(surrogate.values_and_slopes)(s)


@eqx.filter_jit
def _lifted(solution: Solution, points: Array) -> tuple[Array, Array]:
    """What the network and the constraint need of each point."""
    radial = solution.family.constraint().radial
    places = jnp.linalg.norm(points, axis=1, keepdims=True) if radial else points
    return jax.vmap(solution.model.lift)(points), places


def from_unit_box(space: ParameterSpace, s: Parameter) -> Parameter:
    """μ(s)."""
    low, high = space.uniform_box()
    return space.from_uniform_coordinate(low + (high - low) * s)


def physical(space: ParameterSpace, s: Float[np.ndarray, "m p"]) -> Float[np.ndarray, "m p"]:
    """μ of each s as float64, whose ends are the bounds as they were given."""
    mu = np.asarray(jax.vmap(lambda one: from_unit_box(space, one))(jnp.asarray(s, dtype=float)), np.float64)
    lows, highs = np.asarray(space.lows), np.asarray(space.highs)
    return np.where(s <= 0.0, lows, np.where(s >= 1.0, highs, np.clip(mu, lows, highs)))


def physical_slopes(space: ParameterSpace, s: Float[np.ndarray, "p"]) -> Float[np.ndarray, "p"]:
    """∂μ_j/∂s_j."""
    one = jnp.asarray(s, dtype=float)
    return np.asarray(jax.jvp(lambda at: from_unit_box(space, at), (one,), (jnp.ones_like(one),))[1], np.float64)


@eqx.filter_jit
def typical_size(solution: Solution) -> Scalar:
    """The rms of u over domain and parameter space."""
    family = solution.family

    def one(key: Key) -> Scalar:
        x, mu = family.domain.sample(key), family.parameters.sample(jax.random.fold_in(key, 1))
        return solution_value(solution.model, family, x, mu)

    values = jax.lax.map(one, jax.random.split(stream(0, CHECK), SIZE_PAIRS))
    return jnp.sqrt(jnp.mean(values**2))
