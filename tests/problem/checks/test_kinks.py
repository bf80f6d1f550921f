"""Kinks and jumps of a user's functions are named where derivatives miss them, and nothing smooth is.

That no built-in family is accused is tested with each of them, by `check_family`.
"""

import time

import jax
import jax.numpy as jnp
import pytest
from helpers import KEY, mostly_slow

import prism
from prism.errors import InputError
from prism.problem.checks.family import check_family
from prism.problem.checks.kinks import check_smooth
from prism.problem.constraints import Constraint

SECONDS = 2.0
"""Of the processor, within which a kink in 100 dimensions is named, with the compilation; three times as many on a
busy machine, whose caches others use."""


class Problem(prism.Family):
    """Δu = a, or another term, under any constraint."""

    domain: prism.Domain
    held: Constraint
    term: prism.Operator = prism.Laplacian()
    parameters = prism.Uniform(a=(0.5, 1.5))

    @property
    def terms(self):
        return {"term": self.term}

    def residual(self, u, x, mu):
        return u.term - mu.a

    def constraint(self):
        return self.held


def with_offset(offset, domain: prism.Domain, **rest) -> Problem:
    return Problem(domain, prism.HardConstraint(factor=lambda x, mu: 1.0 - jnp.sum(x**2), offset=offset, **rest))


def basket(x, mu):
    return jnp.maximum(jnp.mean(jnp.exp(x)) - 1.0, 0.0)


def absolute_value(x, mu):
    return jnp.abs(x[0]) + jnp.sum(x**2)


def arctan_of_maximum(x, mu):
    return jnp.arctan(jnp.max(x))


def branches(x, mu):
    return jnp.where(x[1] > 0.0, mu.a * x[1], -0.5 * x[1] ** 2) + jnp.sin(x[0])


KINKS = [basket, absolute_value, arctan_of_maximum, branches]


@pytest.mark.parametrize("dimension", [pytest.param(2, marks=pytest.mark.slow), 1000])
@pytest.mark.parametrize("offset", KINKS, ids=lambda f: f.__name__)
def test_a_kink_is_named(offset, dimension):
    family = with_offset(offset, prism.WholeSpace(dimension, 0.3))
    with pytest.raises(InputError, match=r"the offset of the constraint of Problem has a kink.*prism\.smoothed"):
        check_smooth(family, KEY)


def test_it_is_named_soon():
    family = with_offset(basket, prism.WholeSpace(100, 0.3))
    begun = time.process_time()
    with pytest.raises(InputError, match=r"has a kink.*allow_kinks=True.*docs/defining-a-pde\.md#data-with-kinks"):
        check_smooth(family, KEY)
    assert time.process_time() - begun < 3.0 * SECONDS


@pytest.mark.parametrize("domain", [prism.Ball(3), prism.Cube(3, -1.0, 1.0), prism.TimeCylinder(prism.Ball(3), 2.0)])
def test_a_kink_is_named_on_every_domain_and_in_the_factor(domain):
    held = prism.HardConstraint(factor=lambda x, mu: jnp.minimum(1.0 - x[0] ** 2, 0.8))
    with pytest.raises(InputError, match=r"the factor of the constraint of Problem has a kink"):
        check_smooth(Problem(domain, held), KEY)


@pytest.mark.parametrize(
    ("name", "dimension"), [("factor", 3), pytest.param("offset", 3, marks=pytest.mark.slow), ("offset", 1000)]
)
def test_a_kink_of_the_norm_is_named(name, dimension):
    domain = prism.Ball(dimension)
    fields = {"factor": lambda s, t, mu: 1.0 - s, name: lambda s, t, mu: jnp.maximum(s - 0.3 * mu.a, 0.0)}
    with pytest.raises(InputError, match=rf"the {name} of the constraint of Problem has a kink"):
        check_smooth(Problem(domain, prism.radial(domain, **fields)), KEY)
    check_smooth(Problem(domain, prism.radial(domain, **fields, allow_kinks=True)), KEY)


STEEP = {
    "softplus": lambda x, mu: 0.01 * jax.nn.softplus((x[0] - 0.1) / 0.01),
    "tanh": lambda x, mu: jnp.tanh((x[0] - 0.1) / 0.01),
    "logarithm": lambda x, mu: jnp.log(1e-3 + jnp.sum(x**2)),
    "norm": lambda x, mu: jnp.linalg.norm(x),
    "wave": lambda x, mu: jnp.sin(300.0 * jnp.sum(x)),
    "power": lambda x, mu: jnp.abs(x[0]) ** 1.5,
    "rounding": lambda x, mu: jnp.sin(jnp.sum(x)) ** 2 + jnp.cos(jnp.sum(x)) ** 2,
    "constant": lambda x, mu: mu.a,
    "smoothed": lambda x, mu: prism.smoothed(jnp.mean(x), 0.003),
}


@pytest.mark.parametrize("offset", mostly_slow(STEEP, "softplus", "logarithm", "norm", "rounding", "smoothed"))
def test_what_is_smooth_passes(offset):
    check_smooth(with_offset(offset, prism.Cube(3, -1.0, 1.0)), KEY)


def test_a_width_that_vanishes_with_time_passes():
    domain = prism.TimeCylinder(prism.WholeSpace(5, 0.3), 1.0)
    offset = lambda x, mu: prism.smoothed(jnp.mean(x[:-1]), mu.a * jnp.sqrt((1.0 - x[-1]) / 5.0))
    check_smooth(with_offset(offset, domain), KEY)


def test_first_derivatives_miss_jumps_alone():
    step = lambda x, mu: jnp.where(x[0] > 0.2, 1.0, 0.0) + x[1]
    for term in (prism.GradientNormSquared(), prism.Laplacian()):
        family = lambda offset, term=term: Problem(prism.Ball(4), with_offset(offset, prism.Ball(4)).held, term)
        with pytest.raises(InputError, match=r"the offset of the constraint of Problem jumps, from"):
            check_smooth(family(step), KEY)
        if term.order == 1:
            check_smooth(family(absolute_value), KEY)


def test_the_check_of_a_family_names_it_unless_it_is_allowed():
    ball = prism.Ball(5)
    with pytest.raises(InputError, match=r"has a kink") as caught:
        check_family(with_offset(absolute_value, ball), KEY)
    assert len(str(caught.value).splitlines()) == 1
    check_family(with_offset(absolute_value, ball, allow_kinks=True), KEY)


@pytest.mark.slow
def test_a_million_dimensions():
    """Four lines, two of which come from near the centre, and so meet a kink between there and the other points."""
    cube = prism.Cube(10**6, -1.0, 1.0)
    check_smooth(with_offset(lambda x, mu: jnp.sin(jnp.mean(x)), cube), KEY)
    with pytest.raises(InputError, match=r"has a kink"):
        check_smooth(with_offset(lambda x, mu: jnp.maximum(jnp.mean(x**2) - 0.2, 0.0), cube), KEY)
