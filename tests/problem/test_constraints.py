"""Hard conditions: the closed form and JAX's derivatives say the same, and the condition holds."""

import functools

import jax
import jax.numpy as jnp
import pytest
from helpers import KEY, D, Terms, close, mostly_slow, taylor_coefficients

from prism import Ball, Cube, Free, HardConstraint, InputError, TimeCylinder, clamped, radial, vanishing
from prism.derivatives.directions import Dense, Sparse
from prism.derivatives.taylor import Jet, collapse
from prism.problem.constraints import VanishingOnSphere
from prism.problem.forms import QuadraticForm, squared_norm

RADIUS = 1.3
X = 0.4 * jax.random.normal(KEY, (D,))
MU = Terms.parameters.named(jnp.asarray([0.7, 1.2]))
DIRECTIONS = {
    "dense": Dense(jax.random.normal(jax.random.key(1), (3, D))),
    "sparse": Sparse(jnp.asarray([[0, 3], [4, 1], [2, 0]]), jnp.asarray([[1.0, -2.0], [0.5, 3.0], [1.0, 1.0]])),
}
WEIGHTS = jnp.asarray([0.3, -1.1, 2.0])
sphere = lambda x, mu: 1.0 - jnp.sum(x * x) / RADIUS**2
offset = lambda x, mu: mu.mu1 * jnp.exp(x[0]) * jnp.sin(mu.mu2 * jnp.sum(x))
network = lambda x: jnp.sin(2 * x[0] + x[3]) * jnp.exp(-x[1]) + x[2] ** 3 * x[4]


ORDER = 4


def jets_of(f, directions) -> dict[tuple[int, bool], Jet]:
    """The jets of a function of every order, whole and collapsed, by nested autodiff."""
    along = lambda v: taylor_coefficients(lambda t: f(X + t * v), ORDER)
    _, *coefficients = jax.vmap(along)(directions.dense(D))
    jets = {}
    for order in range(1, ORDER + 1):
        jets[order, False] = Jet(f(X), tuple(coefficients[:order]), None, WEIGHTS)
        top = collapse(WEIGHTS, coefficients[order - 1])
        jets[order, True] = Jet(f(X), tuple(coefficients[: order - 1]), top, WEIGHTS)
    return jets


@pytest.mark.parametrize("directions", DIRECTIONS.values(), ids=DIRECTIONS)
def test_constrained_jets_are_those_of_the_product(directions):
    """Closed form, derivatives by JAX, with an offset and without any: to order 4, whole and collapsed."""

    @jax.jit
    def pairs() -> dict:
        inner = jets_of(network, directions)
        product = jets_of(lambda x: sphere(x, MU) * network(x), directions)
        squared = jets_of(lambda x: sphere(x, MU) ** 2 * network(x), directions)
        shifted = jets_of(lambda x: sphere(x, MU) * network(x) + offset(x, MU), directions)
        constraints = {
            "closed": (VanishingOnSphere(RADIUS), product),
            "clamped": (clamped(Ball(D, RADIUS)), squared),
            "own": (HardConstraint(sphere), product),
            "offset": (HardConstraint(sphere, offset), shifted),
            "free": (Free(), inner),
        }
        apply = lambda constraint: {k: constraint.apply(jet, X, MU, directions) for k, jet in inner.items()}
        return {name: (apply(constraint), expected) for name, (constraint, expected) in constraints.items()}

    for name, (found, expected) in pairs().items():
        for order, collapsed in expected:
            jet = found[order, collapsed]
            assert (jet.order, jet.top is not None) == (order, collapsed)
            jax.tree.map(functools.partial(close, name=f"{name}, order {order}"), jet, expected[order, collapsed])


NORMS = {
    f"{norms}-{name}": (forms, directions)
    for norms, forms in (("|x|²", 0), ("forms", 2))
    for name, directions in DIRECTIONS.items()
}


