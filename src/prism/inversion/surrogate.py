"""The solution at fixed points as a function of the parameters alone.

    s ↦ u(x_i; μ(s)),     s in the unit box [0, 1]^p: the parameter space in the coordinate in which it is uniform

The points are lifted once. After that nothing sees the dimension where the hard constraint is radial, because it then
knows a point through |x| and the one-dimensional point (|x|) stands for it; another constraint is asked at x itself.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.derivatives.estimators import Estimator
from prism.networks.model import Model
from prism.numerics.keys import Purpose, child, items, stream
from prism.objective.batches import Batch, Sampling, draw_batch
from prism.objective.estimation import judging_estimator
from prism.objective.residuals import batch_residuals, lifted_value, solution_value, span_width
from prism.objective.units import draw_constant_batch, residual_scale
from prism.problem.family import Family
from prism.problem.parameters import ParameterSpace
from prism.problem.terms import sample_pair
from prism.shapes import Hidden, Key, Parameter, Point, Scalar
from prism.solution.solution import Solution

SIZE_PAIRS = 256
"""Random pairs of a point and a parameter that tell how large u is."""


class Surrogate(eqx.Module):
    """u at the points of one data set as a function of s: what the lift makes of each point, and what the constraint
    needs of it (`places`). A lift that moves with μ cannot be taken once: then the places are the points."""

    model: Model
    family: Family
    lifted: Float[Array, "n width"] | None
    places: Float[Array, "n _"]

    @staticmethod
    def create(solution: Solution, points: Float[Array, "n coordinates"]) -> "Surrogate":
        """Lift the points, once for all μ where the lift allows it (`Lift.knows_mu`)."""
        if solution.model.lift.knows_mu:
            return Surrogate(solution.model, solution.family, None, points)
        return Surrogate(solution.model, solution.family, *_lifted(solution, points))

    def value(self, lifted: Hidden | None, place: Point, s: Parameter) -> Scalar:
        """u(x; μ(s)) at one lifted point, or at a point."""
        mu = from_unit_box(self.family.parameters, s)
        if lifted is None:
            return solution_value(self.model, self.family, place, mu)
        return lifted_value(self.model, self.family, lifted, place, mu)

    def values_and_sensitivities(self, s: Parameter) -> tuple[Float[Array, "n"], Float[Array, "n p"]]:
        """u and ∂u/∂s at every point."""
        at = lambda unknown: jax.vmap(self.value, in_axes=(0, 0, None))(self.lifted, self.places, unknown)
        return _with_sensitivities(at, s)


class Physics(eqx.Module):
    """The scaled residual r(x_i; μ(s)) / scale of the equation: where it is large the surrogate is not to be believed.

    It needs the whole points: the source does. The directions of its derivatives are drawn once, in `batch`, and stay
    the same for every s.
    """

    model: Model
    family: Family
    batch: Batch
    scale: Scalar

    @staticmethod
    @eqx.filter_jit
    def create(
        solution: Solution, points: Float[Array, "n coordinates"], estimator: Estimator | None = None
    ) -> "Physics":
        """Draw the directions, once, and measure `scale`: the residual's root mean square at the points and the middle
        μ where the network is 0, as in training."""
        model, family = solution.model, solution.family
        estimator = estimator or judging_estimator(model, family)
        sampling, key = Sampling(points.shape[0], 1, crossed=True), stream(0, Purpose.CHECK)
        places = points, family.parameters.middle()[None]
        at_places = lambda batch: eqx.tree_at(lambda b: (b.points, b.parameters), batch, places)
        constant_batch = draw_constant_batch(family, estimator, sampling, child(key, Purpose.UNITS))
        scale = residual_scale(family, at_places(constant_batch))
        batch = at_places(draw_batch(family, estimator, sampling, span_width(model, family), False, key))
        return Physics(model, family, batch, scale)

    def values_and_sensitivities(self, s: Parameter) -> tuple[Float[Array, "n"], Float[Array, "n p"]]:
        """The scaled residual and its derivative by s at every point."""

        def at(unknown: Parameter) -> Float[Array, "n"]:
            mu = from_unit_box(self.family.parameters, unknown)
            batch = eqx.tree_at(lambda b: b.parameters, self.batch, mu[None])
            return batch_residuals(self.model, self.family, batch) / self.scale

        return _with_sensitivities(at, s)


def linearise(
    surrogate: Surrogate | Physics, s: Float[np.ndarray, "m p"]
) -> tuple[Float[np.ndarray, "m n"], Float[np.ndarray, "m n p"]]:
    """Values and sensitivities ∂/∂s at every point, for each of m parameters, as float64.

    m is filled up to a power of two: every other number is a program to compile.
    """
    count = len(s)
    filled = np.resize(s, (1 << (count - 1).bit_length(), s.shape[1]))
    values, sensitivities = _batched(surrogate, jnp.asarray(filled, dtype=float))
    return np.asarray(values, np.float64)[:count], np.asarray(sensitivities, np.float64)[:count]


def _with_sensitivities(
    at: Callable[[Parameter], Float[Array, "n"]], s: Parameter
) -> tuple[Float[Array, "n"], Float[Array, "n p"]]:
    """A function's values and its derivatives by s, traced once."""
    sensitivities, values = jax.jacfwd(lambda unknown: (at(unknown),) * 2, has_aux=True)(s)
    return values, sensitivities


