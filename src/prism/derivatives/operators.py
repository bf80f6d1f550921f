"""WHICH derivatives: operators as symmetric tensors A with  L u = <A, Dᴷu>.

Any decomposition A = Σ_j w_j v_j⊗...⊗v_j turns L u into directional derivatives, so an operator only says which
directions it takes (the estimator's where its tensor is isotropic, its own where it is a partial derivative) and how
its value is read off the jet of u. Operators that share their directions are read off one jet, and the partial
derivatives of an equation are taken together (`frames.py`).
"""

import abc
import math
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.directions import Decomposition, Dense, Draw, Gradients, Sparse, View
from prism.derivatives.estimators import Estimator
from prism.derivatives.moments import Axes, Moments, fewest_directions
from prism.derivatives.taylor import Jet
from prism.errors import InputError
from prism.numerics.arguments import check_function
from prism.shapes import Key, Named, Point, Scalar


class Place(eqx.Module):
    """Where an operator is taken: a point, a parameter, and the gradients there of the lift through which the network
    sees the space.

    The first `dimension` coordinates of x are space; one more is time.
    """

    x: Point
    mu: Named
    gradients: Gradients | None
    dimension: int = eqx.field(static=True)

    @property
    def view(self) -> View | None:
        """What the lift sees of the space coordinates."""
        if self.gradients is None:
            return None
        return View(self.gradients.mapped(lambda g: g[: self.dimension]), self.x[: self.dimension])

    @property
    def width(self) -> int:
        """Channels of the lift; 0 without one."""
        return 0 if self.gradients is None else self.gradients.width


class Operator(eqx.Module):
    """A differential operator at one point."""

    isotropic_order: ClassVar[int | None] = None
    """The order of the isotropic tensor whose directions the estimator draws for it; None where it has its own."""
    linear: ClassVar[bool] = True
    """Whether it reads the weighted sum over directions alone, so that its coefficient may be collapsed."""
    fixed: ClassVar[bool] = False
    """Whether its directions are the same at every x and μ (for one draw)."""
    is_laplacian: ClassVar[bool] = False
    """Whether it is the generator of a diffusion, Δu."""

    @property
    def is_time_derivative(self) -> bool:
        """Whether it is the first derivative by time."""
        return False

    @property
    @abc.abstractmethod
    def order(self) -> int:
        """The Taylor coefficient it reads."""

    def axes_in(self, dimension: int, coordinates: int) -> Axes | None:
        """The coordinates that it differentiates by, in order, where it is one partial derivative, at points of so many
        coordinates, the first `dimension` of them space; None elsewhere."""
        return None

    @abc.abstractmethod
    def shares_directions(self, other: "Operator") -> bool:
        """Whether both can be read off one jet."""

    @abc.abstractmethod
    def draw(self, estimator: Estimator, place: Place, key: Key) -> Draw:
        """The random part of its directions. Of the place it may use shapes alone."""

    def decompose(self, draw: Draw, place: Place) -> Decomposition:
        """Directions and weights at a place, from a draw."""
        return draw.at(place.view)

    def read(self, u: Jet) -> Scalar:
        """K! Σ_j w_j c_K(j)."""
        return math.factorial(self.order) * u.collapsed(self.order)


class Isotropic(Operator):
    """An operator whose tensor is isotropic in space: the estimator's directions as they are."""

    isotropic_order: ClassVar[int]
    fixed = True

    def shares_directions(self, other: Operator) -> bool:
        return isinstance(other, Isotropic) and other.isotropic_order == self.isotropic_order

    def draw(self, estimator: Estimator, place: Place, key: Key) -> Draw:
        return estimator.draw(self.isotropic_order, place.dimension, place.width, key)


class Laplacian(Isotropic):
    """Δu = Σ_i ∂²u/∂x_i² over the space coordinates."""

    isotropic_order = 2
    is_laplacian = True

    @property
    def order(self) -> int:
        return 2


class GradientNormSquared(Isotropic):
    """|∇u|² = Σ_j w_j (v_j·∇u)², a quadratic form in the same directions as the Laplacian's."""

    isotropic_order = 2
    linear = False

    @property
    def order(self) -> int:
        return 1

    def read(self, u: Jet) -> Scalar:
        first = u.lower[0]
        return jnp.sum(u.weights * first * first)


class Biharmonic(Isotropic):
    """Δ²u = Σ_ij ∂⁴u/∂x_i²∂x_j²."""

    isotropic_order = 4

    @property
    def order(self) -> int:
        return 4


