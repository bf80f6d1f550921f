"""A mistake in a user's family is named, with its fix, before anything is trained; a correct one is solved."""

import inspect
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, linear

import prism
from prism.errors import InputError
from prism.problem.checks import check_family

BALL = prism.Ball(5)
SMALL = prism.Architecture(linear(6), width=6, depth=2, generator_width=6, generator_depth=2)


class AllenCahn(prism.Family):
    """Δu + μ₁u − μ₂u³ = f in the unit ball, u = 0 on its surface: the example of the documentation."""

    domain: prism.Ball
    parameters = prism.Uniform(mu1=(0.5, 1.5), mu2=(0.5, 1.5))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap + mu.mu1 * u.value - mu.mu2 * u.value**3 - self.source(x, mu)

    def source(self, x, mu):
        return jnp.sin(jnp.sum(x))

    def constraint(self):
        return prism.vanishing(self.domain)


def build(**changes) -> prism.Family:
    """The family above with other methods, parameters or terms."""
    return type("Changed", (AllenCahn,), {"__module__": __name__, **changes})(BALL)


def plain(**members) -> prism.Family:
    """A family that declares nothing but these."""
    members.setdefault("residual", lambda self, u, x, mu: u.value)
    return type("Plain", (prism.Family,), {"__module__": __name__, **members})()


def branching(self, u, x, mu):
    return u.lap + mu.mu1 * u.value if mu.mu2 > 1.0 else u.lap


def looping(self, u, x, mu):
    total = u.lap + mu.mu2
    for _ in range(int(mu.mu1)):
        total = total + u.value
    return total


def shadowing_u(self, u, x, mu):
    return u.lap + mu.mu1 * u.value + mu.mu2 * jnp.dot(x, jnp.ones(7))


DECLARED = {"domain": BALL, "parameters": AllenCahn.parameters, "terms": AllenCahn.terms}

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "no domain": (lambda: plain(parameters=DECLARED["parameters"], terms=DECLARED["terms"]), r"no valid domain.*Ball"),
    "a domain that is none": (lambda: plain(**{**DECLARED, "domain": 5}), r"no valid domain.*prism\.Ball"),
    "no parameters": (lambda: plain(domain=BALL, terms=DECLARED["terms"]), r"no valid parameters.*prism\.Uniform"),
    "no terms": (lambda: plain(domain=BALL, parameters=DECLARED["parameters"]), r"no valid terms.*prism\.Laplacian"),
    "terms in a list": (lambda: build(terms=[prism.Laplacian()]), r"no valid terms.*prism\.Laplacian"),
    "a term that is a string": (lambda: build(terms={"lap": "laplacian"}), r'terms\["lap"\] is .*give an operator'),
    "a term that is a class": (lambda: build(terms={"lap": prism.Laplacian}), r'terms\["lap"\] is .*Laplacian\(\)'),
    "a term called value": (
        lambda: build(terms={"lap": prism.Laplacian(), "value": prism.Partial(0)}),
        r'cannot be called "value"',
    ),
    "a term of no name": (
        lambda: build(terms={"lap": prism.Laplacian(), "u_x y": prism.Partial(0)}),
        r'cannot be called "u_x y"',
    ),
    "a term that is not declared": (
        lambda: build(residual=lambda self, u, x, mu: u.lap + u.grad * mu.mu1 * mu.mu2),
        r'u\.grad.*it has lap, value.*terms = \{"grad"',
    ),
    "a term that is not used": (
        lambda: build(terms={"lap": prism.Laplacian(), "slope": prism.GradientNormSquared()}),
        r'the term "slope" .*never reads u\.slope',
    ),
    "a parameter that does not exist": (
        lambda: build(residual=lambda self, u, x, mu: u.lap + mu.nu * u.value),
        r"mu\.nu does not exist.*mu1, mu2",
    ),
    "a parameter that is not used": (
        lambda: build(residual=lambda self, u, x, mu: u.lap + mu.mu1 * u.value - self.source(x, mu)),
        r"never uses the parameter mu2.*take it out of parameters",
    ),
    "a residual at every coordinate": (
        lambda: build(residual=lambda self, u, x, mu: u.lap + mu.mu1 * u.value - mu.mu2 * jnp.sin(x)),
        r"residual of Changed has shape \(5,\).*one number",
    ),
    "a source at every coordinate": (
        lambda: build(source=lambda self, x, mu: jnp.sin(x)),
        r"of Changed has shape \(5,\).*one number",
    ),
    "an exact solution at every coordinate": (
        lambda: build(exact=lambda self, x, mu: 1.0 - x * x),
        r"exact of Changed has shape \(5,\).*one number",
    ),
    "if on a parameter": (lambda: build(residual=branching), r"residual of Changed branches in Python.*jnp\.where"),
    "a loop over a parameter": (lambda: build(residual=looping), r"residual of Changed branches in Python.*fori_loop"),
    "if in the exact solution": (
        lambda: build(exact=lambda self, x, mu: 1.0 if x[0] > 0 else 0.0),
        r"exact of Changed branches in Python",
    ),
    "a vector of another length": (lambda: build(residual=shadowing_u), r"residual of Changed raised TypeError: "),
    "a source that is not a number": (
        lambda: build(source=lambda self, x, mu: jnp.log(mu.mu1 - 2.0)),
        r"source of Changed is not finite at 8 of 8 random points, such as at mu1 = .*logarithm",
    ),
    "a residual that is infinite": (
        lambda: build(residual=lambda self, u, x, mu: (u.lap + mu.mu1 * mu.mu2) / (u.value - u.value)),
        r"residual of Changed is not finite at 8 of 8 random points.*division by zero",
    ),
    "a constraint that is none": (lambda: build(constraint=lambda self: None), r"constraint\(\) must return"),
    "a constraint at every coordinate": (
        lambda: build(constraint=lambda self: prism.HardConstraint(factor=lambda x, mu: 1.0 - x * x)),
        r"(?i)constraint|factor",
    ),
    "if in a constraint": (
        lambda: build(constraint=lambda self: prism.HardConstraint(factor=lambda x, mu: x[0] if x[0] > 0 else 0.0)),
        r"(?i)branches in Python.*jnp\.where",
    ),
    "time without a time coordinate": (
        lambda: build(
            terms={"lap": prism.Laplacian(), "dt": prism.TimeDerivative()},
            residual=lambda self, u, x, mu: u.dt - mu.mu1 * mu.mu2 * u.lap,
        ),
        r"TimeDerivative needs a time coordinate.*TimeCylinder",
    ),
}


