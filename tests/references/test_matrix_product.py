"""Matrix product states against closed forms and against diagonalisation in the whole product basis."""

import functools
import itertools
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse import csr_array, kron
from scipy.sparse.linalg import eigsh

from prism.errors import InputError
from prism.families.anharmonic_chain import AnharmonicChain
from prism.families.coupled_oscillator import CoupledOscillator, PlainCoupledOscillator
from prism.problem.parameters import Uniform
from prism.problem.potential import Pair, Potential
from prism.references.matrix_product import Size, ground_level, levels_of_one
from prism.shapes import Named

MIDDLE, CORNER = Named({"mu1": 1.0, "mu2": 0.46}), Named({"mu1": 0.8, "mu2": 0.72})
CHAIN = Named({"mu1": 0.3, "mu2": 0.4})
MIXED = Named({"a": 0.7})


class Wide(PlainCoupledOscillator):
    """On intervals so long that their ends change nothing."""

    def half_width(self, i):
        return 8.0


class Line(Potential):
    """One function of one coordinate."""

    function: Callable = eqx.field(static=True)
    length: float
    dimension: int = 1
    parameters = Uniform(a=(0.5, 1.0))

    def single(self, y, i, mu):
        return self.function(y)

    def half_width(self, i):
        return self.length


class Mixed(Potential):
    """Wells that are not even and differ from place to place, and products of several functions and offsets."""

    dimension: int = eqx.field(static=True)
    offsets: tuple[int, ...] = eqx.field(static=True)
    parameters = Uniform(a=(0.5, 1.0))

    def single(self, y, i, mu):
        return (1.0 + 0.1 * i) * y * y + 0.2 * y**4 + 0.3 * mu.a * jnp.sin(y)

    @property
    def pairs(self):
        return tuple(
            Pair(
                lambda y, i, mu, o=o: (mu.a + 0.1 * i) * jnp.tanh(0.5 * o * y), lambda y, i, mu: y - 0.05 * i * y * y, o
            )
            for o in self.offsets
        )

    def half_width(self, i):
        return 5.0 + 0.1 * i


def stiffness(dimension, mu):
    """ω_k² of the modes, k = 1 ... d."""
    return mu.mu1 - mu.mu2 * np.cos(np.pi / (dimension + 1) * np.arange(1, dimension + 1))


def dense_level(potential, mu, functions):
    """In products of the lowest functions of each place, which are found among the first 80 of the oscillator.

    There y is a matrix of three diagonals, −d²/dy² is 2n + 1 − y², and a function of y acts at the eigenvalues of y.
    """
    n = np.arange(82)
    y = np.diag(np.sqrt(n[1:] / 2.0), 1) + np.diag(np.sqrt(n[1:] / 2.0), -1)
    kinetic = (np.diag(2.0 * n + 1.0) - y @ y)[:80, :80]
    nodes, vectors = eigh(y[:80, :80])
    at = lambda function, i: np.array([float(function(jnp.asarray(one), jnp.asarray(i), mu)) for one in nodes])
    matrix = lambda function, i: (vectors * at(function, i)) @ vectors.T
    places = range(potential.dimension)
    own = [eigh(kinetic + matrix(potential.single, i), subset_by_index=(0, functions - 1)) for i in places]
    small = lambda function, i: own[i][1].T @ matrix(function, i) @ own[i][1]

    def product(factors):
        return functools.reduce(kron, (csr_array(factors.get(i, np.eye(functions))) for i in places))

    total = sum(product({i: np.diag(own[i][0])}) for i in places)
    for pair in potential.pairs:
        for i, j in zip(places, places[pair.offset :], strict=False):
            total = total + product({i: small(pair.left, i), j: small(pair.right, j)})
    return eigsh(total, k=1, which="SA", v0=np.eye(1, functions**potential.dimension)[0])[0][0]