class WeightedTrace(Operator):
    """Tr(σσᵀ D²u) with σ(x, μ): a vector of d (its diagonal) or a d × m matrix. Directions are σ v."""

    sigma: Callable[[Point, Named], Point]

    isotropic_order = 2

    def __check_init__(self):
        check_function("the σ of a WeightedTrace", self.sigma, ("x", "mu"))

    @property
    def order(self) -> int:
        return 2

    def shares_directions(self, other: Operator) -> bool:
        return isinstance(other, WeightedTrace) and other.sigma is self.sigma

    def draw(self, estimator: Estimator, place: Place, key: Key) -> Draw:
        dimension = jax.eval_shape(lambda: self._sigma(place)).shape[-1]
        return estimator.draw(2, dimension, place.width, key)

    def decompose(self, draw: Draw, place: Place) -> Decomposition:
        sigma, view = self._sigma(place), place.view
        if sigma.ndim == 1:
            isotropic = draw.at(view and View(view.gradients.mapped(lambda g: sigma[:, None] * g), sigma * view.x))
            return Decomposition(isotropic.directions.scaled(sigma), isotropic.weights)
        isotropic = draw.at(view and View(view.gradients.mapped(lambda g: sigma.T @ g), sigma.T @ view.x))
        return Decomposition(isotropic.directions.mapped(sigma), isotropic.weights)

    def _sigma(self, place: Place) -> Float[Array, "d *m"]:
        sigma, dimension = jnp.asarray(self.sigma(place.x, place.mu)), place.dimension
        if sigma.ndim not in (1, 2) or sigma.shape[0] != dimension:
            raise InputError(
                f"σ(x, μ) has shape {sigma.shape}; return ({dimension},) for a diagonal or "
                f"({dimension}, m) for a matrix"
            )
        return sigma


class OwnDirections(Operator):
    """An operator with directions of its own, the same under every estimator."""

    @abc.abstractmethod
    def directions(self, place: Place) -> Decomposition:
        """Directions and weights at a place."""

    def draw(self, estimator: Estimator, place: Place, key: Key) -> Draw:
        return Decomposition(Dense(jnp.zeros((0, 0))), jnp.zeros(0))

    def decompose(self, draw: Draw, place: Place) -> Decomposition:
        return self.directions(place)


class Directional(OwnDirections):
    """v·∇u with v(x, μ) over the coordinates of a point: (a, 1) on a TimeCylinder makes u_t + a·∇u of it."""

    velocity: Callable[[Point, Named], Point]

    def __check_init__(self):
        check_function("the velocity of a Directional", self.velocity, ("x", "mu"))

    @property
    def order(self) -> int:
        return 1

    def shares_directions(self, other: Operator) -> bool:
        return isinstance(other, Directional) and other.velocity is self.velocity

    def directions(self, place: Place) -> Decomposition:
        velocity = jnp.asarray(self.velocity(place.x, place.mu))
        if velocity.shape != place.x.shape:
            raise InputError(
                f"a velocity of shape {velocity.shape} does not fit; return {place.x.shape}, one entry per coordinate"
            )
        return Decomposition(Dense(velocity[None]), jnp.ones(1))


class PartialDerivative(OwnDirections):
    """One partial derivative by coordinates of a point. All those of an equation share one set of directions
    (`frames.py`); alone it has the fewest that give it."""

    fixed = True

    @abc.abstractmethod
    def axes_in(self, dimension: int, coordinates: int) -> Axes: ...

    def shares_directions(self, other: Operator) -> bool:
        return isinstance(other, PartialDerivative)

    def directions(self, place: Place) -> Decomposition:
        found = fewest_directions((self.axes_in(place.dimension, place.x.shape[0]),))
        return Decomposition(sparse_directions(found), jnp.asarray(found.weights[0]))


def sparse_directions(moments: Moments) -> Sparse:
    """The directions of partial derivatives, of few coordinates each."""
    return Sparse(jnp.asarray(moments.indices), jnp.asarray(moments.values))


class Partial(PartialDerivative):
    """∂ᴷu/∂x_{a}∂x_{b}...: `Partial(0, 0, 0, 1)` is u_xxxy. Exact under every estimator."""

    axes: Axes = eqx.field(static=True)

    def __init__(self, *axes: int):
        self.axes = tuple(sorted(axes))

    def __check_init__(self):
        if not self.axes or any(isinstance(a, bool) or not isinstance(a, int) or a < 0 for a in self.axes):
            raise InputError(
                f"Partial{self.axes} is no partial derivative; list the coordinates, such as Partial(0, 0, 1) for u_xxy"
            )

    @property
    def order(self) -> int:
        return len(self.axes)

    def axes_in(self, dimension: int, coordinates: int) -> Axes:
        if self.axes[-1] >= coordinates:
            raise InputError(f"Partial{self.axes} names coordinate {self.axes[-1]}; a point has {coordinates} (from 0)")
        return self.axes


class TimeDerivative(PartialDerivative):
    """∂ᵏu/∂tᵏ on a TimeCylinder, whose last coordinate is time."""

    times: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        if isinstance(self.times, bool) or not isinstance(self.times, int) or self.times < 1:
            raise InputError(f"TimeDerivative({self.times!r}): give how often to differentiate in time, 1 or more")

    @property
    def order(self) -> int:
        return self.times

    @property
    def is_time_derivative(self) -> bool:
        return self.times == 1

    def axes_in(self, dimension: int, coordinates: int) -> Axes:
        if coordinates == dimension:
            raise InputError("TimeDerivative needs a time coordinate; use TimeCylinder(space, T), space your domain")
        return (coordinates - 1,) * self.times
