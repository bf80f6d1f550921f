"""An exact solution that contradicts its equation, constraint or condition is named; a right one is not."""

import jax.numpy as jnp
import pytest
from helpers import CONTROL_FAMILIES, FAMILIES, KEY, name_of

import prism
from prism.errors import InputError
from prism.numerics.keys import items
from prism.problem.checks.exact import check_exact
from prism.problem.checks.values import Pairs
from prism.problem.family import Family


def pairs_of(family: Family, count: int = 4) -> Pairs:
    keys = items(KEY, count)
    return Pairs(
        jnp.stack([family.domain.sample(key) for key in keys]),
        jnp.stack([family.parameters.sample(key) for key in keys]),
    )


class Torsion(prism.Family):
    """Δu = −2dμ, u = μ(1 − |x|²), with what is to be wrong in it."""

    domain: prism.Domain
    parameters = prism.Uniform(mu=(0.5, 1.5))
    terms = {"lap": prism.Laplacian()}
    curvature: float = 1.0
    level: float = 1.0
    asked: float | None = None
    flux: float | None = None

    def residual(self, u, x, mu):
        return u.lap + 2.0 * self.domain.dimension * mu.mu

    def constraint(self):
        return prism.vanishing(self.domain) if self.asked is None and self.flux is None else prism.Free()

    @property
    def conditions(self):
        sphere, found = prism.Sphere(self.domain.dimension), {}
        if self.asked is not None:
            found["surface"] = prism.Prescribed(sphere, lambda x, mu: self.asked * mu.mu)
        if self.flux is not None:
            found["flux"] = prism.Prescribed(sphere, lambda x, mu: self.flux * mu.mu, along=lambda x: x)
        return found

    def exact(self, x, mu):
        return mu.mu * (self.level - self.curvature * jnp.sum(x**2))


class Decay(prism.Family):
    """u_t = −λu from u = exp(−Σx), with a start of another size."""

    domain: prism.TimeCylinder
    parameters = prism.Uniform(lam=(0.5, 1.5))
    terms = {"t": prism.TimeDerivative()}
    start: float = 1.0

    def residual(self, u, x, mu):
        return u.t + mu.lam * u.value

    def constraint(self):
        offset = lambda x, mu: jnp.exp(-jnp.sum(x[:-1]))
        return prism.HardConstraint(factor=lambda x, mu: x[-1], offset=offset)

    def exact(self, x, mu):
        return self.start * jnp.exp(-jnp.sum(x[:-1]) - mu.lam * x[-1])


BALL, CYLINDER = prism.Ball(4), prism.TimeCylinder(prism.Cube(3), 1.0)
WRONG = {
    "the equation": (
        Torsion(BALL, curvature=-1.0, level=-1.0),
        r"exact of Torsion does not solve its equation",
    ),
    "the equation a little": (Torsion(BALL, curvature=1.1, level=1.1), r"does not solve its equation"),
    "the constraint": (Torsion(BALL, level=1.2), r"contradicts the constraint where \|x\| = 1: they differ by 0\.2"),
    "the condition": (Torsion(BALL, asked=0.3), r'contradicts the condition "surface"'),
    "the flux": (Torsion(BALL, flux=2.0), r'contradicts the condition "flux"'),
    "the flux a little": (Torsion(BALL, flux=-1.9), r'contradicts the condition "flux": they differ by 0\.1'),
    "the start": (Decay(CYLINDER, start=0.5), r"exact of Decay contradicts the constraint at t = 0"),
}


@pytest.mark.parametrize(("family", "message"), WRONG.values(), ids=WRONG)
def test_a_contradiction_is_named(family, message):
    with pytest.raises(InputError, match=message) as caught:
        check_exact(family, pairs_of(family), KEY)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("family", [Torsion(BALL), Torsion(BALL, asked=0.0, flux=-2.0), Decay(CYLINDER)], ids=name_of)
def test_a_right_one_passes(family):
    check_exact(family, pairs_of(family), KEY)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES + CONTROL_FAMILIES, ids=name_of)
def test_those_of_the_catalogue_pass(family):
    check_exact(family, pairs_of(family), KEY)


def test_where_derivatives_are_too_many_the_constraint_alone_is_looked_at():
    wide = prism.Ball(1000)
    check_exact(Torsion(wide, curvature=2.0, level=2.0), pairs_of(Torsion(wide)), KEY)
    with pytest.raises(InputError, match="contradicts the constraint"):
        check_exact(Torsion(wide, level=1.2), pairs_of(Torsion(wide)), KEY)
