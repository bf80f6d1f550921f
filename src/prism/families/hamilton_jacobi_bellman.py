"""u_t + Δu − |∇u|² = 0 from u(x, 1) = g(x; μ): the least cost of steering dx = 2α dt + √2 dW from (x, t) to t = 1.

The cost is g at the end plus the integral of |α|² on the way, the best control α = −∇u (paper, Example 2). By Cole and
Hopf, u = −log E exp(−g(x + √(2(1−t)) Z)), which is known for both terminal costs.

Both costs are functions of quadratic forms s = xᵀAx, which in many dimensions hardly vary under the noise: u is nearly
g at s + 2(1−t) tr A, their mean, the large-d limit. Candidates are (1 − t)·N plus this, which is g at t = 1. Every term
of the equation is of the size of 1/(1 + that mean), which grows d times from a typical point to the origin at t = 1; so
the residual is multiplied by 1 + that mean, and no few points decide a step.
"""

import abc
from collections.abc import Mapping
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.derivatives.operators import GradientNormSquared, Laplacian, Operator, TimeDerivative
from prism.errors import InputError
from prism.formulas.cole_hopf import hjb_log_value, hjb_rosenbrock_value
from prism.numerics.keys import Purpose, child, items
from prism.problem.constraints import Constraint, radial
from prism.problem.domains import WholeSpace
from prism.problem.family import Derivatives, Family
from prism.problem.forms import QuadraticForm
from prism.problem.parameters import ParameterSpace, Uniform
from prism.problem.time_domains import TimeCylinder
from prism.references.cole_hopf_quadrature import hjb_log, hjb_rosenbrock
from prism.references.reference import Reference
from prism.shapes import Key, Named, Point, Scalar, Vector


class ControlFamily(Family):
    """u_t + Δu − |∇u|² = 0 on all of R^d, 0 ≤ t ≤ 1, x ~ N(0, I)."""

    domain: TimeCylinder
    parameters: ParameterSpace

    box: ClassVar[ParameterSpace]
    """The parameters unless others are given."""

    @classmethod
    @abc.abstractmethod
    def create(cls, dimension: int, key: Key, parameters: ParameterSpace | None = None) -> Self:
        """The problem in `dimension` dimensions, what is random of it drawn from the key."""

    @property
    def terms(self) -> Mapping[str, Operator]:
        return {"lap": Laplacian(), "grad2": GradientNormSquared(), "t": TimeDerivative()}

    @abc.abstractmethod
    def mean_argument(self, s: Array, t: Scalar, mu: Named) -> Scalar:
        """What the terminal cost takes the logarithm of, times 2, at the mean of its forms s under the noise."""

    @abc.abstractmethod
    def forms(self, x: Point) -> Array:
        """s at a point."""

    def residual(self, u: Derivatives, x: Point, mu: Named) -> Scalar:
        return self.mean_argument(self.forms(x), x[-1], mu) * (u.t + u.lap - u.grad2)


class HJBLog(ControlFamily):
    """u_t + Δu − |∇u|² = 0, u(x, 1) = μ₁ log((1 + |x|²)/2): the least cost of a control problem."""

    box: ClassVar[ParameterSpace] = Uniform(mu1=(0.5, 1.5))

    @classmethod
    def create(cls, dimension: int, key: Key, parameters: ParameterSpace | None = None) -> Self:
        """The problem in `dimension` dimensions; nothing of it is random."""
        return cls(domain=_domain(dimension), parameters=parameters or cls.box)

    def mean_argument(self, s: Array, t: Scalar, mu: Named) -> Scalar:
        return 1.0 + s + 2.0 * (1.0 - t) * self.domain.dimension

    def forms(self, x: Point) -> Array:
        return jnp.sum(x[:-1] ** 2)

    def constraint(self) -> Constraint:
        limit = lambda s, t, mu: mu.mu1 * jnp.log(self.mean_argument(s, t, mu) / 2.0)
        return radial(self.domain, factor=lambda s, t, mu: 1.0 - t, offset=limit)

    def exact(self, x: Point, mu: Named) -> Scalar:
        """−log E exp(−u(x + √(2(1−t)) Z, 1)), by quadrature."""
        return hjb_log_value(jnp.sum(x[:-1] ** 2), 1.0 - x[-1], mu.mu1, self.domain.dimension)

    def reference(self, x: Float[np.ndarray, "coordinates"], mu: Mapping[str, float]) -> Reference:
        return hjb_log(float(np.sum(x[:-1] ** 2)), 1.0 - float(x[-1]), mu["mu1"], self.domain.dimension)


