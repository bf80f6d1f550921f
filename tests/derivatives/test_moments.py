"""The fewest directions of one equation: that they give its derivatives, how many they are, and why not fewer."""

import itertools
import math

import numpy as np
import pytest
from helpers import SOLITON_FAMILIES
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.derivatives.frames import PartialFrame
from prism.derivatives.moments import LARGEST_ENTRY, Moments, fewest_directions, least_count
from prism.problem.terms import frames

KDV2D = ((0,), (1,), (0, 0), (0, 1), (1, 1), (1, 2), (0, 0, 0, 1))
KP = ((0,), (0, 2), (0, 0), (1, 1), (0, 0, 0, 0))
GKDV = ((1,), (0,), (0, 0, 0))
EQUATIONS = {"KdV2D": (KDV2D, (4, 4, 4, 4, 2, 2)), "KP": (KP, (4, 2, 2, 2)), "GKdV": (GKDV, (3, 1))}
"""The derivatives of each, and the orders of the fewest directions."""
SETS = {
    "one": ((0,),),
    "a power": ((2, 2, 2),),
    "in one plane": ((0, 0, 0, 0), (0, 0, 1, 1), (1, 1, 1, 1)),
    "without links": ((0, 0, 1), (3,), (4, 4), (2, 5, 5)),
    "linked one by one": ((0, 0, 1), (1, 2), (2, 2, 3)),
    "three variables": ((0, 1, 2), (0, 0), (1, 2)),
    "three variables, one twice": ((0, 0, 1, 2),),
    "four variables": ((0, 1, 2, 3), (0, 1)),
    "far apart": ((900, 1_000), (7,)),
}


def dense(moments: Moments, coordinates: int) -> np.ndarray:
    """The directions as rows."""
    vectors = np.zeros((len(moments.orders), coordinates))
    for vector, indices, values in zip(vectors, moments.indices, moments.values, strict=True):
        np.add.at(vector, indices, values)
    return vectors


def powers(coordinates: int, order: int) -> np.ndarray:
    """Every α with |α| = order."""
    chosen = itertools.combinations_with_replacement(range(coordinates), order)
    return np.asarray([[one.count(place) for place in range(coordinates)] for one in chosen])


