"""Levels of a tensor network at any μ, their derivatives, and Ψ itself.

    λ(μ) = ⟨Ψ, HΨ⟩ / ⟨Ψ, Ψ⟩,      ∂λ/∂μ = ⟨Ψ, ∂v/∂μ Ψ⟩ / ⟨Ψ, Ψ⟩     (Hellmann and Feynman)

The second formula leaves out how Ψ changes with μ, which changes nothing at an eigenfunction: its distance from the
derivative of λ as it is, is a check.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from prism.eigen.chain import pencil, scaled_functions
from prism.eigen.forms import Product
from prism.eigen.integrals import map_blocks
from prism.eigen.network import TensorNetwork
from prism.eigen.quadrature import BLOCK, Rule, gauss
from prism.eigen.separable import coordinate_levels, one_coordinate
from prism.problem.potential import Potential
from prism.shapes import Parameter, Point, Scalar


def levels(
    tensor: TensorNetwork, potential: Potential, mu: Parameter, count: int, rule: Rule, block: int
) -> Float[Array, "levels"]:
    """The lowest `count` levels from below that the network has functions for: of a product with any coordinates
    excited, else the first alone."""
    if not isinstance(tensor.form, Product):
        return pencil(tensor, potential, mu, rule, block).lowest[0][None]
    found = map_blocks(lambda i: coordinate_levels(tensor, potential, mu, i, rule), potential.dimension, block)
    return jnp.sum(found[:, 0]) + excitations(found, count)[0]


def levels_over(tensor: TensorNetwork, potential: Potential, mus: Float[Array, "n p"], count: int, nodes: int) -> Array:
    """The same at many μ, one after the other."""
    return jax.lax.map(lambda mu: levels(tensor, potential, mu, count, gauss(nodes), BLOCK), mus)


def excitations(
    found: Float[Array, "d s"], count: int
) -> tuple[Float[Array, "levels"], Int[Array, "k"], Int[Array, "levels k"]]:
    """The lowest sums of gaps, one of each coordinate, from the levels of all coordinates; the coordinates that matter,
    and which of its levels each of them has. Those are the ones with the smallest gaps, one less than levels."""
    gaps = found - found[:, :1]
    most = min(count - 1, len(found)) if found.shape[1] > 1 else 0
    coordinates = jnp.argsort(gaps[:, min(1, found.shape[1] - 1)])[:most]
    sums, taken = jnp.zeros(1), jnp.zeros((1, most), int)
    for place in range(most):
        own = gaps[coordinates[place]]
        combined = (sums[:, None] + own[None, :]).reshape(-1)
        chosen = jnp.argsort(combined)[:count]
        before, above = jnp.divmod(chosen, len(own))
        sums, taken = combined[chosen], taken[before].at[:, place].set(above)
    return sums, coordinates, taken


def derivatives(
    tensor: TensorNetwork, potential: Potential, mu: Parameter, count: int, rule: Rule, block: int
) -> tuple[Float[Array, "levels p"], Float[Array, "levels p"]]:
    """∂λ/∂μ by Hellmann and Feynman's formula, and that of λ as it is."""
    of = lambda tensor: jax.jacrev(lambda m: levels(tensor, potential, m, count, rule, block))(mu)
    return of(tensor.held_at(mu)), of(tensor)


def log_wave(
    tensor: TensorNetwork, potential: Potential, mu: Parameter, y: Point, level: int, rule: Rule, block: int
) -> tuple[Scalar, Scalar]:
    """sign Ψ and log |Ψ| of a level at one point, for Ψ of norm 1; Ψ = 0 at the ends of the intervals and beyond."""
    half_widths = jax.vmap(lambda i: jnp.asarray(potential.half_width(i), y.dtype))(jnp.arange(potential.dimension))
    places = y / half_widths
    inside = jnp.all(jnp.abs(places) < 1.0)
    xi = jnp.clip(places, -1.0, 1.0)
    if isinstance(tensor.form, Product):
        sign, log = _log_product(tensor, potential, mu, xi, level, rule, block)
    else:
        sign, log = _log_chain(tensor, potential, mu, xi, rule, block)
    return jnp.where(inside, sign, 0.0), jnp.where(inside, log, -jnp.inf)


def _log_product(
    tensor: TensorNetwork, potential: Potential, mu: Parameter, xi: Point, level: int, rule: Rule, block: int
) -> tuple[Scalar, Scalar]:
    def one(i: Array) -> tuple[Array, Array]:
        network, known = tensor.factor(i), tensor.known(mu, i)
        solved = one_coordinate(network, known, potential, mu, i, rule)
        found, vectors = jnp.linalg.eigh(solved.energies)
        return network(xi[i], known) @ solved.inverse @ vectors, found

    values, found = map_blocks(one, potential.dimension, block)
    _, coordinates, chosen = excitations(found, level + 1)
    taken = jnp.zeros(len(xi), int).at[coordinates].set(chosen[level])
    factors = jnp.take_along_axis(values, taken[:, None], axis=1)[:, 0]
    return jnp.prod(jnp.sign(factors)), jnp.sum(jnp.log(jnp.abs(factors)))


def _log_chain(
    tensor: TensorNetwork, potential: Potential, mu: Parameter, xi: Point, rule: Rule, block: int
) -> tuple[Scalar, Scalar]:
    end = pencil(tensor, potential, mu, rule, block)
    alpha = end.lowest[1]
    one = lambda i: tensor.factor(i)(xi[i], tensor.known(mu, i)) * scaled_functions(tensor, potential, mu, i, rule)[1]
    values = map_blocks(one, potential.dimension, block)

    def over(carried: tuple[Array, Array], one: Array) -> tuple[tuple[Array, Array], None]:
        row, log = carried
        row = tensor.form.multiplied(row, one)
        size = jnp.max(jnp.abs(row))
        return (row / size, log + jnp.log(size)), None

    (row, log), _ = jax.lax.scan(over, (tensor.form.first, jnp.zeros(())), values)
    value = row @ alpha
    return jnp.sign(value), log + jnp.log(jnp.abs(value)) - end.log_norm / 2.0
