"""What a family says of itself, and what it says where something is missing."""

import jax.numpy as jnp
import pytest
from helpers import FAMILIES, D, Terms

from prism import Ball, InputError
from prism.problem.family import Derivatives


def test_a_family_without_an_exact_solution():
    family, x = Terms(Ball(D), {}), jnp.zeros(D)
    mu = family.parameters.named(jnp.ones(2))
    assert not family.has_exact
    assert not family.has_affine
    assert FAMILIES[0].has_exact
    assert FAMILIES[0].has_affine
    with pytest.raises(InputError, match="Terms has no exact solution; define exact"):
        family.exact(x, mu)
    with pytest.raises(InputError, match="Terms has no affine answer; define affine"):
        family.affine(x, mu)


def test_a_term_that_was_not_declared():
    u = Derivatives(jnp.zeros(()), {"lap": jnp.ones(())})
    assert (u.value, u.lap) == (0.0, 1.0)
    with pytest.raises(InputError, match=r"reads u\.u_x, which is not there; it has lap, value.*Declare it"):
        _ = u.u_x
