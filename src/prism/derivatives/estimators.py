"""HOW derivatives are taken: laws of directions whose rank-one terms sum, or average, to a tensor.

An estimator decomposes the isotropic tensors of d dimensions: δ_ij (order 2, the Laplacian) and the symmetric
part of δ_ij δ_kl (order 4, the biharmonic). Everything else about an operator lies in `operators.py`.

| estimator | the literature's name |
|---|---|
| Exact | full Taylor mode, forward Laplacian |
| Coordinates(n) | SDGD (Hu et al. 2023), sparse STDE (Shi et al. 2024) |
| Rademacher(n), Gaussian(n) | HTE (Hu et al. 2023), dense STDE |
| Gram(), Gram(n) | new here: the Gram matrix of the lift, exact at any d, or n directions drawn from it |
"""

import abc
from dataclasses import replace
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from prism.derivatives.directions import Decomposition, Dense, Draw, Sparse, along_axes
from prism.derivatives.polarisation import fourth_powers
from prism.derivatives.spans import Mixture, QuarticMixture, with_point_and_rest
from prism.errors import InputError
from prism.numerics.keys import Purpose, child
from prism.numerics.random import normals, random_subset
from prism.shapes import Key


class Estimator(eqx.Module):
    """A law of directions: how derivatives are taken.

    `draw` gives directions and weights whose rank-one terms sum, exactly or in the mean, to an isotropic tensor. With
    `shared=True` one draw serves all points of a batch, else each point has its own; `count` is how many directions.
    """

    shared = False
    """Whether one draw of directions serves the whole batch, or each point has its own."""

    @property
    @abc.abstractmethod
    def unbiased_orders(self) -> frozenset[int]:
        """The orders of the isotropic tensors that it decomposes without bias."""

    @abc.abstractmethod
    def law(self, order: int, dimension: int, width: int, key: Key) -> Draw:
        """A draw of the isotropic tensor, exact or with that mean; `width` counts the channels of the lift that will
        see its directions."""

    @abc.abstractmethod
    def direction_count(self, order: int, dimension: int, width: int) -> int:
        """How many directions `law` draws, at the least."""

    @property
    def given_count(self) -> int | None:
        """How many directions it was told to draw; None where it takes all that the problem has."""
        return None

    def with_count(self, count: int) -> "Estimator":
        """The same law with so many directions, of one that is told how many."""
        raise InputError(
            f"{type(self).__name__} takes every direction there is, not {count}; use an estimator with a number of "
            "directions, such as prism.Gaussian(16)"
        )

    def draw(self, order: int, dimension: int, width: int, key: Key) -> Draw:
        """`law`, refused where it would be biased."""
        if order not in self.unbiased_orders:
            good = [name for name, example in EXAMPLES.items() if order in example.unbiased_orders]
            raise InputError(
                f"{type(self).__name__} is biased for an operator of order {order}; use {' or '.join(good)}"
            )
        return self.law(order, dimension, width, child(key, Purpose.DIRECTIONS))


class Exact(Estimator):
    """Every direction that is needed: d for order 2, d² for order 4; no variance."""

    shared: bool = eqx.field(static=True, default=True)

    @property
    def unbiased_orders(self) -> frozenset[int]:
        return frozenset({2, 4})

    def law(self, order: int, dimension: int, width: int, key: Key) -> Draw:
        return _subset_decomposition(order, dimension, jnp.arange(dimension))

    def direction_count(self, order: int, dimension: int, width: int) -> int:
        return _subset_count(order, dimension)


class Counted(Estimator):
    """A law that is told how many directions to draw."""

    count: eqx.AbstractVar[int | None]

    @property
    def given_count(self) -> int | None:
        return self.count

    def with_count(self, count: int) -> Self:
        return replace(self, count=count)


class Coordinates(Counted):
    """n of the d coordinates without replacement, weighted by the inverse of their chance to be drawn."""

    count: int = eqx.field(static=True)
    shared: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        _check_count("Coordinates", self.count)

    @property
    def unbiased_orders(self) -> frozenset[int]:
        return frozenset({2, 4} if self.count > 1 else {2})

    def law(self, order: int, dimension: int, width: int, key: Key) -> Draw:
        if self.count > dimension:
            raise InputError(
                f"Coordinates({self.count}) asks for more than the {dimension} coordinates there are; use Exact()"
            )
        return _subset_decomposition(order, dimension, random_subset(key, dimension, self.count))

    def direction_count(self, order: int, dimension: int, width: int) -> int:
        return _subset_count(order, self.count)


class Rademacher(Counted):
    """n vectors of random signs, weight 1/n: no variance from the Hessian's diagonal, biased at order 4."""

    count: int = eqx.field(static=True)
    shared: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        _check_count("Rademacher", self.count)

    @property
    def unbiased_orders(self) -> frozenset[int]:
        return frozenset({2})

    def law(self, order: int, dimension: int, width: int, key: Key) -> Draw:
        signs = jax.random.rademacher(key, (self.count, dimension), dtype=float)
        return Decomposition(Dense(signs), jnp.full(self.count, 1.0 / self.count))

    def direction_count(self, order: int, dimension: int, width: int) -> int:
        return self.count