class HJBRosenbrock(ControlFamily):
    """u_t + Δu − |∇u|² = 0, u(x, 1) = log((1 + μ₁ Σ a_i (x_i − x_{i+1})² + μ₂ Σ b_i x_{i+1}²)/2).

    The least cost of a control problem. a_i and b_i are uniform on [0.5, 1.5], drawn once and saved with the problem;
    μ₁ and μ₂ scale the two sums.
    """

    first_weights: Vector
    second_weights: Vector

    box: ClassVar[ParameterSpace] = Uniform(mu1=(0.5, 1.5), mu2=(0.5, 1.5))

    @classmethod
    def create(cls, dimension: int, key: Key, parameters: ParameterSpace | None = None) -> Self:
        """The problem in `dimension` dimensions, its weights drawn from the key."""
        if dimension < 2:
            raise InputError(f"HJBRosenbrock needs 2 dimensions or more, not {dimension}")
        first, second = (_draw_weights(own, dimension - 1) for own in items(child(key, Purpose.WEIGHTS), 2))
        return cls(
            domain=_domain(dimension),
            parameters=parameters or cls.box,
            first_weights=first,
            second_weights=second,
        )

    @property
    def norms(self) -> tuple[QuadraticForm, ...]:
        """Σ a_i (x_i − x_{i+1})² and Σ b_i x_{i+1}²."""
        a, b = self.first_weights, self.second_weights
        steps = QuadraticForm(jnp.pad(a, (0, 1)) + jnp.pad(a, (1, 0)), -2.0 * a)
        return steps, QuadraticForm(jnp.pad(b, (1, 0)))

    def mean_argument(self, s: Array, t: Scalar, mu: Named) -> Scalar:
        first, second = (s[k] + 2.0 * (1.0 - t) * jnp.sum(norm.diagonal) for k, norm in enumerate(self.norms))
        return 1.0 + mu.mu1 * first + mu.mu2 * second

    def forms(self, x: Point) -> Array:
        return jnp.stack([norm(x) for norm in self.norms])

    def constraint(self) -> Constraint:
        limit = lambda s, t, mu: jnp.log(self.mean_argument(s, t, mu) / 2.0)
        return radial(self.domain, factor=lambda s, t, mu: 1.0 - t, offset=limit, norms=self.norms)

    def exact(self, x: Point, mu: Named) -> Scalar:
        """−log E exp(−u(x + √(2(1−t)) Z, 1)), by quadrature."""
        weights = mu.mu1 * self.first_weights, mu.mu2 * self.second_weights
        return hjb_rosenbrock_value(x[:-1], 1.0 - x[-1], *weights)

    def reference(self, x: Float[np.ndarray, "coordinates"], mu: Mapping[str, float]) -> Reference:
        first, second = (np.asarray(weights, np.float64) for weights in (self.first_weights, self.second_weights))
        return hjb_rosenbrock(x[:-1], 1.0 - float(x[-1]), mu["mu1"] * first, mu["mu2"] * second)


def _draw_weights(key: Key, count: int) -> Vector:
    return jax.random.uniform(key, (count,), minval=0.5, maxval=1.5)


def _domain(dimension: int) -> TimeCylinder:
    return TimeCylinder(WholeSpace(dimension), 1.0)  # pyright: ignore[reportArgumentType]
