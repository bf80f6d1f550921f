"""A function in stages is the function; a stage hands on no more than later ones read."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from helpers import KEY, close
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.numerics.staging import Stages

WIDTH = 3
BINARY = (jnp.add, jnp.subtract, jnp.multiply, jnp.maximum)
UNARY = (jnp.sin, jnp.negative, jnp.flip, lambda value: jnp.full_like(value, 2.0), lambda value: value * jnp.sum(value))

steps = st.lists(
    st.tuples(st.integers(0, len(BINARY) + len(UNARY) - 1), st.integers(0, 99), st.integers(0, 99)),
    min_size=1,
    max_size=12,
)
"""Operations in turn, each on two of the values there are by then."""


def function_of(program, outputs: int):
    """f(a, b, c) that carries out the steps on its arguments, and gives some of the values there are at the end."""

    def function(a, b, c):
        values = [a["first"], a["second"], b, *c]
        for operation, i, j in program:
            first, second = values[i % len(values)], values[j % len(values)]
            if operation < len(BINARY):
                values.append(BINARY[operation](first, second))
            else:
                values.append(UNARY[operation - len(BINARY)](first))
        return {"last": values[-outputs:], "point": b}

    return function


ARGUMENTS = (
    {"first": jnp.linspace(-1.0, 1.0, WIDTH), "second": jnp.asarray([0.3, -0.2, 0.5])},
    jnp.asarray([2.0, 0.1, -0.7]),
    (jnp.asarray([-0.4, 0.9, 0.2]), jnp.ones(WIDTH)),
)


@settings(max_examples=60)
@given(steps, st.integers(1, 6))
def test_staged_equals_unstaged(program, outputs):
    """To the last bit: the same operations in the same order, whichever arguments they read."""
    function = function_of(program, outputs)
    stages = Stages.of(function, *ARGUMENTS)
    once = stages.begin(ARGUMENTS[0])
    staged = stages.finish(once.lasting, stages.advance(once, ARGUMENTS[1]), ARGUMENTS[2])
    assert eqx.tree_equal(staged, function(*ARGUMENTS))


def test_what_the_first_arguments_decide_is_computed_once():
    """f reads a long point through a product: the last stage keeps the product, not the point."""
    weights, unknowns = jax.random.normal(KEY, (1_000, WIDTH)), jnp.ones(WIDTH)
    points = jnp.linspace(0.0, 1.0, 2_000).reshape(2, 1_000)
    function = lambda w, x, c: jnp.sin(x @ jnp.tanh(w)) @ c
    stages = Stages.of(function, weights, points[0], unknowns)
    once = stages.begin(weights)
    for x in points:
        cached = stages.advance(once, x)
        assert [value.shape for value in cached] == [(WIDTH,)]
        close(stages.finish(once.lasting, cached, unknowns), function(weights, x, unknowns))
    assert once.lasting == ()


def test_constants_and_unused_arguments():
    table = np.arange(3.0)
    function = lambda a, b, c: table * b
    stages = Stages.of(function, jnp.ones(()), jnp.ones(WIDTH), jnp.zeros(2))
    once = stages.begin(jnp.ones(()))
    found = stages.finish(once.lasting, stages.advance(once, jnp.full(WIDTH, 2.0)), jnp.zeros(2))
    np.testing.assert_array_equal(found, 2.0 * table)


def test_stages_under_transformations():
    """Advanced for many points and differentiated by the unknowns, under jit."""
    function = lambda a, b, c: jnp.sum(jnp.sin(a * b) * c**2)
    a, points, c = jnp.asarray([0.5, 1.0, 2.0]), jnp.linspace(0, 1, 12).reshape(4, 3), jnp.asarray([1.0, -1.0, 0.3])
    stages = Stages.of(function, a, points[0], c)

    @jax.jit
    def gradients():
        once = stages.begin(a)
        cached = jax.vmap(lambda b: stages.advance(once, b))(points)
        return jax.vmap(lambda kept: jax.grad(lambda u: stages.finish(once.lasting, kept, u))(c))(cached)

    close(gradients(), jax.jit(jax.vmap(lambda b: jax.grad(function, 2)(a, b, c)))(points))
