"""Truncated Taylor series of a network along several directions at once.

    f(x + t v_j) = c_0 + c_1(j) t + c_2(j) t² + ...          (normalised: c_k = Dᵏf[v_j, ..., v_j] / k!)

A linear operator of order K needs only the weighted sum Σ_j w_j c_K(j) of the highest coefficient, and every
rule is linear in it, so that one is carried *collapsed*: one value instead of one per direction.

Where some directions are needed to a lower order than others, they stand last and later coefficients leave them out.
"""

import abc
import itertools
from collections.abc import Callable, Sequence
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.shapes import Vector

Values = Float[Array, "*shape"]


class Jet(eqx.Module):
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

    def collapsed(self, order: int) -> Float[Array, "*shape"]:
        """Σ_j w_j c_order(j)."""
        if order == len(self.lower) + 1 and self.top is not None:
            return self.top
        return collapse(self.weights, self.lower[order - 1])

    def map_linear(self, linear: Callable[[Array], Array]) -> "Jet":
        """The jet of L(f) for a linear map L: L of each coefficient."""
        lower = tuple(jax.vmap(linear)(coefficient) for coefficient in self.lower)
        top = None if self.top is None else linear(self.top)
        return Jet(linear(self.value), lower, top, self.weights)

    def shift(self, offset: Array) -> "Jet":
        """The jet of f + constant: only the zeroth coefficient sees it."""
        return Jet(self.value + offset, self.lower, self.top, self.weights)

    def __add__(self, other: Self) -> "Jet":
        lower = tuple(a + b for a, b in zip(self.lower, other.lower, strict=True))
        top = None if self.top is None or other.top is None else self.top + other.top
        return Jet(self.value + other.value, lower, top, self.weights)

    def __mul__(self, other: Self) -> "Jet":
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


def polynomial_jet(value: Array, coefficients: Sequence[Vector], like: Jet) -> Jet:
    """The scalar jet with these c_0, c_1(j), c_2(j), ... (zero beyond), truncated and collapsed as `like` is."""
    counts = [*map(len, like.lower), len(like.weights)][: like.order]
    zeros = [jnp.zeros(count, like.weights.dtype) for count in counts[len(coefficients) :]]
    given = zip([*coefficients, *zeros], counts, strict=False)
    shortened = tuple(first_of(coefficient, count) for coefficient, count in given)
    top = None if like.top is None else collapse(like.weights, shortened[-1])
    return Jet(value, shortened[: len(like.lower)], top, like.weights)


def constant_jet(value: Array, order: int, collapsed: bool, weights: Vector) -> Jet:
    """The jet of a constant."""
    return linear_jet(value, jnp.zeros((weights.shape[0], *value.shape), value.dtype), order, collapsed, weights)


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


def stacked(first: Jet, others: Sequence[Jet]) -> Jet:
    """One jet along the directions of all, for others of order 1 beside a first one of any order."""
    if not others:
        return first
    below = jnp.concatenate([jet.lower[0] for jet in (first, *others)])
    return Jet(first.value, (below, *first.lower[1:]), first.top, first.weights)


def unstacked(jet: Jet, like: Sequence[Jet]) -> list[Jet]:
    """The jets that were `stacked`."""
    if len(like) == 1:
        return [jet]
    ends = itertools.accumulate(len(one.lower[0]) for one in like)
    below = [jet.lower[0][end - len(one.lower[0]) : end] for one, end in zip(like, ends, strict=True)]
    first = Jet(jet.value, (below[0], *jet.lower[1:]), jet.top, like[0].weights)
    return [first, *[Jet(jet.value, (own,), None, one.weights) for own, one in zip(below[1:], like[1:], strict=True)]]


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

    def push(self, jet: Jet) -> Jet:
        """The jet of σ(f):  Σ_m a_m (f − f_0)ᵐ.

        The a_m are the same for all directions, which enter through powers of their own series alone; so a
        collapsed sum is taken of those powers, before anything of σ.
        """
        a = self.taylor(jet.value, jet.order)
        powers = _powers((None, *jet.lower), [0, *map(len, jet.lower), len(jet.weights)], jet.order)
        lower = tuple(sum_of(a[m][None] * powers[m][k] for m in range(1, k + 1)) for k in range(1, len(jet.lower) + 1))
        top = None
        if jet.top is not None:
            order = jet.order
            bends = [a[m] * collapse(jet.weights, powers[m][order]) for m in range(2, order + 1)]
            top = sum_of([a[1] * jet.top, *bends])
        return Jet(a[0], lower, top, jet.weights)


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