class Gaussian(Counted):
    """n normal vectors: E[v⊗v] = δ, and E[v⊗v⊗v⊗v] is 3 times the isotropic tensor of order 4."""

    count: int = eqx.field(static=True)
    shared: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        _check_count("Gaussian", self.count)

    @property
    def unbiased_orders(self) -> frozenset[int]:
        return frozenset({2, 4})

    def law(self, order: int, dimension: int, width: int, key: Key) -> Draw:
        moment = {2: 1.0, 4: 3.0}[order]
        vectors = jax.random.normal(key, (self.count, dimension))
        return Decomposition(Dense(vectors), jnp.full(self.count, 1.0 / (moment * self.count)))

    def direction_count(self, order: int, dimension: int, width: int) -> int:
        return self.count


class Gram(Counted):
    """Directions in the span of the lift: with WᵀW = CᵀC,  Δ_x N = tr(H_z WᵀW) = Σ_j D²N along the rows of C.

    The h rows of C replace d coordinates without any variance; `Gram(n)` takes n random signs of them, where they are
    more. Channels that are no linear function of x add their gradients at the point, and ∇_z N · Δz. The rest
    of the space, where only the constraint varies, is two directions more. In fewer dimensions than the lift has
    channels, the coordinates themselves are the smaller set.

    Order 4 is as exact, by (h + 2)² directions: what varies with x through h channels and |x|² alone is the same along
    every f of the m dimensions orthogonal to both, and by that symmetry

        Δ²u = Σ_ab ∂_a²∂_b²u + 2m Σ_a ∂_a²∂_f²u + m(m+2)/3 ∂_f⁴u,     a, b over the other h + 1.

    Channels that bend otherwise than |x|² does differ along every f: order 4 is then right in the mean alone. `Gram(n)`
    takes a random n of the h.
    """

    count: int | None = eqx.field(static=True, default=None)
    shared: bool = eqx.field(static=True, default=True)

    def __check_init__(self):
        if self.count is not None:
            _check_count("Gram", self.count)

    @property
    def unbiased_orders(self) -> frozenset[int]:
        return frozenset({2, 4} if self.count is None or self.count > 1 else {2})

    def law(self, order: int, dimension: int, width: int, key: Key) -> Draw:
        if dimension <= width + 1:
            return self._over_coordinates(order, dimension).law(order, dimension, width, key)
        normal, count = normals(child(key, Purpose.VECTORS), dimension), min(self.count or width, width)
        if order == 4:
            chosen = random_subset(key, width, count) if count < width else jnp.arange(width)
            return QuarticMixture.of(chosen, width, normal)
        mix, weight = jnp.eye(width), 1.0
        if count < width:
            mix, weight = jax.random.rademacher(key, (count, width), dtype=float), 1.0 / count
        beyond = jnp.asarray([1.0, dimension - width - 1.0])
        weights = jnp.concatenate([jnp.full(mix.shape[0], weight), beyond])
        return Mixture(with_point_and_rest(mix), normal, weights)

    def _over_coordinates(self, order: int, dimension: int) -> Estimator:
        """Where there are fewer coordinates than channels."""
        if self.count is None or (order == 4 and self.count >= dimension):
            return Exact()
        return Rademacher(self.count) if order == 2 else Coordinates(self.count)

    def direction_count(self, order: int, dimension: int, width: int) -> int:
        there = dimension if dimension <= width + 1 else width
        count = there if self.count is None else min(self.count, there)
        return _subset_count(order, count if order == 2 or there == dimension else count + 2)


def _subset_decomposition(order: int, dimension: int, chosen: Int[Array, "n"]) -> Decomposition:
    """The isotropic tensor from the axes in `chosen`, Σ_i e_i² or Σ_i e_i⁴ + 2 Σ_{i<j} e_i² e_j²: a random subset gives
    it in the mean, all of them exactly."""
    count = chosen.shape[0]
    single = dimension / count
    if order == 2:
        return along_axes(chosen, jnp.full(count, single))
    pair = 2.0 * dimension * (dimension - 1) / (count * (count - 1)) if count > 1 else 0.0
    _, weights = fourth_powers(jnp.full(count, single), jnp.full((count, count), pair))
    first, second = np.triu_indices(count, 1)
    pairs = jnp.stack([chosen[first], chosen[second]], axis=1)
    axes = jnp.stack([chosen, chosen], axis=1)
    alone = jnp.tile(jnp.asarray([1.0, 0.0]), (count, 1))  # e_i written as e_i + 0·e_i, so that all have two entries
    plus = jnp.ones((len(first), 2))
    minus = plus.at[:, 1].set(-1.0)
    directions = Sparse(jnp.concatenate([axes, pairs, pairs]), jnp.concatenate([alone, plus, minus]))
    return Decomposition(directions, weights)


def _subset_count(order: int, count: int) -> int:
    """Directions of the isotropic tensor from so many axes."""
    return count if order == 2 else count * count


def _check_count(name: str, count: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"{name}({count!r}): give a whole number of 1 or more directions")


EXAMPLES: dict[str, Estimator] = {
    "Exact()": Exact(),
    "Coordinates(n)": Coordinates(2),
    "Rademacher(n)": Rademacher(1),
    "Gaussian(n)": Gaussian(1),
    "Gram()": Gram(),
}
