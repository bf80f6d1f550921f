"""Hard conditions  u = a·N + b  that hold for every network N, with the jets of a and b.

A closed form costs nothing per direction; functions of the user's own are differentiated by JAX along vectors.
"""

import abc
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.directions import Directions
from prism.derivatives.expansion import AnyExpansion, Expansion
from prism.errors import InputError
from prism.numerics.arguments import check_function, check_kind
from prism.problem.domains import Domain
from prism.problem.forms import QuadraticForm, squared_norm
from prism.shapes import Named, Point, Scalar, Vector

Field = Callable[[Point, Named], Scalar]
NormField = Callable[[Array, Scalar, Named], Scalar]
"""A function of s, t and μ; s is |x|², or the values of several forms."""


class Constraint(eqx.Module):
    """What every candidate u satisfies by its form: `apply` makes the jet of u of the jet of the network N."""

    radial: ClassVar[bool] = False
    """Whether it knows x through |x|² alone, so that directions need no more than their products with x."""
    closed: ClassVar[bool] = False
    """Whether its jets are closed formulas, so that no direction has to be written out as a vector of the space."""
    needs_norm_alone: ClassVar[bool] = False
    """Whether its value at a point needs |x| alone, so that any point of that norm can stand for it."""
    binding: ClassVar[bool] = True
    """Whether it fixes u anywhere."""

    @property
    def span_width(self) -> int:
        """How many gradients of its own, other than x, directions have to span."""
        return 0

    def gradients(self, x: Point) -> Float[Array, "coordinates span"]:
        """These gradients."""
        return jnp.zeros((x.shape[0], 0), x.dtype)

    def smooth_fields(self) -> Mapping[str, Field]:
        """By name, the functions of a point in it that have to be smooth because JAX differentiates them."""
        return {}

    @abc.abstractmethod
    def apply(self, network: AnyExpansion, x: Point, mu: Named, directions: Directions | None) -> AnyExpansion:
        """The jet of u from the jet of N, along the same directions; without any, its value alone."""


class Free(Constraint):
    """u = N."""

    radial = True
    closed = True
    needs_norm_alone = True
    binding = False

    def apply(self, network: AnyExpansion, x: Point, mu: Named, directions: Directions | None) -> AnyExpansion:
        return network


class VanishingOnSphere(Constraint):
    """u = aᵐ·N with a = 1 − |x|²/R², clamped with m = 2. Along v:  a_1 = −2 x·v/R²,  a_2 = −|v|²/R², nothing beyond."""

    radial = True
    closed = True
    needs_norm_alone = True
    radius: float = eqx.field(static=True)
    power: int = eqx.field(static=True, default=1)
    """m: u and its first m − 1 derivatives along the normal vanish."""

    def apply(self, network: AnyExpansion, x: Point, mu: Named, directions: Directions | None) -> AnyExpansion:
        inverse = 1.0 / self.radius**2
        value = 1.0 - inverse * jnp.sum(x * x)
        coefficients: tuple[Vector, ...] = ()
        if directions is not None:
            coefficients = (-2.0 * inverse * directions.inner(x), -inverse * directions.squared_norms())
        u, factor = network, network.polynomial(value, coefficients)
        for _ in range(self.power):
            u = factor * u
        return u


