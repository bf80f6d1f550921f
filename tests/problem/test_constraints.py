"""Hard conditions: the closed form and JAX's derivatives say the same, and the condition holds."""

import functools
import math

import jax
import jax.numpy as jnp
import pytest
from helpers import KEY, D, Terms, close, directional

from prism import Ball, Cube, Free, HardConstraint, InputError, TimeCylinder, vanishing
from prism.derivatives.directions import Dense, Sparse
from prism.derivatives.taylor import Jet, collapse
from prism.problem.constraints import VanishingOnSphere

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


def jet_of(f, directions, order: int, collapsed: bool) -> Jet:
    """The jet of a function by nested autodiff."""
    vectors = directions.dense(D)
    lower = [
        jax.vmap(lambda v, k=k: directional(f, *[v] * k)(X))(vectors) / math.factorial(k) for k in range(1, order + 1)
    ]
    top = collapse(WEIGHTS, lower.pop()) if collapsed else None
    return Jet(f(X), tuple(lower), top, WEIGHTS)


@pytest.mark.parametrize("collapsed", [False, True], ids=["whole", "collapsed"])
@pytest.mark.parametrize("directions", DIRECTIONS.values(), ids=DIRECTIONS)
def test_constrained_jets_are_those_of_the_product(directions, collapsed):
    """Closed form, derivatives by JAX, with an offset and without any: to order 4."""

    def pairs(order: int) -> dict[str, tuple[Jet, Jet]]:
        expected = functools.partial(jet_of, directions=directions, order=order, collapsed=collapsed)
        inner, product = expected(network), expected(lambda x: sphere(x, MU) * network(x))
        apply = lambda constraint: constraint.apply(inner, X, MU, directions)
        return {
            "closed": (apply(VanishingOnSphere(RADIUS)), product),
            "own": (apply(HardConstraint(sphere)), product),
            "offset": (
                apply(HardConstraint(sphere, offset)),
                expected(lambda x: sphere(x, MU) * network(x) + offset(x, MU)),
            ),
            "free": (apply(Free()), inner),
        }

    for order, by_name in jax.jit(lambda: {k: pairs(k) for k in range(1, 5)})().items():
        for name, (found, expected) in by_name.items():
            assert found.order == order
            jax.tree.map(functools.partial(close, name=f"{name}, order {order}"), found, expected)


@pytest.mark.parametrize("constraint", [VanishingOnSphere(RADIUS), HardConstraint(sphere)], ids=["closed", "own"])
def test_values_alone(constraint):
    value = Jet(network(X), (), None, jnp.zeros(0))
    found = constraint.apply(value, X, MU, None)
    assert found.order == 0
    close(found.value, sphere(X, MU) * network(X))


def test_zero_on_the_boundary_of_the_ball_whatever_the_network():
    x = RADIUS * X / jnp.linalg.norm(X)
    huge = Jet(jnp.asarray(1e6), (), None, jnp.zeros(0))
    assert abs(vanishing(Ball(D, RADIUS)).apply(huge, x, MU, None).value) < 1e6 * 1e-15  # the rounding of 1 − |x|²/R²
    own = HardConstraint(sphere, offset)
    close(own.apply(huge, x, MU, None).value, offset(x, MU), 1e-8)  # 1e6 · 1e-15 beside an offset of order 0.1


@pytest.mark.parametrize("domain", [Cube(3), TimeCylinder(Ball(3))], ids=["cube", "cylinder"])
def test_no_closed_form_elsewhere(domain):
    with pytest.raises(InputError, match=rf"on {type(domain).__name__} give your own HardConstraint"):
        vanishing(domain)
