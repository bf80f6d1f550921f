"""u_t = Δu + f(u; μ) from u(x, 0) = g(x), asked at the origin at t = T (paper, section 5.10).

Let v_t = Δv with v = g at t = 0, known in closed form, and y = Φ(t, y₀) the solution of y' = f(y) with y = y₀ at t = 0.
In many dimensions g(x + √(2t) Z) hardly varies, and u is nearly Φ(t, v): the large-d limit. What it leaves,

    u = Φ(t, v) + w,      w_t = Δw + f(Φ + w; μ) − f(Φ; μ) + Φ_vv |∇v|²,      w = (t/T)² N,

is all that is trained: Φ(t, v) solves the equation up to Φ_vv |∇v|², which begins with t and falls with d. Neither g
nor v is differentiated twice, so a kink in g does no harm.
"""

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from prism.derivatives.operators import Laplacian, Operator, TimeDerivative
from prism.derivatives.taylor import sum_of
from prism.formulas.diffusion import diffused_inverse_quadratic
from prism.formulas.flow import reaction_flow
from prism.problem.constraints import Constraint, derivative, radial
from prism.problem.family import Derivatives, Family
from prism.problem.known import KnownValues
from prism.problem.parameters import ParameterSpace, Uniform
from prism.problem.time_domains import DiffusionPaths
from prism.references.radial import radial_solutions
from prism.references.reference import Reference
from prism.shapes import Key, Named, Point, Scalar

Values = Any
"""u at one point, or an array of values at many, of JAX or NumPy."""
HORIZON = 0.3
MEAN_NODES = 4
"""Of the mean of f' between Φ and u."""


class SemilinearFamily(Family):
    """u_t = Δu + f(u; μ), 0 ≤ t ≤ T, whose diffused initial state v is known; asked at (0, T)."""

    domain: DiffusionPaths
    parameters: ParameterSpace

    box: ClassVar[ParameterSpace] = Uniform(mu1=(0.8, 1.2), mu2=(0.8, 1.2))
    """The parameters unless others are given: the paper's."""

    @classmethod
    def create(cls, dimension: int, key: Key, parameters: ParameterSpace | None = None) -> Self:
        """The problem in `dimension` dimensions; nothing of it is random."""
        return cls(domain=DiffusionPaths(dimension, HORIZON), parameters=parameters or cls.box)

    @property
    def terms(self) -> Mapping[str, Operator]:
        return {"lap": Laplacian(), "t": TimeDerivative()}

    @abc.abstractmethod
    def reaction(self, u: Values, mu: Named) -> Values:
        """f(u; μ), of one value or of an array of them."""

    @abc.abstractmethod
    def initial(self, space: Point) -> Scalar:
        """g, the state at t = 0; `space` is x without time."""

    @abc.abstractmethod
    def diffused(self, x: Point) -> Scalar:
        """v at (x, t)."""

    @abc.abstractmethod
    def diffused_with_gradient(self, x: Point) -> tuple[Scalar, Scalar]:
        """v and |∇v|² at (x, t)."""

    def residual(self, u: Derivatives, x: Point, mu: Named) -> Scalar:
        f = lambda value: self.reaction(value, mu)
        v, gradient_squared = self.diffused_with_gradient(x)
        flow = lambda start: reaction_flow(f, start, x[-1])
        curvature = derivative(derivative(flow))(v)  # Φ_vv
        return u.t - u.lap - increment(f, flow(v), u.value) - curvature * gradient_squared

    def constraint(self) -> Constraint:
        return radial(self.domain, factor=lambda s, t, mu: (t / self.domain.horizon) ** 2)

    def background(self, x: Point, mu: Named) -> Scalar:
        """Φ(t, v), the large-d limit."""
        return reaction_flow(lambda value: self.reaction(value, mu), self.diffused(x), x[-1])

    @abc.abstractmethod
    def references(self, x: Float[np.ndarray, "coordinates"], parameters: Float[np.ndarray, "n p"]) -> list[Reference]:
        """u at one point for each of some parameters, computed without a network."""

    def known_values(self, parameters: Float[np.ndarray, "n p"]) -> KnownValues:
        return KnownValues.at_one_point(self.query_point(), self.references(self.query_point(), parameters))

    def reference(self, x: Float[np.ndarray, "coordinates"], mu: Mapping[str, float]) -> Reference:
        return self.references(x, np.asarray([[mu[name] for name in self.parameters.names]]))[0]

    def reaction_at(self, parameters: Float[np.ndarray, "n p"]) -> Callable[[Values], Values]:
        """f for each of some parameters at once, in double precision."""
        columns = np.asarray(parameters, np.float64).T
        named = Named(dict(zip(self.parameters.names, columns, strict=True)))
        return lambda u: self.reaction(u, named)

    def query_point(self) -> Float[np.ndarray, "coordinates"]:
        """(0, T)."""
        return np.append(np.zeros(self.domain.dimension), self.domain.passing_time)


class RadialSemilinearFamily(SemilinearFamily):
    """The same from g = 5/(10 + 2|x|²): u is a function of |x|² and t."""

    def initial(self, space: Point) -> Scalar:
        return initial_state(jnp.sum(space * space))

    def diffused(self, x: Point) -> Scalar:
        return self._at_norm(jnp.sum(x[:-1] ** 2), x[-1])

    def diffused_with_gradient(self, x: Point) -> tuple[Scalar, Scalar]:
        """|∇v|² = 4s v_s²."""
        s = jnp.sum(x[:-1] ** 2)
        v, by_s = jax.value_and_grad(lambda norm: self._at_norm(norm, x[-1]))(s)
        return v, 4.0 * s * by_s * by_s

    def _at_norm(self, s: Scalar, t: Scalar) -> Scalar:
        return diffused_inverse_quadratic(s, t, self.domain.dimension)

    def references(self, x: Float[np.ndarray, "coordinates"], parameters: Float[np.ndarray, "n p"]) -> list[Reference]:
        """By the radial solver in one space dimension."""
        s, t = float(np.sum(np.asarray(x[:-1], np.float64) ** 2)), float(x[-1])
        with jax.enable_x64(True):
            return radial_solutions(self.domain.dimension, initial_state, self.reaction_at(parameters), t, s)


def initial_state(s):
    """g = 5/(10 + 2s), s = |x|²."""
    return 5.0 / (10.0 + 2.0 * s)


def increment(f: Callable[[Scalar], Scalar], y: Scalar, w: Scalar) -> Scalar:
    """f(y + w) − f(y) = w ∫_0^1 f'(y + θw) dθ, to the last digit of a w that is small beside y."""
    nodes, weights = np.polynomial.legendre.leggauss(MEAN_NODES)
    rates = [weight / 2 * jax.grad(f)(y + (1 + node) / 2 * w) for node, weight in zip(nodes, weights, strict=True)]
    return w * sum_of(rates)