class NormConstraint(Constraint):
    """u = a(s, t, μ)·N + b(s, t, μ), s = |x|² or some quadratic forms. Along v, whose part of time is τ,

        a_1 = a_y·y_1,     a_2 = a_y·y_2 + y_1ᵀ a_yy y_1 / 2,     y = (s, t),  y_1 = (v·∇s, τ),  y_2 = (s(v), 0).

    No vector of the space is formed. `radial` makes one for a domain.
    """

    closed = True

    forms: tuple[QuadraticForm, ...]
    factor: NormField
    offset: NormField | None = None
    single: bool = eqx.field(static=True, default=False)
    """Whether s is |x|² alone, a number."""
    allow_kinks: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        for name, field in (("factor", self.factor), ("offset", self.offset)):
            if field is not None:
                check_function(f"the {name} of a constraint", field, ("s", "t", "mu"))

    @property
    def radial(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.single

    @property
    def span_width(self) -> int:
        return 0 if self.single else len(self.forms)

    def gradients(self, x: Point) -> Float[Array, "coordinates span"]:
        return super().gradients(x) if self.single else jnp.stack([form.gradient(x) for form in self.forms], axis=1)

    def smooth_fields(self) -> Mapping[str, Field]:
        at_point = lambda field: lambda x, mu: self._at(field, mu)(self._value(x))
        return {name: at_point(field) for name, field in _checked(self).items()}

    def apply(self, network: AnyExpansion, x: Point, mu: Named, directions: Directions | None) -> AnyExpansion:
        path = self._path(x, network, directions)
        u = _norm_jet(self._at(self.factor, mu), path, network) * network
        return u if self.offset is None else u + _norm_jet(self._at(self.offset, mu), path, network)

    def _at(self, field: NormField, mu: Named) -> Callable[[Vector], Scalar]:
        """The field as a function of y."""
        norms = lambda y: y[0] if self.single else y[:-1]
        return lambda y: jnp.asarray(field(norms(y), y[-1], mu))

    def _value(self, x: Point) -> Vector:
        """y."""
        dimension = self.forms[0].dimension
        time = x[dimension] if x.shape[0] > dimension else jnp.zeros((), x.dtype)
        return jnp.stack([*[form(x) for form in self.forms], time])

    def _path(self, x: Point, like: Expansion, directions: Directions | None) -> "_Path":
        """y and its coefficients along each direction."""
        coordinates, dimension = x.shape[0], self.forms[0].dimension
        value = self._value(x)
        if directions is None:
            return _Path(value, None, None, None)
        first = [form.firsts(x, directions) for form in self.forms]
        first = jnp.stack([*first, directions.beyond(dimension)], axis=1)
        weights = like.summed_by
        if like.order == 2 and weights is not None:
            traces = [form.trace(directions, weights, coordinates) for form in self.forms]
            return _Path(value, first, None, jnp.stack([*traces, jnp.zeros_like(value[-1])]))
        second = [form.seconds(directions, coordinates) for form in self.forms]
        return _Path(value, first, jnp.stack([*second, jnp.zeros_like(second[0])], axis=1), None)


class _Path(eqx.Module):
    """y along directions: its value, first and second coefficients, or the weighted sum of the second ones."""

    value: Float[Array, "y"]
    first: Float[Array, "n y"] | None
    second: Float[Array, "n y"] | None
    traced: Float[Array, "y"] | None


def _norm_jet(field: Callable[[Vector], Scalar], path: _Path, like: AnyExpansion) -> AnyExpansion:
    """The jet of a function of y."""
    if path.first is None:
        return like.polynomial(field(path.value), ())
    if path.second is not None and like.order > 1:
        along = lambda h, own: field(path.value + h * own[0] + h * h * own[1])
        coefficients = along_path(along, (path.first, path.second), like.order, path.value.dtype)
        return like.polynomial(field(path.value), coefficients)
    value, gradient = jax.value_and_grad(field)(path.value)
    if path.traced is None:
        return like.polynomial(value, (path.first @ gradient,))
    bends = jnp.einsum("n,na,ab,nb->", like.summed_by, path.first, jax.hessian(field)(path.value), path.first)
    return like.polynomial(value, (path.first @ gradient,), path.traced @ gradient + bends / 2)


class HardConstraint(Constraint):
    """u = a(x, μ)·N + b(x, μ) for functions of your own: `HardConstraint(factor=a, offset=b)`.

    JAX differentiates them at points, which misses kinks and jumps; both are looked for and named before training,
    unless `allow_kinks`. `prism.smoothed` is max(z, 0) without a kink.
    """

    factor: Field
    offset: Field | None = None
    allow_kinks: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        for name, field in (("factor", self.factor), ("offset", self.offset)):
            if field is not None:
                check_function(f"the {name} of a constraint", field, ("x", "mu"))

    def smooth_fields(self) -> Mapping[str, Field]:
        return _checked(self)

    def apply(self, network: AnyExpansion, x: Point, mu: Named, directions: Directions | None) -> AnyExpansion:
        vectors = None if directions is None else directions.dense(x.shape[0])
        u = _field_jet(self.factor, x, mu, vectors, network) * network
        return u if self.offset is None else u + _field_jet(self.offset, x, mu, vectors, network)


def _checked(constraint: HardConstraint | NormConstraint) -> dict[str, Any]:
    """The functions of a constraint, unless they may have kinks."""
    given = {"factor": constraint.factor, "offset": constraint.offset}
    return {} if constraint.allow_kinks else {name: field for name, field in given.items() if field is not None}


def _field_jet(field: Field, x: Point, mu: Named, vectors, like: AnyExpansion) -> AnyExpansion:
    """The jet of a user's function, by repeated `jax.jvp` along each direction."""

    value = jnp.asarray(field(x, mu))
    if vectors is None:
        return like.polynomial(value, ())
    return like.polynomial(value, along_path(lambda t, v: field(x + t * v, mu), vectors, like.order, x.dtype))


def along_path(path: Callable[[Scalar, Any], Scalar], directions: Any, order: int, dtype: Any) -> tuple[Vector, ...]:
    """The Taylor coefficients 1 ... order at t = 0 of t ↦ path(t, v) for each of the directions v."""

    def coefficients(v: Any) -> tuple[Scalar, ...]:
        along, derivatives = (lambda t: path(t, v)), []
        for k in range(1, order + 1):
            along = derivative(along)
            derivatives.append(along(jnp.zeros((), dtype)) / math.factorial(k))
        return tuple(derivatives)

    return jax.vmap(coefficients)(directions)


def derivative(function: Callable[[Scalar], Scalar]) -> Callable[[Scalar], Scalar]:
    """f' of a function of one number."""
    return lambda t: jax.jvp(function, (t,), (jnp.ones_like(t),))[1]


def vanishing(domain: Domain) -> Constraint:
    """u = 0 on the boundary of the domain."""
    check_kind("the domain of vanishing()", domain, Domain, "that of the family, self.domain")
    if domain.ball_radius is not None:
        return VanishingOnSphere(domain.ball_radius)
    raise InputError(
        f"vanishing() has a closed form on a Ball only; on {type(domain).__name__} give your own "
        "HardConstraint(factor=lambda x, mu: ...)"
    )


def clamped(domain: Domain) -> Constraint:
    """u = 0 and ∂u/∂n = 0 on the boundary of a ball, as an equation of fourth order needs: u = (1 − |x|²/R²)²·N.

    What a family's `constraint` returns: `return prism.clamped(self.domain)`.
    """
    check_kind("the domain of clamped()", domain, Domain, "that of the family, self.domain")
    if domain.ball_radius is not None:
        return VanishingOnSphere(domain.ball_radius, power=2)
    raise InputError(
        f"clamped() has a closed form on a Ball only; on {type(domain).__name__} give your own "
        "HardConstraint(factor=lambda x, mu: ...)"
    )


def radial(
    domain: Domain,
    factor: NormField,
    offset: NormField | None = None,
    norms: Sequence[QuadraticForm] = (),
    allow_kinks: bool = False,
) -> Constraint:
    """u = a(s, t, μ)·N + b(s, t, μ) with s = |x|² over the space coordinates; t is 0 where there is no time.

    `radial(domain, factor=lambda s, t, mu: t, offset=lambda s, t, mu: jnp.exp(-mu.a * s))` starts from exp(−a|x|²).
    With quadratic forms of the problem's own, `norms`, s is the array of their values. Kinks and jumps are named before
    training, unless `allow_kinks`.
    """
    forms = tuple(norms) or (squared_norm(domain.dimension),)
    return NormConstraint(forms, factor, offset, single=not norms, allow_kinks=allow_kinks)
