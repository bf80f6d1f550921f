"""The coupled oscillator against a diagonalisation of its coupling matrix, and its two systems of coordinates."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import close, samples
from scipy.sparse import csc_array, csr_array, kron
from scipy.sparse.linalg import eigsh

from prism import InputError
from prism.families.anharmonic_chain import AnharmonicChain
from prism.families.coupled_oscillator import CoupledOscillator, PlainCoupledOscillator
from prism.problem.parameters import Uniform
from prism.problem.potential import Potential
from prism.shapes import Named

KINDS = (CoupledOscillator, PlainCoupledOscillator)
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
CORNERS = [(0.8, 0.2), (0.8, 0.72), (1.2, 0.2), (1.2, 0.72), (1.0, 0.46)]


def named(mu) -> Named:
    return Named({"mu1": jnp.asarray(mu[0]), "mu2": jnp.asarray(mu[1])})


def coupling(dimension: int, mu) -> np.ndarray:
    """The matrix of μ₁ Σ x_i² − μ₂ Σ x_i x_(i+1)."""
    neighbours = np.eye(dimension, k=1) + np.eye(dimension, k=-1)
    return mu[0] * np.eye(dimension) - mu[1] / 2.0 * neighbours


def value(potential: Potential, mu, x):
    """v at one point."""
    at = lambda function, i: function(x[i], jnp.asarray(i), mu)
    total = sum(at(potential.single, i) for i in range(len(x)))
    for pair in potential.pairs:
        total += sum(at(pair.left, i) * at(pair.right, i + pair.offset) for i in range(len(x) - pair.offset))
    return total


# The closed form


@every_kind
@pytest.mark.parametrize("dimension", [1, 2, 7, 60])
def test_frequencies_are_roots_of_the_eigenvalues_of_the_coupling(kind, dimension):
    potential = kind.create(dimension)
    for mu in CORNERS:
        expected = np.sqrt(np.linalg.eigvalsh(coupling(dimension, mu)))
        np.testing.assert_allclose(potential.frequencies(named(mu)), expected, rtol=1e-13)


@every_kind
def test_the_lowest_levels_are_the_lowest_sums(kind):
    """Of all Σ ω_k (2n_k + 1), modes excited together and more than once among them."""
    potential = kind.create(3)
    for mu in CORNERS:
        omega = np.sqrt(np.linalg.eigvalsh(coupling(3, mu)))
        numbers = np.stack(np.meshgrid(*[np.arange(10)] * 3), axis=-1).reshape(-1, 3)
        every = np.sort((2 * numbers + 1) @ omega)
        for levels in (1, 2, 4, 9):
            close(np.asarray(potential.exact(named(mu), levels)), every[:levels])


def test_a_ground_level_of_a_grid_of_two_coordinates_is_the_closed_form():
    """−Δ + v by differences of second order on 80 × 80 points: to 2e-3, their own error of h²/12 or so."""
    mu, points, length = (1.0, 0.6), 80, 5.5
    x = np.linspace(-length, length, points + 2)[1:-1]
    second = (2.0 * np.eye(points) - np.eye(points, k=1) - np.eye(points, k=-1)) / (x[1] - x[0]) ** 2
    one = csr_array(second + np.diag(mu[0] * x**2))
    identity, position = csr_array(np.eye(points)), csr_array(np.diag(x))
    whole = kron(one, identity) + kron(identity, one) - mu[1] * kron(position, position)
    found = eigsh(csc_array(whole), k=1, sigma=0.0, v0=np.ones(points**2))[0][0]
    assert found == pytest.approx(float(PlainCoupledOscillator.create(2).exact(named(mu), 1)[0]), rel=2e-3)


@every_kind
def test_the_trivial_answer_leaves_out_the_coupling(kind):
    potential = kind.create(5)
    close(potential.trivial(named((0.9, 0.5))), 5.0 * np.sqrt(0.9))
    assert potential.trivial(named((0.9, 0.5))) > potential.exact(named((0.9, 0.5)), 1)[0]
    assert (potential.has_exact, potential.has_trivial, potential.has_reference) == (True, True, False)


# Coordinates


@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_both_coordinates_are_of_one_potential(dimension):
    """At x and at y = Sᵀx, S the discrete sine transform, which is orthogonal and the same for every μ."""
    k = np.arange(1, dimension + 1)
    S = np.sqrt(2.0 / (dimension + 1)) * np.sin(np.pi / (dimension + 1) * np.outer(k, k))
    close(S @ S.T, np.eye(dimension), 1e-14)
    modes, plain = (kind.create(dimension) for kind in KINDS)
    x = jax.random.normal(jax.random.key(3), (4, dimension))
    for mu in samples(modes.parameters, 3):
        at = lambda potential, points, mu=mu: [value(potential, potential.parameters.named(mu), p) for p in points]
        close(at(modes, x @ S), at(plain, x), 1e-13)


def test_coordinates_interact_only_where_they_are_their_own():
    modes, plain = (kind.create(4) for kind in KINDS)
    assert modes.is_separable
    assert not plain.is_separable
    assert [pair.offset for pair in plain.pairs] == [1]


def test_intervals_hold_the_widest_state_of_the_box():
    """Ψ² has fallen to e^−24 at their ends, by the softest corner; elsewhere to less."""
    modes = CoupledOscillator.create(6)
    for i in range(6):
        index = jnp.asarray(i)
        length = float(modes.half_width(index))
        decays = [float(modes.frequencies(named(mu))[i]) * length**2 for mu in CORNERS]
        assert min(decays) == pytest.approx(24.0)
        assert max(decays) > 24.0


def test_ends_raise_the_level_by_less_than_a_billionth():
    """By the level of an oscillator on such an interval, from finite elements of high order: sines, 80 of them."""
    n, length = np.arange(1, 81), np.sqrt(24.0)
    nodes, weights = np.polynomial.legendre.leggauss(300)
    sines = np.sin(np.outer(n, np.pi / 2.0 * (nodes + 1.0)))
    matrix = np.diag((n * np.pi / (2.0 * length)) ** 2) + (sines * (weights * (length * nodes) ** 2)) @ sines.T
    assert 0.0 <= np.linalg.eigvalsh(matrix)[0] - 1.0 < 1e-9


# Refusals


@every_kind
def test_a_box_that_is_unbounded_below_is_refused_in_one_line_that_says_why(kind):
    """The paper's box: μ₂ up to 1.2 where μ₁ is 0.8."""
    with pytest.raises(InputError, match="for mu2 > mu1 the potential is unbounded below") as error:
        kind.create(10, parameters=Uniform(mu1=(0.8, 1.2), mu2=(0.2, 1.2)))
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith("mu2 reaches 1.2 where mu1 is 0.8")
    assert message.endswith("keep mu2 <= 0.9 mu1, here up to 0.72")


