"""Truncated Taylor series of a network along several directions at once.

    f(x + t v_j) = c_0 + c_1(j) t + c_2(j) t² + ...          (normalised: c_k = Dᵏf[v_j, ..., v_j] / k!)

A linear operator of order K needs only the weighted sum Σ_j w_j c_K(j) of the highest coefficient, and every
rule is linear in it, so that one is carried *collapsed*: one value instead of one per direction.

Directions that are needed to a lower order than others stand last, and later coefficients leave them out.
"""

import abc
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.derivatives.expansion import AnyExpansion, Expansion
from prism.shapes import Vector

Values = Float[Array, "*shape"]


class Jet(Expansion):
    """c_0, then c_1 ... c_m one per direction, then (unless None) the collapsed Σ_j w_j c_{m+1}(j).

    Each coefficient is there for as many directions as the one before, or for the first of them; weights are those of
    the directions that have the highest one.
    """

    value: Float[Array, "*shape"]
    lower: tuple[Float[Array, "_ *#shape"], ...]
    top: Float[Array, "*shape"] | None
    weights: Vector

    @property
    def order(self) -> int:
        return len(self.lower) + (self.top is not None)

    @property
    def carries_first(self) -> bool:
        return bool(self.lower)

    @property
    def summed_by(self) -> Vector | None:
        return None if self.top is None else self.weights

    def collapsed(self, order: int) -> Float[Array, "*shape"]:
        """Σ_j w_j c_order(j)."""
        if order == len(self.lower) + 1 and self.top is not None:
            return self.top
        return collapse(self.weights, self.lower[order - 1])

    def map_linear(self, linear: Callable[[Array], Array]) -> "Jet":
        lower = tuple(jax.vmap(linear)(coefficient) for coefficient in self.lower)
        top = None if self.top is None else linear(self.top)
        return Jet(linear(self.value), lower, top, self.weights)

    def shift(self, offset: Array) -> "Jet":
        return Jet(self.value + offset, self.lower, self.top, self.weights)

    def __add__(self, other: "Jet") -> "Jet":
        lower = tuple(a + b for a, b in zip(self.lower, other.lower, strict=True))
        top = None if self.top is None or other.top is None else self.top + other.top
        return Jet(self.value + other.value, lower, top, self.weights)

    def __mul__(self, other: "Jet") -> "Jet":
        """Cauchy's product of two scalar jets; the collapsed sum enters linearly."""
        a, b = (self.value, *self.lower), (other.value, *other.lower)
        lower = tuple(
            sum_of([a[0] * b[k], a[k] * b[0], *[_product(a[i], b[k - i], len(a[k])) for i in range(1, k)]])
            for k in range(1, len(a))
        )
        top = None
        if self.top is not None and other.top is not None:
            top = self.value * other.top + self.top * other.value
            for i in range(1, len(a)):
                top = top + collapse(self.weights, _product(a[i], b[len(a) - i], len(self.weights)))
        return Jet(self.value * other.value, lower, top, self.weights)

    def composed(self, outer: Sequence[Array]) -> "Jet":
        """Σ_m a_m (f − f_0)ᵐ.

        The a_m are the same for all directions, which enter through powers of their own series alone; so a
        collapsed sum is taken of those powers, before anything of σ.
        """
        powers = _powers((None, *self.lower), [0, *map(len, self.lower), len(self.weights)], self.order)
        orders = range(1, len(self.lower) + 1)
        lower = tuple(sum_of(outer[m][None] * powers[m][k] for m in range(1, k + 1)) for k in orders)
        top = None
        if self.top is not None:
            bends = [outer[m] * collapse(self.weights, powers[m][self.order]) for m in range(2, self.order + 1)]
            top = sum_of([outer[1] * self.top, *bends])
        return Jet(outer[0], lower, top, self.weights)

    def polynomial(self, value: Array, coefficients: Sequence[Array], summed: Array | None = None) -> "Jet":
        if summed is not None:
            return Jet(value, tuple(coefficients), summed, self.weights)
        counts = [*map(len, self.lower), len(self.weights)][: self.order]
        zeros = [jnp.zeros(count, self.weights.dtype) for count in counts[len(coefficients) :]]
        given = zip([*coefficients, *zeros], counts, strict=False)
        shortened = tuple(first_of(coefficient, count) for coefficient, count in given)
        top = None if self.top is None else collapse(self.weights, shortened[-1])
        return Jet(value, shortened[: len(self.lower)], top, self.weights)

    def widened(self, first: Float[Array, "n *shape"]) -> "Jet":
        below = jnp.concatenate([self.lower[0], first])
        return Jet(self.value, (below, *self.lower[1:]), self.top, self.weights)

    def narrowed(self, count: int) -> tuple["Jet", Float[Array, "n *shape"]]:
        below, first = jnp.split(self.lower[0], [len(self.lower[0]) - count])
        return Jet(self.value, (below, *self.lower[1:]), self.top, self.weights), first