def check_moments(derivatives, moments: Moments) -> None:
    """Σ_j w_j (k!/α!) v_jᵅ = [α = β] for every |α| = k, of each ∂ᵝ, over the directions of order k or more.

    1e-9 leaves room for the rounding of systems of small whole numbers; a wrong weight is off by 0.005 and more.
    """
    used = sorted({axis for axes in derivatives for axis in axes})
    vectors = dense(moments, used[-1] + 1)[:, used]
    assert list(moments.orders) == sorted(moments.orders, reverse=True)
    assert moments.orders[0] == max(map(len, derivatives))
    for axes, weights in zip(derivatives, moments.weights, strict=True):
        assert len(weights) == sum(order >= len(axes) for order in moments.orders)
        of_order = powers(len(used), len(axes))
        multinomials = [math.factorial(len(axes)) / math.prod(map(math.factorial, alpha)) for alpha in of_order]
        sums = multinomials * (weights @ np.prod(vectors[: len(weights), None] ** of_order[None], axis=2))
        wanted = np.all(of_order == [axes.count(axis) for axis in used], axis=1)
        np.testing.assert_allclose(sums, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("derivatives", [*SETS.values(), *[one for one, _ in EQUATIONS.values()]], ids=SETS | EQUATIONS)
def test_weights_give_each_derivative_and_no_other(derivatives):
    check_moments(derivatives, fewest_directions(derivatives))


def sets_of(variables: int, order: int) -> st.SearchStrategy:
    """Up to four derivatives by so many variables, up to this order."""
    axes = st.lists(st.integers(0, variables - 1), min_size=1, max_size=order)
    return st.lists(axes.map(lambda one: tuple(sorted(one))), min_size=1, max_size=4, unique=True).map(tuple)


@settings(max_examples=25)
@given(st.one_of(sets_of(2, 6), sets_of(3, 4), sets_of(4, 3)))
def test_weights_of_any_derivatives(derivatives):
    moments = fewest_directions(derivatives)
    check_moments(derivatives, moments)
    vectors = dense(moments, 4)
    units = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    assert np.sum(np.abs(units @ units.T) > 1 - 1e-9) == len(vectors), "no two are parallel"
    assert len(vectors) >= max(map(least_count, derivatives))


@pytest.mark.parametrize(("derivatives", "orders"), EQUATIONS.values(), ids=EQUATIONS)
def test_the_equations_of_solitary_waves_need_few(derivatives, orders):
    assert fewest_directions(derivatives).orders == orders


@pytest.mark.parametrize(
    ("family", "derivatives"), [*zip(SOLITON_FAMILIES, (KDV2D, KP, GKDV), strict=True)], ids=EQUATIONS
)
def test_they_are_those_of_the_families(family, derivatives):
    """All terms of each in one frame."""
    (frame,) = frames(family)
    assert isinstance(frame, PartialFrame)
    assert list(frame.operators) == list(family.terms)
    assert fewest_directions(frame.axes).orders == fewest_directions(derivatives).orders
    assert set(frame.axes) == set(derivatives)


def test_the_six_directions_of_kdv2d():
    """Four of the x-y plane, which alone are needed to order 4; two that carry t, whose squares cancel in u_ty."""
    moments = fewest_directions(KDV2D)
    vectors = dense(moments, 3)
    assert np.all(vectors[:4, 2] == 0.0)
    assert np.all(vectors[4:, 2] != 0.0)
    assert np.all(moments.weights[KDV2D.index((1, 2))][:4] == pytest.approx(0.0, abs=1e-9))


def test_no_three_directions_give_u_xxxy():
    """Sylvester's theorem: directions that give ∂ᵝ are roots of a form that annihilates the monomial.

    Forms q of degree 3 with q(∂/∂x, ∂/∂y) x³y = 0 are the kernel of the catalecticant matrix of the monomial. All of
    them are divisible by y²: a double root, so none is a product of three different factors. In degree 4 the four
    directions that are found make one.
    """
    monomial = np.asarray([0.0, 1.0, 0.0, 0.0, 0.0]) / 4.0  # Σ_k C(4, k) a_k x^(4−k) y^k

    def annihilating(degree: int) -> np.ndarray:
        """Rows c with Σ_j c_j a_(i+j) = 0 for every i; q = Σ_j c_j x^(degree−j) y^j."""
        catalecticant = np.asarray([monomial[i : i + degree + 1] for i in range(5 - degree)])
        values, rows = np.linalg.svd(catalecticant)[1:]
        return rows[np.sum(values > 1e-12) :]

    assert len(annihilating(1)) == 0
    for degree in (2, 3):
        forms = annihilating(degree)
        assert len(forms) == degree - 1
        np.testing.assert_allclose(forms[:, :2], 0.0, atol=1e-12)
    vectors = dense(fewest_directions(((0, 0, 0, 1),)), 2)
    roots = np.asarray([1.0])
    for x, y in vectors:
        roots = np.polymul(roots, [y, -x])  # y X − x Y vanishes along (x, y)
    assert len(vectors) == 4
    np.testing.assert_allclose(monomial @ roots, 0.0, atol=1e-12)


def directions(variables: int, largest: int = LARGEST_ENTRY) -> np.ndarray:
    """Every direction whose entries are small whole numbers, once."""
    entries = np.asarray([*itertools.product(range(-largest, largest + 1), repeat=variables)])
    return np.unique([v // np.gcd.reduce(v) for v in entries if v.any() and v[np.flatnonzero(v)[0]] > 0], axis=0)


def forms(vectors: np.ndarray, order: int) -> np.ndarray:
    """Every monomial of an order at each vector, the last axis; up to factors, the form (v·x)^order."""
    return np.prod(vectors[..., None, :] ** powers(vectors.shape[-1], order), axis=-1).astype(float)


def missed(vectors: np.ndarray, exponents) -> np.ndarray:
    """How much of the derivative no weights of these directions give; of sets of them, each."""
    moments = np.swapaxes(forms(vectors, sum(exponents)), -1, -2)
    wanted = np.all(powers(len(exponents), sum(exponents)) == exponents, axis=1).astype(float)[:, None]
    return np.linalg.norm(wanted - moments @ (np.linalg.pinv(moments) @ wanted), axis=(-2, -1))


def test_one_direction_with_time_does_not_give_u_ty_beside_the_plane():
    """Of v = (a, b, c), c ≠ 0, the entries of D²u[v, v] at ty and tt are bc and c²: u_tt does not cancel, whatever
    the directions without t. Two do."""
    plane = directions(2)
    flat = np.concatenate([plane, np.zeros((len(plane), 1), int)], axis=1)
    for v in directions(3):
        if v[2]:
            assert missed(np.concatenate([flat, v[None]]), (0, 1, 1)) > 0.1
    assert missed(np.asarray([[0, 1, 1], [0, 1, -1]]), (0, 1, 1)) < 1e-12


def test_four_directions_that_give_u_xxxy_lie_in_its_plane():
    """Of v_j = (ℓ_j, c_j), where c_j is the entry of t, Σ_j w_j ℓ_j⁴ gives u_xxxy, so all ℓ_j differ; and the
    derivative u_xxxt that must not be there, with its like, says Σ_j w_j c_j ℓ_j³ = 0. Cubes of four different
    directions of a plane are linearly independent: all c_j vanish."""
    for chosen in itertools.combinations(directions(2), 4):
        assert np.linalg.svd(forms(np.asarray(chosen), 3))[1][-1] > 1e-3
    moments = fewest_directions(KDV2D)
    assert np.all(dense(moments, 3)[np.asarray(moments.orders) == 4][:, 2] == 0.0)


@pytest.mark.parametrize("largest", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_five_directions_do_not_give_u_xxxy_and_u_ty(largest):
    """So that six are the fewest, four of them to order 4. Of v_j = (ℓ_j, c_j) as above:

    If four give u_xxxy, they have no t, and the fifth alone does not give u_ty. If it takes all five, the ℓ_j
    different, then cubes of five have one relation r, Σ_j r_j p(ℓ_j) = 0 for every p of degree 3, so w_j c_j = λ r_j,
    and relations of their squares are r times a linear form, so w_j c_j² = r_j b(ℓ_j). Thus c_j = b(ℓ_j)/λ: all five
    lie in one plane. That gives u_ty only if it is the one of y and t, where all ℓ_j are the same. If two ℓ_j are
    parallel, the three others have no t, and these two are parallel themselves; if one is zero, the four others have
    no t.

    Here: none of all sets of five small directions does.
    """
    small = directions(3, largest)
    chosen = np.asarray([*itertools.combinations(range(len(small)), 5)])
    for part in np.array_split(chosen, 1 + len(chosen) // 20_000):
        with_ty = part[missed(small[part], (0, 1, 1)) < 1e-9]
        assert np.all(missed(small[with_ty], (3, 1, 0)) > 1e-6)
    six = dense(fewest_directions(KDV2D), 3)
    assert max(missed(six, (0, 1, 1)), missed(six[:4], (3, 1, 0))) < 1e-9


@pytest.mark.parametrize("exponents", [(1, 1), (2, 1), (3, 1), (2, 2)], ids=str)
def test_no_set_of_fewer_small_directions_gives_the_derivative(exponents):
    axes = (0,) * exponents[0] + (1,) * exponents[1]
    count = len(fewest_directions((axes,)).orders)
    assert count == least_count(axes) == sum(exponents)
    for chosen in itertools.combinations(directions(2), count - 1):
        assert missed(np.asarray(chosen), exponents) > 1e-6


@pytest.mark.parametrize(
    ("axes", "count"), [((0, 0, 0), 1), ((0, 1), 2), ((0, 1, 2), 4), ((0, 0, 1, 2), 6), ((0, 1, 2, 3), 8)], ids=str
)
def test_how_many_directions_a_derivative_needs(axes, count):
    """As many as the bound says."""
    assert len(fewest_directions((axes,)).orders) == count == least_count(axes)


@pytest.mark.parametrize("variables", [2, 3, 4, 6])
def test_all_second_derivatives_take_as_many_directions_as_they_are(variables):
    """As the form of a Monge-Ampère equation asks for them."""
    hessian = tuple(itertools.combinations_with_replacement(range(variables), 2))
    assert len(fewest_directions(hessian).orders) == len(hessian) == variables * (variables + 1) // 2


def test_derivatives_by_many_variables_are_not_searched_in_vain():
    """Polarisation is best there: seven variables have C(13, 7) moments, and thousands of tries would take minutes."""
    assert len(fewest_directions((tuple(range(7)),)).orders) == 2**6 == least_count(tuple(range(7)))
