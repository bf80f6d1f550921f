"""A fingerprint knows the equation, not how it is written."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import prism
from prism.problem.fingerprint import TRACED_AS, fingerprint, same_equation


def family(residual=None, constraint=None, domain=None, low=0.0, velocity=1.0, weights=None):
    """A family with one thing changed."""

    class Equation(prism.Family):
        domain: prism.Ball
        weights: jax.Array
        parameters = prism.Uniform(lam=(low, 5.0))
        terms = {"lap": prism.Laplacian(), "flow": prism.Directional(lambda x, mu: velocity * jnp.ones_like(x))}

        def residual(self, u, x, mu):
            if residual is not None:
                return residual(u, x, mu)
            return u.lap + u.flow - mu.lam * u.value - jnp.sum(self.weights * x)

        def constraint(self):
            return prism.vanishing(self.domain) if constraint is None else constraint

    return Equation(prism.Ball(3) if domain is None else domain, jnp.ones(3) if weights is None else weights)


def compiled(number: float):
    """A source inside a compiled function, which closes over an array."""
    array = number * jnp.ones(3)
    inner = jax.jit(lambda x: jnp.sum(array * x))
    return family(residual=lambda u, x, mu: u.lap + u.flow + mu.lam * inner(x))


def test_arrays_inside_compiled_functions_count():
    assert fingerprint(compiled(1.0)) == fingerprint(compiled(1.0))
    assert fingerprint(compiled(1.0)) != fingerprint(compiled(2.0))


TOLD = """
import pathlib, sys
import prism
from prism.families import Poisson
from prism.problem.fingerprint import fingerprint
import jax
pathlib.Path(sys.argv[1]).write_text(fingerprint(Poisson.create(3, jax.random.key(0))))
"""


def test_it_is_the_same_on_a_terminal(tmp_path):
    """Where JAX prints its traces in colour."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    ours, terminal = os.openpty()
    for name, output in (("pipe", subprocess.DEVNULL), ("terminal", terminal)):
        command = [sys.executable, "-c", TOLD, str(tmp_path / name)]
        subprocess.run(command, stdout=output, env=environment, check=True)
    os.close(ours)
    os.close(terminal)
    assert (tmp_path / "pipe").read_text() == (tmp_path / "terminal").read_text()


def with_flux(field=None):
    """The family with values, or derivatives along a field, on the sphere."""
    asked = prism.Prescribed(prism.Sphere(3), lambda x, mu: mu.lam, along=field)
    return type("Equation", (type(family()),), {"conditions": {"surface": asked}})(prism.Ball(3), jnp.ones(3))


def test_what_a_condition_is_about_counts():
    """A value, a derivative, and along which field; not how the field is written."""
    value, along, other = (fingerprint(with_flux(field)) for field in (None, lambda x: x, lambda x: 2.0 * x))
    assert len({value, along, other}) == 3
    assert fingerprint(with_flux(lambda y: y)) == along


SAME = {"again": family(), "other arrays of the family": family(weights=jnp.arange(3.0))}
DIFFERENT = {
    "another equation": family(residual=lambda u, x, mu: u.lap + u.flow - 2.0 * mu.lam * u.value),
    "another constraint": family(constraint=prism.HardConstraint(factor=lambda x, mu: 2.0 - jnp.sum(x * x))),
    "another domain": family(domain=prism.Ball(3, 2.0)),
    "another box": family(low=1.0),
    "another operator": family(velocity=2.0),
}


@pytest.mark.parametrize("other", SAME.values(), ids=SAME)
def test_the_same_equation(other):
    assert fingerprint(other) == fingerprint(family())


@pytest.mark.parametrize("other", DIFFERENT.values(), ids=DIFFERENT)
def test_another_equation(other):
    assert not same_equation(fingerprint(other), fingerprint(family()))


def test_versions_of_jax_are_not_compared():
    assert same_equation("jax-0.0.1:abc", fingerprint(family()))
    assert same_equation(None, "jax-0.0.1:abc")


def test_hashes_of_an_earlier_version_cannot_be_compared():
    """Its equations are traced otherwise; solutions and runs that it stored are read all the same."""
    now = fingerprint(family())
    earlier = now.replace(TRACED_AS, "plain").rpartition(":")[0] + ":" + "0" * 64
    assert same_equation(now, earlier)
    assert not same_equation(now, now.rpartition(":")[0] + ":" + "0" * 64)