def collapse(weights: Vector, coefficient: Float[Array, "n *shape"]) -> Float[Array, "*shape"]:
    """Σ_j w_j c(j)."""
    # A sum, not a product with the vector of weights: XLA would transpose the batch for that.
    return jnp.sum(jax.vmap(jnp.multiply)(weights, coefficient), axis=0)


def first_of(coefficient: Float[Array, "n *shape"], count: int) -> Float[Array, "count *shape"]:
    """That of the first `count` directions."""
    return coefficient if len(coefficient) == count else coefficient[:count]


def _product(a: Float[Array, "_ *shape"], b: Float[Array, "_ *shape"], count: int) -> Float[Array, "count *shape"]:
    """a b for the first `count` directions."""
    return first_of(a, count) * first_of(b, count)


def linear_jet(
    value: Float[Array, "*shape"], first: Float[Array, "n *#shape"], order: int, collapsed: bool, weights: Vector
) -> Jet:
    """The jet of a linear function with these derivatives along the directions, to `order`: nothing beyond the first.

    Its last coefficient is collapsed or not.
    """
    lower_count = order - 1 if collapsed else order
    lower = tuple(first if k == 0 else jnp.zeros_like(first) for k in range(lower_count))
    top = None
    if collapsed:
        top = collapse(weights, first) if order == 1 else jnp.zeros_like(value)
    return Jet(value, lower, top, weights)


def point_jet(value: Float[Array, "*shape"]) -> Jet:
    """The jet of order 0: a value alone."""
    return Jet(value, (), None, jnp.zeros(0, value.dtype))


class Series:
    """Coefficients c_0 ... c_m of one truncated power series, with the arithmetic of polynomials."""

    def __init__(self, coefficients: Sequence[Array]):
        self.coefficients = tuple(coefficients)

    def __add__(self, other: "Series | float") -> "Series":
        if isinstance(other, Series):
            return Series([a + b for a, b in zip(self.coefficients, other.coefficients, strict=True)])
        return Series([self.coefficients[0] + other, *self.coefficients[1:]])

    def __neg__(self) -> "Series":
        return Series([-a for a in self.coefficients])

    def __rsub__(self, other: float) -> "Series":
        return -self + other

    def __mul__(self, other: "Series | float") -> "Series":
        if not isinstance(other, Series):
            return Series([other * a for a in self.coefficients])
        a, b = self.coefficients, other.coefficients
        return Series([sum_of(a[i] * b[k - i] for i in range(k + 1)) for k in range(len(a))])


def sum_of(terms) -> Array:
    """Their sum, without the leading 0 of `sum`."""
    first, *rest = terms
    for term in rest:
        first = first + term
    return first


