"""WHICH derivatives: operators as symmetric tensors A with  L u = <A, Dᴷu>.

Any decomposition A = Σ_j w_j v_j⊗...⊗v_j turns L u into directional derivatives, so an operator only says how its
tensor is decomposed (by the estimator where it is isotropic, exactly where it is a partial derivative) and
how its value is read off the jet of u. Operators with the same frame are read off one jet.
"""

import abc
import itertools
import math
from collections.abc import Callable, Hashable
from fractions import Fraction

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.derivatives.directions import Decomposition, Dense, Sparse, along_axes
from prism.derivatives.estimators import Estimator, View
from prism.derivatives.taylor import Jet
from prism.errors import InputError
from prism.problem.domains import Domain, TimeCylinder
from prism.problem.parameters import Named
from prism.shapes import Key, Point, Scalar

Weight = Float[Array, "coordinates width"] | None


class Operator(eqx.Module):
    """A differential operator at one point."""

    @property
    def fixed(self) -> bool:
        """Whether its directions are the same at every x and μ (under one key)."""
        return True

    @property
    @abc.abstractmethod
    def order(self) -> int:
        """The Taylor coefficient it reads."""

    @property
    def linear(self) -> bool:
        """Whether it reads the weighted sum over directions alone, so that its coefficient may be collapsed."""
        return True

    @property
    @abc.abstractmethod
    def frame(self) -> Hashable:
        """What its directions depend on; operators with equal frames share them."""

    @abc.abstractmethod
    def decompose(
        self, estimator: Estimator, domain: Domain, x: Point, mu: Named, key: Key, weight: Weight = None
    ) -> Decomposition:
        """Directions and weights at x and μ; `weight` is the lift's, for estimators that look at it."""

    def read(self, u: Jet) -> Scalar:
        """K! Σ_j w_j c_K(j)."""
        return math.factorial(self.order) * u.collapsed(self.order)


class Laplacian(Operator):
    """Δu = Σ_i ∂²u/∂x_i² over the space coordinates."""

    @property
    def order(self) -> int:
        return 2

    @property
    def frame(self) -> Hashable:
        return "isotropic, order 2"

    def decompose(
        self, estimator: Estimator, domain: Domain, x: Point, mu: Named, key: Key, weight: Weight = None
    ) -> Decomposition:
        return estimator.decompose(2, domain.dimension, key, _view(domain, weight, x))


class GradientNormSquared(Operator):
    """|∇u|² = Σ_j w_j (v_j·∇u)², a quadratic form in the same directions as the Laplacian's."""

    @property
    def order(self) -> int:
        return 1

    @property
    def linear(self) -> bool:
        return False

    @property
    def frame(self) -> Hashable:
        return "isotropic, order 2"

    def decompose(
        self, estimator: Estimator, domain: Domain, x: Point, mu: Named, key: Key, weight: Weight = None
    ) -> Decomposition:
        return estimator.decompose(2, domain.dimension, key, _view(domain, weight, x))

    def read(self, u: Jet) -> Scalar:
        slopes = u.lower[0]
        return jnp.sum(u.weights * slopes * slopes)


class Biharmonic(Operator):
    """Δ²u = Σ_ij ∂⁴u/∂x_i²∂x_j²."""

    @property
    def order(self) -> int:
        return 4

    @property
    def frame(self) -> Hashable:
        return "isotropic, order 4"

    def decompose(
        self, estimator: Estimator, domain: Domain, x: Point, mu: Named, key: Key, weight: Weight = None
    ) -> Decomposition:
        return estimator.decompose(4, domain.dimension, key, _view(domain, weight, x))


class WeightedTrace(Operator):
    """Tr(σσᵀ D²u) with σ(x, μ): a vector of d (its diagonal) or a d × m matrix. Directions are σ v."""

    sigma: Callable[[Point, Named], Point]

    @property
    def fixed(self) -> bool:
        return False

    @property
    def order(self) -> int:
        return 2

    @property
    def frame(self) -> Hashable:
        return "trace", id(self.sigma)

    def decompose(
        self, estimator: Estimator, domain: Domain, x: Point, mu: Named, key: Key, weight: Weight = None
    ) -> Decomposition:
        sigma = jnp.asarray(self.sigma(x, mu))
        if sigma.ndim not in (1, 2) or sigma.shape[0] != domain.dimension:
            raise InputError(
                f"σ(x, μ) has shape {sigma.shape}; return ({domain.dimension},) for a diagonal or "
                f"({domain.dimension}, m) for a matrix"
            )
        view = _view(domain, weight, x)
        if sigma.ndim == 1:
            seen = view and View(sigma[:, None] * view.weight, sigma * view.x)
            isotropic = estimator.decompose(2, domain.dimension, key, seen)
            return Decomposition(isotropic.directions.scaled(sigma), isotropic.weights)
        seen = view and View(sigma.T @ view.weight, sigma.T @ view.x)
        isotropic = estimator.decompose(2, sigma.shape[1], key, seen)
        return Decomposition(isotropic.directions.mapped(sigma), isotropic.weights)


