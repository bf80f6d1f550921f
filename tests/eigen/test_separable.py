"""The energy of a product: quotients of one coordinate each, as sums of squares, and levels above the lowest."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from eigen.cases import CORNER, MODES, MU, D, growth, one_dimensional, random_network
from helpers import close
from scipy.linalg import eigh

from prism.eigen.forms import Product
from prism.eigen.integrals import along
from prism.eigen.levels import levels
from prism.eigen.quadrature import gauss
from prism.eigen.separable import coordinate_levels, one_coordinate, orthonormalising
from prism.families.coupled_oscillator import CoupledOscillator

RULE, FINE = gauss(12), gauss(64)
"""For two ways to the same sums; and so many nodes that the sums are integrals, to rounding."""
EXCITED = random_network(MODES, Product(2))
ONE = jnp.asarray(1)


def solved(tensor=EXCITED, rule=RULE, mu=MU, i=1):
    index = jnp.asarray(i)
    of = lambda: one_coordinate(tensor.factor(index), tensor.known(mu, index), MODES, mu, index, rule)
    return jax.jit(of)()


def matrices(i: int):
    """⟨φ_s, Hφ_t⟩ and ⟨φ_s, φ_t⟩ of the functions as they are."""

    @jax.jit
    def found():
        values, first, _, y, weights = one_dimensional(EXCITED, MODES, MU, i, RULE)
        v = along(MODES.single, y, jnp.asarray(i), MODES.parameters.named(MU))
        product = lambda a, b: jnp.einsum("qs,q,qt->st", a, weights, b)
        return product(first, first) + product(values, v[:, None] * values), product(values, values)

    return found()


def test_levels_of_a_coordinate_are_those_of_its_functions():
    """Of the generalised problem of their own matrices, which LAPACK solves in another way."""
    of = jax.jit(lambda i: coordinate_levels(EXCITED, MODES, MU, i, RULE))
    for i in range(D):
        close(of(jnp.asarray(i)), eigh(*matrices(i), eigvals_only=True))


def test_functions_are_orthonormal_in_each_coordinate():
    """The excited ones to the ground one and to each other; in the order of the energy too."""
    for i in range(D):
        one = solved(i=i)
        close(one.functions.overlaps(), jnp.eye(3))
        found, vectors = np.linalg.eigh(one.energies)
        assert np.all(np.diff(found) > 0.0)
        close(one.functions.scaled(jnp.asarray(vectors)).overlaps(), jnp.eye(3))


def test_the_inverse_takes_the_functions_to_the_orthonormal_ones():
    values, first, *_ = jax.jit(lambda: one_dimensional(EXCITED, MODES, MU, 1, RULE))()
    one = solved()
    close(values @ one.inverse, one.functions.values)
    close(first @ one.inverse, one.functions.derivatives)
    assert np.all(np.tril(one.inverse, -1) == 0.0), "each is made of those before it"


def test_the_size_of_the_functions_changes_nothing():
    bigger = eqx.tree_at(lambda t: t.factors.offset, EXCITED, EXCITED.factors.offset.at[0].add(40.0))
    close(solved(bigger).energies, solved().energies, 1e-9)  # 17 digits before the orthonormalisation, squared


def test_rows_are_a_sum_of_squares_for_the_levels():
    """Σ_k E_k = |r|² + (s + 1) min v."""
    one = solved()
    bottom = 3.0 * jnp.min(one.potential)
    close(jnp.sum(one.rows**2) + bottom, jnp.sum(one.levels))
    close(one.above_bottom + bottom, jnp.sum(one.levels))


def test_rows_are_numbers_where_the_potential_is_at_its_bottom():
    """√(v − min v) of what rounding may make negative, under every way to compile it and at many μ."""
    mus = MODES.parameters.quadrature(64)[0]
    for options in ({}, {"xla_backend_optimization_level": 2}):

        @jax.jit
        def rows(mu):
            return one_coordinate(EXCITED.factor(ONE), EXCITED.known(mu, ONE), MODES, mu, ONE, gauss(48)).rows

        found = jax.jit(jax.vmap(rows), compiler_options=options)(mus)
        assert np.all(np.isfinite(found))


def test_functions_that_are_nearly_parallel_are_made_orthonormal():
    """To the digits that their angle leaves of 16: of functions that differ by 1e-5 the overlaps lose ten."""
    parts = np.eye(3, 2) + 1e-5 * np.eye(3, 2, -1)
    parts[:, 1] += parts[:, 0]
    parts[:, 1] = parts[:, 0] + 1e-5 * parts[:, 1]
    inverse = orthonormalising(jnp.asarray(parts.T @ parts))
    close(inverse.T @ (parts.T @ parts) @ inverse, np.eye(2), 1e-5)


@pytest.mark.parametrize("excited", [0, 1, 2])
def test_no_level_lies_below_its_exact_one(excited):
    """The n-th level of a coordinate is above ω(2n + 1), whatever the network: Rayleigh and Ritz. Integrals of these
    functions with 64 nodes are exact to 1e-10 of the level."""

    @eqx.filter_jit
    def excess(tensor, mu, i):
        exact = MODES.frequencies(MODES.parameters.named(mu))[i] * (2.0 * jnp.arange(excited + 1.0) + 1.0)
        return coordinate_levels(tensor, MODES, mu, i, FINE) / exact - 1.0

    for seed in range(3):
        tensor = random_network(MODES, Product(excited), seed, size=1.0)
        for mu in (MU, CORNER):
            found = np.stack([excess(tensor, mu, jnp.asarray(i)) for i in range(D)])
            assert np.min(found) > -1e-10
            assert np.max(found) > 1e-3, "the network is no solution"


def test_levels_are_ordered_and_above_the_exact_ones():
    """Each replaces the ground level of one coordinate by the next; the same of the exact ones."""
    tensor = random_network(MODES, Product(1), size=0.5)
    found = jax.jit(lambda: levels(tensor, MODES, MU, 4, FINE, 2))()
    assert np.all(np.diff(found) > 0.0)
    single = np.stack(jax.jit(lambda: [coordinate_levels(tensor, MODES, MU, jnp.asarray(i), FINE) for i in range(D)])())
    close(found, np.sum(single[:, 0]) + np.concatenate([[0.0], np.sort(single[:, 1] - single[:, 0])]))
    assert np.all(found > np.asarray(MODES.exact(MODES.parameters.named(MU), 4)) - 1e-10)


def test_memory_does_not_grow_with_the_number_of_blocks():
    """But for the levels of each coordinate, 8 bytes with their gradient as many, of 32 coordinates: less than 1 kB for
    each block more, where the functions of a block at the nodes take 100 kB."""
    less, more, blocks = growth(CoupledOscillator, Product())
    assert more - less < 0.1 * less + 1024.0 * blocks
    assert more < 1.5 * less