@pytest.mark.parametrize("mu", [MIDDLE, CORNER])
@pytest.mark.parametrize("dimension", [2, 6, pytest.param(50, marks=pytest.mark.slow)])
def test_coupled_oscillators_have_the_levels_of_their_modes(dimension, mu):
    potential = Wide.create(dimension)
    found, exact = ground_level(potential, mu), np.sum(np.sqrt(stiffness(dimension, mu)))
    assert abs(found.value - exact) <= found.uncertainty
    # What truncation and rounding leave in 50 dimensions at the softest corner; the difference of the sizes is larger.
    assert found.value == pytest.approx(exact, rel=1e-11)
    assert found.uncertainty < 1e-9 * exact


FURTHER = [pytest.param(offsets, marks=pytest.mark.slow) for offsets in ((1, 2), (1, 1))]


@pytest.mark.parametrize("offsets", [(2,), (3, 1), *FURTHER])
def test_pairs_at_any_distance_are_those_of_the_whole_product_basis(offsets):
    """With the offset 2 alone no two neighbours interact."""
    potential = Mixed(4, offsets)
    found = ground_level(potential, MIXED, Size(96, 6, 24, 1e-12), Size(128, 8, 48, 1e-14))
    assert found.value == pytest.approx(dense_level(potential, MIXED, 8), rel=1e-10)  # in the same space of functions
    assert ground_level(potential, MIXED).agrees(found)


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_anharmonic_chain_is_that_of_the_whole_product_basis(dimension):
    potential = AnharmonicChain.create(dimension)
    found = potential.reference(CHAIN)
    assert found.value == pytest.approx(dense_level(potential, CHAIN, 12), rel=1e-10)
    assert found.uncertainty < 1e-9


@pytest.mark.slow
def test_a_long_chain_grows_by_the_same_at_each_place():
    """Far from the ends each further place adds the same, as correlations decay within a few places."""
    levels = [ground_level(AnharmonicChain.create(dimension), CHAIN).value for dimension in (30, 40, 50)]
    assert levels[2] - levels[1] == pytest.approx(levels[1] - levels[0], abs=1e-8)


@pytest.mark.slow
def test_the_uncertainty_covers_what_larger_settings_change():
    sizes = [Size(64, 6, 6, 1e-6), Size(80, 8, 10, 1e-9), Size(96, 12, 20, 1e-12), Size(128, 16, 40, 1e-14)]
    potential = Mixed(5, (1, 2))
    found = [ground_level(potential, MIXED, *pair) for pair in itertools.pairwise(sizes)]
    for one, other in itertools.combinations(found, 2):
        assert one.agrees(other)
        assert abs(one.value - other.value) <= one.uncertainty
    assert found[0].uncertainty > found[1].uncertainty > found[2].uncertainty


def test_without_pairs_it_is_the_sum_of_the_levels():
    potential = CoupledOscillator.create(5)
    found = ground_level(potential, CORNER)
    assert found.value == pytest.approx(np.sum(np.sqrt(stiffness(5, CORNER))), rel=1e-9)  # the ends: ωL² = 24 or more
    assert found.value == pytest.approx(sum(levels_of_one(potential, i, CORNER, 1)[0] for i in range(5)), rel=1e-13)
    assert found.uncertainty < 1e-10


def test_coordinates_without_a_partner_do_not_interact():
    assert ground_level(Wide.create(1), MIDDLE).value == pytest.approx(1.0, rel=1e-12)
    far = Mixed(2, (3,))
    alone = sum(levels_of_one(far, i, MIXED, 1)[0] for i in range(2))
    assert ground_level(far, MIXED).value == pytest.approx(alone, rel=1e-12)


def test_levels_of_one_coordinate():
    """ω(2n + 1) of an oscillator, and (nπ/2L)² of a box without a potential."""
    assert levels_of_one(Wide.create(3), 1, MIDDLE, 12) == pytest.approx(2.0 * np.arange(12) + 1.0, rel=1e-11)
    assert levels_of_one(Line(function=lambda y: 0.0, length=0.5), 0, MIDDLE, 50) == pytest.approx(
        (np.pi * np.arange(1, 51)) ** 2, rel=1e-10
    )


def test_what_it_cannot_do_is_refused():
    with pytest.raises(InputError, match="one below 3"):
        levels_of_one(Wide.create(3), 3, MIDDLE, 1)
    with pytest.raises(InputError, match="not finite"):
        ground_level(Line(function=jnp.log, length=1.0), MIDDLE)