class Activation(eqx.Module):
    """σ as the first component of a system dy/dz = P(y, z), P polynomial.

    From it follow σ's own Taylor coefficients at any z to any order:  (k+1) y_{k+1} = P(y, z)_k.
    """

    @abc.abstractmethod
    def start(self, z: Values) -> tuple[Values, ...]:
        """y(z); its first component is σ(z)."""

    @abc.abstractmethod
    def derivative(self, y: tuple[Series, ...], z: Series) -> tuple[Series, ...]:
        """P(y, z)."""

    def taylor(self, z: Values, order: int) -> tuple[Values, ...]:
        """a_0 ... a_order with σ(z + s) = Σ_m a_m sᵐ."""
        states = [[start] for start in self.start(z)]
        identity = [z, jnp.ones_like(z), *[jnp.zeros_like(z)] * order]
        for k in range(order):
            derivatives = self.derivative(tuple(Series(state) for state in states), Series(identity[: k + 1]))
            for state, derivative in zip(states, derivatives, strict=True):
                state.append(derivative.coefficients[k] / (k + 1))
        return tuple(states[0])

    def push(self, jet: AnyExpansion) -> AnyExpansion:
        """The expansion of σ(f)."""
        return jet.composed(self.taylor(jet.value, jet.order))


def _powers(z: Sequence, counts: Sequence[int], order: int) -> dict[int, dict[int, Array]]:
    """powers[m][k] = [tᵏ] (z_1 t + z_2 t² + ...)ᵐ for m ≤ k ≤ order, each for the first counts[k] directions."""
    powers: dict[int, dict[int, Array]] = {1: {k: z[k] for k in range(1, len(z))}}
    for m in range(2, order + 1):
        previous = powers[m - 1]
        powers[m] = {
            k: sum_of(_product(previous[i], z[k - i], counts[k]) for i in range(m - 1, k)) for k in range(m, order + 1)
        }
    return powers


class Tanh(Activation):
    """y' = 1 − y²."""

    def start(self, z: Values) -> tuple[Values, ...]:
        return (jnp.tanh(z),)

    def derivative(self, y: tuple[Series, ...], z: Series) -> tuple[Series, ...]:
        return (1.0 - y[0] * y[0],)


class Sin(Activation):
    """(sin, cos)' = (cos, −sin)."""

    def start(self, z: Values) -> tuple[Values, ...]:
        return jnp.sin(z), jnp.cos(z)

    def derivative(self, y: tuple[Series, ...], z: Series) -> tuple[Series, ...]:
        return y[1], -y[0]


class Sigmoid(Activation):
    """y' = y (1 − y)."""

    def start(self, z: Values) -> tuple[Values, ...]:
        return (jax.nn.sigmoid(z),)

    def derivative(self, y: tuple[Series, ...], z: Series) -> tuple[Series, ...]:
        return (y[0] * (1.0 - y[0]),)


class Softplus(Activation):
    """(softplus, sigmoid)' = (sigmoid, sigmoid (1 − sigmoid))."""

    def start(self, z: Values) -> tuple[Values, ...]:
        return jax.nn.softplus(z), jax.nn.sigmoid(z)

    def derivative(self, y: tuple[Series, ...], z: Series) -> tuple[Series, ...]:
        return y[1], y[1] * (1.0 - y[1])


class Swish(Activation):
    """(z s, s)' = (s + z s (1 − s), s (1 − s)) with s the sigmoid."""

    def start(self, z: Values) -> tuple[Values, ...]:
        return z * jax.nn.sigmoid(z), jax.nn.sigmoid(z)

    def derivative(self, y: tuple[Series, ...], z: Series) -> tuple[Series, ...]:
        decay = y[1] * (1.0 - y[1])
        return y[1] + z * decay, decay


class Bump(Activation):
    """y = exp(−z²/2):  y' = −z y."""

    def start(self, z: Values) -> tuple[Values, ...]:
        return (jnp.exp(-z * z / 2),)

    def derivative(self, y: tuple[Series, ...], z: Series) -> tuple[Series, ...]:
        return (-(z * y[0]),)


class Log(Activation):
    """(log z, 1/z)' = (1/z, −1/z²), for z > 0; of norms, and no activation of a network."""

    def start(self, z: Values) -> tuple[Values, ...]:
        return jnp.log(z), 1.0 / z

    def derivative(self, y: tuple[Series, ...], z: Series) -> tuple[Series, ...]:
        return y[1], -(y[1] * y[1])


ACTIVATIONS: dict[str, type[Activation]] = {
    kind.__name__.lower(): kind for kind in (Tanh, Sin, Sigmoid, Softplus, Swish, Bump)
}