@eqx.filter_jit
def _batched(surrogate: Surrogate | Physics, s: Array) -> tuple[Array, Array]:
    return jax.vmap(surrogate.values_and_sensitivities)(s)


@eqx.filter_jit
def _lifted(solution: Solution, points: Array) -> tuple[Array, Array]:
    """What the network and the constraint need of each point."""
    family = solution.family
    shortened = family.constraint().needs_norm_alone and not family.has_background
    places = jnp.linalg.norm(points, axis=1, keepdims=True) if shortened else points
    return jax.vmap(solution.model.lift)(points), places


def from_unit_box(space: ParameterSpace, s: Parameter) -> Parameter:
    """μ(s): from the unit box to the parameter space."""
    low, high = space.uniform_box()
    return space.from_uniform_coordinate(low + (high - low) * s)


def physical(space: ParameterSpace, s: Float[np.ndarray, "m p"]) -> Float[np.ndarray, "m p"]:
    """μ of each s as float64, whose ends are the bounds as they were given."""
    mu = np.asarray(_physical_and_lengths(space, jnp.asarray(s, dtype=float))[0], np.float64)
    lows, highs = np.asarray(space.lows), np.asarray(space.highs)
    return np.where(s <= 0.0, lows, np.where(s >= 1.0, highs, np.clip(mu, lows, highs)))


def physical_lengths(space: ParameterSpace, s: Float[np.ndarray, "p"]) -> Float[np.ndarray, "p"]:
    """∂μ_j/∂s_j: how long the box's sides are at s in each parameter's own unit."""
    return np.asarray(_physical_and_lengths(space, jnp.asarray(s, dtype=float)[None])[1][0], np.float64)


@eqx.filter_jit
def _physical_and_lengths(space: ParameterSpace, s: Array) -> tuple[Array, Array]:
    """μ and ∂μ_j/∂s_j of each s."""
    at = lambda one: from_unit_box(space, one)
    return jax.vmap(lambda one: jax.jvp(at, (one,), (jnp.ones_like(one),)))(s)


@eqx.filter_jit
def typical_size(solution: Solution) -> Scalar:
    """The root mean square of u over random pairs of the domain and the parameter space."""
    family = solution.family

    def one(key: Key) -> Scalar:
        x, mu = sample_pair(family, key)
        return solution_value(solution.model, family, x, mu)

    values = jax.lax.map(one, items(stream(0, Purpose.CHECK), SIZE_PAIRS))
    return jnp.sqrt(jnp.mean(values**2))
