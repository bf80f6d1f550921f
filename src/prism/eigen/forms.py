"""How the functions of single coordinates are joined to one of all: as a product, a sum of products, or a train.

    Product   Ψ = Π_i φ_i(y_i)
    Sum(p)    Ψ = Σ_j α_j Π_i φ_ij(y_i)
    Train(p)  Ψ = e₁ᵀ A_1(y_1) A_2(y_2) ... A_d(y_d) α,    A_i a p × p matrix of functions

A sum is a train of diagonal matrices. Integrals over one coordinate after the other carry a p × p matrix from left to
right; at the end α solves a problem of p × p numbers, at every μ for itself.
"""

import abc
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.numerics.arguments import check_whole

Bond = Float[Array, "p p"]
"""⟨left part j, left part k⟩ of all coordinates so far."""
Overlaps = Float[Array, "s s"]
"""⟨φ_s, X φ_t⟩ of the functions of one coordinate."""


class Form(abc.ABC):
    """What is made of the functions of every coordinate."""

    @property
    @abc.abstractmethod
    def rank(self) -> int:
        """p."""

    @property
    @abc.abstractmethod
    def functions(self) -> int:
        """How many there are of each coordinate."""

    @property
    @abc.abstractmethod
    def offset(self) -> Float[Array, "s"]:
        """What is added to the random outputs, so that training begins with one product in every term."""

    @property
    def powers(self) -> tuple[int, ...]:
        """Of ξ, times which that constant is added: functions that are to be orthogonal begin apart."""
        return (0,) * self.functions

    @abc.abstractmethod
    def scales(self, overlaps: Overlaps) -> Float[Array, "s"]:
        """Factors of the functions of a coordinate, with which nothing over- or underflows over many of them."""

    @property
    @abc.abstractmethod
    def first(self) -> Float[Array, "p"]:
        """The row before the first coordinate."""

    @abc.abstractmethod
    def carried(self, bond: Bond, overlaps: Overlaps) -> Bond:
        """The bond behind a coordinate, of that before it."""

    @abc.abstractmethod
    def carried_back(self, bond: Bond, overlaps: Overlaps) -> Bond:
        """The bond of the coordinates from this one to the last, of that of those behind it."""

    @abc.abstractmethod
    def matrix(self, values: Float[Array, "s"]) -> Float[Array, "p p"]:
        """A, of the values of the functions of a coordinate."""

    def multiplied(self, row: Float[Array, "p"], values: Float[Array, "s"]) -> Float[Array, "p"]:
        """The row behind a coordinate whose functions have these values, of that before it."""
        return row @ self.matrix(values)

    @property
    def start(self) -> Bond:
        """The bond before the first coordinate."""
        return self.first[:, None] * self.first[None, :]


@dataclass(frozen=True)
class Sum(Form):
    """Σ_j α_j Π_i φ_ij."""

    terms: int = 1

    def __post_init__(self) -> None:
        check_whole("terms", self.terms, 1)

    @property
    def rank(self) -> int:
        return self.terms

    @property
    def functions(self) -> int:
        return self.rank

    @property
    def offset(self) -> Float[Array, "s"]:
        return jnp.ones(self.rank)

    @property
    def first(self) -> Float[Array, "p"]:
        return jnp.ones(self.rank)

    def scales(self, overlaps: Overlaps) -> Float[Array, "s"]:
        return 1.0 / jnp.sqrt(jnp.diagonal(overlaps))

    def carried(self, bond: Bond, overlaps: Overlaps) -> Bond:
        return bond * overlaps

    def carried_back(self, bond: Bond, overlaps: Overlaps) -> Bond:
        return bond * overlaps

    def matrix(self, values: Float[Array, "s"]) -> Float[Array, "p p"]:
        return jnp.diag(values)


@dataclass(frozen=True)
class Train(Form):
    """e₁ᵀ A_1 A_2 ... A_d α."""

    bond: int = 2

    def __post_init__(self) -> None:
        check_whole("bond", self.bond, 1)

    @property
    def rank(self) -> int:
        return self.bond

    @property
    def functions(self) -> int:
        return self.rank * self.rank

    @property
    def offset(self) -> Float[Array, "s"]:
        return jnp.eye(self.rank).reshape(-1)

    @property
    def first(self) -> Float[Array, "p"]:
        return jnp.eye(self.rank)[0]

    def scales(self, overlaps: Overlaps) -> Float[Array, "s"]:
        return jnp.full(self.functions, jnp.sqrt(self.rank / jnp.trace(overlaps)))

    def carried(self, bond: Bond, overlaps: Overlaps) -> Bond:
        p = self.rank
        return jnp.einsum("ab,akbl->kl", bond, overlaps.reshape(p, p, p, p))

    def carried_back(self, bond: Bond, overlaps: Overlaps) -> Bond:
        p = self.rank
        return jnp.einsum("akbl,kl->ab", overlaps.reshape(p, p, p, p), bond)

    def matrix(self, values: Float[Array, "s"]) -> Float[Array, "p p"]:
        return values.reshape(self.rank, self.rank)


@dataclass(frozen=True)
class Product(Form):
    """Π_i φ_i, of separable potentials; `excited` functions above the lowest of each coordinate, each orthogonal to
    those below it, make the levels above."""

    excited: int = 0

    def __post_init__(self) -> None:
        check_whole("excited", self.excited, 0)

    @property
    def rank(self) -> int:
        return 1

    @property
    def functions(self) -> int:
        return 1 + self.excited

    @property
    def offset(self) -> Float[Array, "s"]:
        return jnp.ones(self.functions)

    @property
    def powers(self) -> tuple[int, ...]:
        return tuple(range(self.functions))

    @property
    def first(self) -> Float[Array, "p"]:
        return jnp.ones(1)

    def scales(self, overlaps: Overlaps) -> Float[Array, "s"]:
        return 1.0 / jnp.sqrt(jnp.diagonal(overlaps))

    def carried(self, bond: Bond, overlaps: Overlaps) -> Bond:
        return bond * overlaps[:1, :1]

    def carried_back(self, bond: Bond, overlaps: Overlaps) -> Bond:
        return bond * overlaps[:1, :1]

    def matrix(self, values: Float[Array, "s"]) -> Float[Array, "p p"]:
        return values[:1, None]