class Directional(Operator):
    """v·∇u with v(x, μ) over the coordinates of a point: (a, 1) on a TimeCylinder makes u_t + a·∇u of it."""

    velocity: Callable[[Point, Named], Point]

    @property
    def fixed(self) -> bool:
        return False

    @property
    def order(self) -> int:
        return 1

    @property
    def frame(self) -> Hashable:
        return "direction", id(self.velocity)

    def decompose(
        self, estimator: Estimator, domain: Domain, x: Point, mu: Named, key: Key, weight: Weight = None
    ) -> Decomposition:
        velocity = self.velocity(x, mu)
        if velocity.shape != x.shape:
            raise InputError(
                f"a velocity of shape {velocity.shape} does not fit; return {x.shape}, one entry a coordinate"
            )
        return Decomposition(Dense(velocity[None]), jnp.ones(1))


class Partial(Operator):
    """∂ᴷu/∂x_{a}∂x_{b}...: `Partial(0, 0, 0, 1)` is u_xxxy. Exact under every estimator, by polarisation.

    With α the multi-index, K = |α| and h = α − 2k (Kan, J. Multivariate Anal. 99, 2008):
    x^α = 1/(2ᴷ K!) Σ_{0≤k≤α} (−1)^{|k|} Π_i C(α_i, k_i) (h·x)ᴷ.
    """

    axes: tuple[int, ...] = eqx.field(static=True)

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

    @property
    def frame(self) -> Hashable:
        distinct = tuple(sorted(set(self.axes)))
        return ("axis", distinct) if len(distinct) == 1 else ("mixed", self.axes)

    def decompose(
        self, estimator: Estimator, domain: Domain, x: Point, mu: Named, key: Key, weight: Weight = None
    ) -> Decomposition:
        if self.axes[-1] >= domain.coordinates:
            raise InputError(
                f"Partial{self.axes} names coordinate {self.axes[-1]}; a point has {domain.coordinates} (from 0)"
            )
        axes = sorted(set(self.axes))
        directions, weights = polarise(tuple(self.axes.count(axis) for axis in axes))
        indices = np.tile(axes, (len(directions), 1))
        return Decomposition(Sparse(jnp.asarray(indices), jnp.asarray(directions)), jnp.asarray(weights))


class TimeDerivative(Operator):
    """∂ᵏu/∂tᵏ on a TimeCylinder, whose last coordinate is time."""

    times: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        if isinstance(self.times, bool) or not isinstance(self.times, int) or self.times < 1:
            raise InputError(f"TimeDerivative({self.times!r}): give how often to differentiate in time, 1 or more")

    @property
    def order(self) -> int:
        return self.times

    @property
    def frame(self) -> Hashable:
        return "time"

    def decompose(
        self, estimator: Estimator, domain: Domain, x: Point, mu: Named, key: Key, weight: Weight = None
    ) -> Decomposition:
        if not isinstance(domain, TimeCylinder):
            raise InputError(
                f"TimeDerivative needs a time coordinate; use TimeCylinder({type(domain).__name__}(...), T)"
            )
        return along_axes(jnp.asarray([domain.coordinates - 1]), jnp.ones(1))


def _view(domain: Domain, weight: Weight, x: Point) -> View | None:
    """The space coordinates of lift and point."""
    return None if weight is None else View(weight[: domain.dimension], x[: domain.dimension])


def polarise(multi_index: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Directions h and weights w with Σ_j w_j Dᴷu[h_j, ..., h_j] = ∂^α u: Kan's formula, parallel terms merged."""
    order = sum(multi_index)
    merged: dict[tuple[int, ...], Fraction] = {}
    for k in itertools.product(*[range(a + 1) for a in multi_index]):
        h = tuple(a - 2 * b for a, b in zip(multi_index, k, strict=True))
        length = math.gcd(*h)
        if length == 0:
            continue
        leading = next(entry for entry in h if entry)
        signed_length = length if leading > 0 else -length
        primitive = tuple(entry // signed_length for entry in h)
        binomials = math.prod(math.comb(a, b) for a, b in zip(multi_index, k, strict=True))
        weight = Fraction((-1) ** sum(k) * binomials, 2**order * math.factorial(order))
        merged[primitive] = merged.get(primitive, Fraction(0)) + weight * signed_length**order
    kept = {direction: weight for direction, weight in merged.items() if weight}
    return np.array(list(kept), dtype=float), np.array([float(weight) for weight in kept.values()])