@pytest.mark.parametrize("most", [0.45, 0.449])
def test_the_bound_itself_is_allowed(most):
    potential = CoupledOscillator.create(50, parameters=Uniform(mu1=(0.5, 2.0), mu2=(0.0, most)))
    assert np.all(np.isfinite(potential.frequencies(named((0.5, most)))))


def test_just_beyond_the_bound_is_refused():
    with pytest.raises(InputError, match=r"keep mu2 <= 0\.9 mu1, here up to 0\.45"):
        CoupledOscillator.create(50, parameters=Uniform(mu1=(0.5, 2.0), mu2=(0.0, 0.4501)))


def test_beyond_the_bound_frequencies_are_not_real():
    """What the refusal is for: in enough dimensions the softest mode has no frequency."""
    potential = CoupledOscillator.create(50)
    assert np.isnan(potential.frequencies(named((0.8, 0.9)))[0])
    assert np.linalg.eigvalsh(coupling(50, (0.8, 0.9)))[0] < 0.0


WRONG = {
    "a negative coupling": (3, Uniform(mu1=(0.8, 1.2), mu2=(-0.2, 0.2)), "the sign changes no level"),
    "other names": (3, Uniform(a=(0.8, 1.2), b=(0.1, 0.2)), "are mu1 and mu2, not a, b"),
    "one parameter": (3, Uniform(mu1=(0.8, 1.2)), "are mu1 and mu2, not mu1"),
    "no dimensions": (0, None, "0 dimensions: give 1 or more"),
}


@every_kind
@pytest.mark.parametrize(("dimension", "parameters", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_oscillator_is_refused(kind, dimension, parameters, message):
    with pytest.raises(InputError, match=message):
        kind.create(dimension, parameters=parameters)


def test_the_sign_of_the_coupling_changes_no_level():
    """As the refusal says: x_i ↦ (−1)^i x_i turns it."""
    close(np.linalg.eigvalsh(coupling(7, (1.0, 0.5))), np.linalg.eigvalsh(coupling(7, (1.0, -0.5))))


def test_a_chain_without_quartic_walls_is_refused():
    with pytest.raises(InputError, match="the strength of its quartic walls"):
        AnharmonicChain.create(3, parameters=Uniform(mu1=(0.0, 0.5), mu2=(0.2, 0.6)))
    with pytest.raises(InputError, match="a chain of 0 places"):
        AnharmonicChain.create(0)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"mu1": (0.1, 0.5), "mu2": (0.2, 5.0)}, "two wells"),
        ({"mu1": (0.1, 0.5), "mu2": (-2.0, 0.2)}, "two wells"),
        ({"mu1": (-0.1, 0.5), "mu2": (0.2, 0.6)}, "above zero"),
        ({"a": (0.1, 0.5)}, "mu1 and mu2, not a"),
    ],
)
def test_an_anharmonic_chain_beyond_its_intervals_is_refused(bounds, words):
    with pytest.raises(InputError, match=words) as error:
        AnharmonicChain.create(4, parameters=Uniform(**bounds))
    assert "\n" not in str(error.value)
