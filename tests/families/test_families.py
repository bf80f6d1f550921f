"""Every family is solved by its own exact solution, which every parameter changes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import FAMILIES, close, directional, name_of, oracle, samples

from prism.problem.family import Derivatives
from prism.shapes import Named

COUNT = 5
every_family = pytest.mark.parametrize("family", FAMILIES, ids=name_of)


@every_family
def test_the_exact_solution_solves(family):
    """And that of parameters a tenth larger does not."""

    def residual(x, mu, factor):
        """At μ, of the solution at μ times a factor."""
        named = family.parameters.named(mu)
        other = Named({name: factor * value for name, value in vars(named).items()})
        exact = lambda y: family.exact(y, other)
        terms = {name: oracle(operator, family.domain, exact, x, named) for name, operator in family.terms.items()}
        return family.residual(Derivatives(exact(x), terms), x, named)

    over_parameters = jax.vmap(jax.vmap(residual, in_axes=(None, 0, None)), in_axes=(0, None, None))
    x, mu, factors = samples(family.domain, COUNT), samples(family.parameters, COUNT), jnp.asarray([1.0, 1.1])
    right, wrong = jax.jit(jax.vmap(over_parameters, in_axes=(None, None, 0)))(x, mu, factors)
    size = np.sqrt(np.mean(wrong**2))
    assert size > 1e-3  # else the rest would prove nothing
    close(1 + right / size, np.ones((COUNT, COUNT)), 1e-9)  # a product of β = 30 and sums that cancel


@every_family
def test_the_solution_depends_on_every_parameter(family):
    space, x = family.parameters, samples(family.domain, 20)
    ends = [
        space.middle().at[index].set(side[index]) for index in range(space.size) for side in (space.lows, space.highs)
    ]
    exact = jax.vmap(jax.vmap(lambda mu, y: family.exact(y, space.named(mu)), in_axes=(None, 0)), in_axes=(0, None))
    found = np.asarray(jax.jit(exact)(jnp.stack(ends), x)).reshape(space.size, 2, 20)
    for low, high in found:
        assert np.linalg.norm(high - low) > 0.1 * np.linalg.norm(high)


def test_directional_is_the_derivative():
    """The oracle itself, on a polynomial by hand: ∂³(x²y)/∂x²∂y = 2."""
    axes = jnp.eye(2)
    assert directional(lambda z: z[0] ** 2 * z[1], axes[0], axes[1], axes[0])(jnp.asarray([0.3, 0.7])) == 2.0
