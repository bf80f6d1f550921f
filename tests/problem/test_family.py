"""What a family says of itself, and what it says where something is missing."""

import inspect
import re

import jax.numpy as jnp
import pytest
from helpers import FAMILIES, D, Terms

import prism
from prism import Ball, InputError, Isotropic, Operator
from prism.derivatives import operators
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


MEANT = {
    "t": prism.TimeDerivative(),
    "tt": prism.TimeDerivative(2),
    "lap": prism.Laplacian(),
    "laplacian": prism.Laplacian(),
    "grad": prism.GradientNormSquared(),
    "grad2": prism.GradientNormSquared(),
    "x": prism.Partial(0),
    "x0": prism.Partial(0),
    "x3": prism.Partial(3),
    "dx": prism.Partial(0),
    "bilap": prism.Biharmonic(),
    "biharmonic": prism.Biharmonic(),
}


@pytest.mark.parametrize(("name", "operator"), MEANT.items(), ids=MEANT)
def test_an_undeclared_term_is_suggested_by_its_name(name, operator):
    """The suggestion is Python that declares the term."""
    u = Derivatives(jnp.zeros(()), {})
    with pytest.raises(InputError) as refused:
        getattr(u, name)
    _, _, declared = str(refused.value).partition("Declare it: terms = ")
    assert eval(declared, {"prism": prism}) == {name: operator}


def test_an_undeclared_term_of_any_other_name_is_told_every_operator():
    with pytest.raises(InputError) as refused:
        _ = Derivatives(jnp.zeros(()), {}).curvature
    kinds = [kind for kind in vars(operators).values() if inspect.isclass(kind) and issubclass(kind, Operator)]
    public = {kind.__name__ for kind in kinds if kind.__name__ in prism.__all__} - {
        Operator.__name__,
        Isotropic.__name__,
    }
    assert set(re.findall(r"prism\.(\w+)\(", str(refused.value))) == public