@pytest.mark.parametrize(("forms", "directions"), mostly_slow(NORMS, "|x|²-sparse", "forms-dense"))
def test_functions_of_norms_and_time_are_differentiated_in_closed_form(directions, forms):
    """The last coordinate is time: to order 4, whole and collapsed."""
    cylinder = TimeCylinder(Ball(D - 1))
    norms = [QuadraticForm(jnp.linspace(1.0, 2.0, D - 1), jnp.linspace(-0.4, 0.5, D - 2)), squared_norm(D - 1)][:forms]
    at = lambda x: jnp.stack([norm(x) for norm in norms]) if forms else jnp.sum(x[:-1] ** 2)
    factor = lambda s, t, mu: t * jnp.cos(mu.mu1 * jnp.sum(s) + t)
    shift = lambda s, t, mu: jnp.exp(-jnp.sum(s) * t) + mu.mu2 * t
    constraint = radial(cylinder, factor, shift, norms)
    assert constraint.radial == (not forms)

    @jax.jit
    def pairs():
        u = lambda x: factor(at(x), x[-1], MU) * network(x) + shift(at(x), x[-1], MU)
        inner = jets_of(network, directions)
        return {k: constraint.apply(jet, X, MU, directions) for k, jet in inner.items()}, jets_of(u, directions)

    found, expected = pairs()
    for order, jet in found.items():
        jax.tree.map(functools.partial(close, name=f"order {order}"), jet, expected[order])


ALONE = {
    "closed": (VanishingOnSphere(RADIUS), 1),
    "clamped": (clamped(Ball(D, RADIUS)), 2),
    "own": (HardConstraint(sphere), 1),
}


@pytest.mark.parametrize(("constraint", "power"), ALONE.values(), ids=ALONE)
def test_values_alone(constraint, power):
    value = Jet(network(X), (), None, jnp.zeros(0))
    found = constraint.apply(value, X, MU, None)
    assert found.order == 0
    close(found.value, sphere(X, MU) ** power * network(X))


def test_zero_on_the_boundary_of_the_ball_whatever_the_network():
    x = RADIUS * X / jnp.linalg.norm(X)
    huge = Jet(jnp.asarray(1e6), (), None, jnp.zeros(0))
    assert abs(vanishing(Ball(D, RADIUS)).apply(huge, x, MU, None).value) < 1e6 * 1e-15  # the rounding of 1 − |x|²/R²
    own = HardConstraint(sphere, offset)
    close(own.apply(huge, x, MU, None).value, offset(x, MU), 1e-8)  # 1e6 · 1e-15 beside an offset of order 0.1


def test_clamped_on_the_boundary_of_the_ball_whatever_the_network():
    """u and its derivatives vanish in every direction, its second one along the normal does not: that is
    a_1² N = 4N/R²."""
    normal = X / jnp.linalg.norm(X)
    directions = Dense(jnp.concatenate([normal[None], DIRECTIONS["dense"].vectors]))
    huge = Jet(jnp.asarray(1e6), (jnp.full(4, 1e6), jnp.full(4, 1e6)), None, jnp.ones(4))
    found = clamped(Ball(D, RADIUS)).apply(huge, RADIUS * normal, MU, directions)
    size = 1e6 * 1e-14  # the rounding of 1 − |x|²/R², times what |v| and 1/R make of it
    assert abs(found.value) < size
    assert jnp.max(jnp.abs(found.lower[0])) < size
    close(found.lower[1][0], 4e6 / RADIUS**2)


@pytest.mark.parametrize("condition", [vanishing, clamped])
@pytest.mark.parametrize("domain", [Cube(3), TimeCylinder(Ball(3))], ids=["cube", "cylinder"])
def test_no_closed_form_elsewhere(condition, domain):
    with pytest.raises(
        InputError, match=rf"^{condition.__name__}.*on {type(domain).__name__} give your own HardConstraint"
    ):
        condition(domain)