@pytest.mark.parametrize(("family", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named(family, message):
    with pytest.raises(InputError, match=message) as caught:
        check_family(family(), KEY)
    assert "_read" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("mistake", ["no domain", "a term that is a string", "if on a parameter", "no parameters"])
def test_solve_names_it_too(mistake):
    family, message = MISTAKES[mistake]
    with pytest.raises(InputError, match=message):
        prism.solve(family(), steps=3, progress=False)


@pytest.mark.parametrize("family", [None, "allen-cahn", AllenCahn], ids=["None", "a name", "a class"])
def test_solve_asks_for_a_family(family):
    unchecked = inspect.unwrap(prism.solve)  # users have no run-time check of annotations
    with pytest.raises(InputError, match=r"is not a family; build one"):
        unchecked(family, steps=3, progress=False)


@pytest.mark.parametrize(
    "budget", [{"steps": 0}, {"minutes": -1.0}, {"minutes": float("nan")}, {"steps": 1, "minutes": 1.0}]
)
def test_solve_asks_for_a_budget(budget):
    with pytest.raises(InputError, match=r"steps|minutes"):
        prism.solve(AllenCahn(BALL), progress=False, **budget)


@pytest.mark.filterwarnings("ignore::prism.NotSolved", "ignore::prism.BeyondTraining")  # a few steps
def test_a_correct_family_is_solved_and_its_solution_answers():
    family = AllenCahn(BALL)
    check_family(family, KEY)
    solution = prism.solve(
        family,
        steps=3,
        optimiser=prism.Adam(),
        architecture=SMALL,
        sampling=prism.Sampling(4, 4, crossed=False),
        progress=False,
    )
    points = jax.vmap(BALL.sample)(jax.random.split(KEY, 6))
    many = solution(points, mu1=0.7, mu2=jnp.linspace(0.5, 1.5, 6))
    assert many.shape == (6,)
    assert np.all(np.isfinite(many))
    one = solution(points[0], mu1=0.7, mu2=0.5)
    assert one.shape == ()
    # The same network at the same point and parameter: equal up to the order of float64 sums.
    np.testing.assert_allclose(one, many[0], rtol=1e-12)
    np.testing.assert_allclose(solution(points, mu1=0.7, mu2=0.5)[0], one, rtol=1e-12)
    surface = points[0] / jnp.linalg.norm(points[0])
    assert abs(solution(surface, mu1=0.7, mu2=0.5)) < 1e-12
    _check_refusals(solution, points)


def _check_refusals(solution: prism.Solution, points) -> None:
    for arguments, message in (
        ({"mu1": 0.7}, r"no value for mu2; the parameters are mu1, mu2"),
        ({"mu1": 0.7, "mu2": 1.0, "nu": 1.0}, r"unknown nu; the parameters are mu1, mu2"),
        ({}, r"no value for mu1, mu2"),
        ({"mu1": jnp.ones(5), "mu2": 1.0}, r"mu1: give one number, or one for each"),
        ({"mu1": 0.7, "mu2": jnp.ones((6, 1))}, r"mu2: give one number, or one for each"),
    ):
        with pytest.raises(InputError, match=message):
            solution(points, **arguments)
    for shape in ((), (4,), (6, 4), (2, 3, 5)):
        with pytest.raises(InputError, match=r"do not fit; give \(5,\) or \(number, 5\)"):
            solution(jnp.zeros(shape), mu1=0.7, mu2=1.0)
