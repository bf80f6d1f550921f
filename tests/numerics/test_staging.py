"""A function in stages: what it gives at once, and no more kept between the stages than it needs."""

import jax
import jax.numpy as jnp
import numpy as np
from helpers import close

from prism.numerics.staging import Stages


def test_stages_divide_a_function():
    function = lambda a, b, c: (jnp.sum(a["w"] @ b) * c, jnp.sum(a["w"]))
    arguments = {"w": jnp.ones((3, 50))}, jnp.arange(50.0), jnp.asarray(2.0)
    stages = Stages.of(function, *arguments)
    once = stages.begin(arguments[0])
    cached = stages.advance(once, arguments[1])
    assert [value.size for value in (*once.lasting, *cached)] == [1, 1]
    assert stages.finish(once.lasting, cached, arguments[2]) == function(*arguments)


def test_constants_of_a_staged_function_become_arrays():
    constant = np.asarray([1.0, 2.0])
    stages = Stages.of(lambda a, b, c: a * b * (c + jnp.asarray(constant)), 1.0, 2.0, 3.0)
    once = jax.jit(stages.begin)(1.0)
    assert all(isinstance(value, jax.Array) for value in stages.begin(1.0).lasting)
    close(stages.finish(once.lasting, stages.advance(once, 2.0), 3.0), [8.0, 10.0], 0.0)
