"""A mistake in a user's family is named, with its fix, before anything is trained; a correct one is solved."""

import inspect
import math
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import (
    BIHARMONIC,
    CONTROL_FAMILIES,
    FAMILIES,
    KEY,
    SEMILINEAR_FAMILIES,
    TWO_BODY_FAMILIES,
    linear,
    mostly_slow,
    name_of,
)

import prism
from prism.errors import InputError
from prism.problem.checks.declarations import check_declarations
from prism.problem.checks.family import check_family
from prism.problem.checks.traces import check_traces
from prism.problem.conditions import Target

CATALOGUE = FAMILIES + CONTROL_FAMILIES + SEMILINEAR_FAMILIES
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


def adding(term: Callable) -> Callable[[], prism.Family]:
    """The family with one more term in its residual."""
    return lambda: build(residual=lambda self, u, x, mu: u.lap + mu.mu1 * mu.mu2 * u.value + term(u, x, mu))


KEPT: list = []


def keeping(u, x, mu):
    KEPT.append(x)
    return KEPT[0][0]


def conditioned(condition: Callable[[], object]) -> Callable[[], prism.Family]:
    """The family with one condition."""
    return lambda: build(conditions={"asked": condition()})


def observed(*shapes: tuple[int, ...]) -> prism.Observed:
    return prism.Observed(*[jnp.ones(shape) for shape in shapes])


class AtEveryParameter(prism.Condition):
    """What a function makes of μ, asked for at every μ."""

    make: Callable
    points: int = 2
    weight: float = 1.0

    def draw(self, parameters, key):
        mu = parameters.sample(key)
        return Target(jnp.zeros(5), mu, jnp.ones(()))

    def draw_at(self, mu, parameters, key):
        return self.make(mu)


def sine_of_numpy(z, **how):
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), z.dtype), z, **how)


SPHERE = prism.Sphere(5)
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
    "a loop over a parameter": (
        lambda: build(residual=looping),
        r"for a whole number in line \d+ of test_family\.py.*fori_loop",
    ),
    "if in the exact solution": (
        lambda: build(exact=lambda self, x, mu: 1.0 if x[0] > 0 else 0.0),
        r"exact of Changed branches in Python",
    ),
    "a vector of another length": (
        lambda: build(residual=shadowing_u),
        r"raised TypeError in line \d+ of test_family\.py: ",
    ),
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
    "an index beyond the end": (
        adding(lambda u, x, mu: x[7]),
        r"residual of Changed takes index 7 of an array of 5 entries in line \d+ of test_family\.py.*last index is 4",
    ),
    "an end of the process": (
        adding(lambda u, x, mu: exit()),
        r"residual of Changed raised SystemExit in line \d+ of test_family\.py",
    ),
    "an index before the beginning": (adding(lambda u, x, mu: x[-9]), r"takes index -9 of an array of 5 entries"),
    "indices beyond the end": (adding(lambda u, x, mu: jnp.sum(x[jnp.arange(6)])), r"takes index 5 of an array of 5"),
    "an entry set beyond the end": (adding(lambda u, x, mu: jnp.sum(x.at[9].set(1.0))), r"takes index 9 of an array"),
    "an index beyond the end in exact": (
        lambda: build(exact=lambda self, x, mu: x[5]),
        r"exact of Changed takes index 5 of",
    ),
    "an index beyond the end in a constraint": (
        lambda: build(constraint=lambda self: prism.HardConstraint(factor=lambda x, mu: x[8])),
        r"constraint of Changed takes index 8 of",
    ),
    "an index beyond the end in a velocity": (
        lambda: build(terms={"lap": prism.Directional(lambda x, mu: x * x[6])}),
        r"term of Changed takes index 6 of",
    ),
    "a velocity in a list": (
        lambda: build(terms={"lap": prism.Directional(lambda x, mu: [1.0, 2.0])}),
        r"velocity of shape \(2,\).*return \(5,\)",
    ),
    "a partial derivative by a coordinate that is not there": (
        lambda: build(terms={"lap": prism.Partial(0, 7)}),
        r"names coordinate 7; a point has 5",
    ),
    "random numbers of NumPy": (
        adding(lambda u, x, mu: np.random.default_rng().normal()),
        r"residual of Changed is another function at each call.*field of the family",
    ),
    "a random array": (
        adding(lambda u, x, mu: x @ np.random.default_rng().normal(size=5)),
        r"residual of Changed is another function at each call",
    ),
    "the time": (adding(lambda u, x, mu: time.perf_counter()), r"is another function at each call"),
    "a value that was kept": (adding(keeping), r"residual of Changed uses a value that an earlier call kept"),
    "a complex residual": (
        adding(lambda u, x, mu: 1j * x[0]),
        r"residual .* is of the type complex.*jnp\.real",
    ),
    "a residual that is a condition": (
        lambda: build(residual=lambda self, u, x, mu: u.lap > mu.mu1 * mu.mu2),
        r"residual of Changed is of the type bool.*jnp\.where",
    ),
    "a whole residual": (
        lambda: build(residual=lambda self, u, x, mu: jnp.round(u.lap).astype(int)),
        r"residual of Changed is of the type int.*1\.0 \* z",
    ),
    "no return": (lambda: build(residual=lambda self, u, x, mu: None), r"residual of Changed returns nothing.*return"),
    "a function of math": (
        adding(lambda u, x, mu: math.sin(x[0])),
        r"makes a Python number of .* in line \d+ of test_family\.py, as math\.sin.*write jnp\.sin",
    ),
    "a function of NumPy": (adding(lambda u, x, mu: np.sin(x[0])), r"calls NumPy on .*write jnp for np"),
    "a list indexed by u": (adding(lambda u, x, mu: [1.0, 2.0][u.value]), r"for a whole number.*index of a list"),
    "entries picked by a condition": (adding(lambda u, x, mu: jnp.sum(x[x > 0])), r"picks entries.*jnp\.where"),
    "and": (adding(lambda u, x, mu: (x[0] > 0) and 1.0), r"branches in Python.*jnp\.logical_and"),
    "an error in the residual": (
        adding(lambda u, x, mu: {}["k"]),
        r"residual of Changed raised KeyError in line \d+ of test_family\.py: 'k'",
    ),
    "a residual of other arguments": (
        lambda: build(residual=lambda self, u, x: u.lap),
        r"residual of Changed takes \(u, x\); write def residual\(self, u, x, mu\)",
    ),
    "a source of other arguments": (
        lambda: build(source=lambda self, x: 1.0),
        r"source of Changed takes \(x\); write def source\(self, x, mu\)",
    ),
    "an exact solution of other arguments": (
        lambda: build(exact=lambda self, x: 1.0),
        r"exact of Changed takes \(x\); write def exact\(self, x, mu\)",
    ),
    "a factor of other arguments": (
        lambda: build(constraint=lambda self: prism.HardConstraint(factor=lambda x: 1.0)),
        r"factor of a constraint takes \(x\); write lambda x, mu",
    ),
    "a constraint that raises": (
        lambda: build(constraint=lambda self: 1 / 0),
        r"constraint of Changed raised ZeroDivisionError in line \d+ of test_family\.py",
    ),
    "terms that raise": (
        lambda: build(terms=property(lambda self: 1 / 0)),
        r"terms of Changed raised ZeroDivision",
    ),
    "terms that are empty": (lambda: build(terms={}), r"declares no terms.*prism\.Laplacian"),
    "a term of Python's own": (lambda: build(terms={"__class__": prism.Laplacian()}), r'cannot be called "__class__"'),
    "a term called lambda": (lambda: build(terms={"lambda": prism.Laplacian()}), r'cannot be called "lambda"'),
    "a term called 1": (lambda: build(terms={1: prism.Laplacian()}), r'cannot be called "1"'),
    "a residual without u": (
        lambda: build(residual=lambda self, u, x, mu: 0.0 * u.lap + mu.mu1 * mu.mu2 * x[0]),
        r"residual of Changed does not depend on u",
    ),
    "a residual that is not a number in a corner": (
        lambda: build(
            parameters=prism.Uniform(mu1=(0.0, 1.0), mu2=(0.5, 1.0)),
            residual=lambda self, u, x, mu: u.lap + jnp.log(mu.mu1) * mu.mu2 * u.value,
        ),
        r"residual of Changed is not finite at a corner of the parameters' box, such as at mu1 = 0, .*other bounds",
    ),
    "an exact solution that is not a number": (
        lambda: build(exact=lambda self, x, mu: jnp.log(mu.mu1 - 5.0)),
        r"exact of Changed is not finite at 8 of 8 random points",
    ),
    "conditions in a list": (lambda: build(conditions=[1]), r"no valid conditions.*prism\.Prescribed"),
    "a condition that is a function": (conditioned(lambda: math.sin), r'conditions\["asked"\] is .*prism\.Prescribed'),
    "a condition at every coordinate": (
        conditioned(lambda: prism.Prescribed(SPHERE, lambda x, mu: x)),
        r"value of a Prescribed condition has shape \(5,\)",
    ),
    "a condition without a value": (
        conditioned(lambda: prism.Prescribed(SPHERE, lambda x, mu: None)),
        r"value of a Prescribed condition returns nothing",
    ),
    "a condition in another dimension": (
        conditioned(lambda: prism.Prescribed(prism.Sphere(7), lambda x, mu: x[0])),
        r'condition "asked" of Changed has coordinates of shape \(7,\); the family has \(5,\)',
    ),
    "a condition that raises": (
        conditioned(lambda: prism.Prescribed(SPHERE, lambda x, mu: 1 / 0)),
        r'condition "asked" of Changed raised ZeroDivisionError in line',
    ),
    "a condition that is not a number": (
        conditioned(lambda: prism.Prescribed(SPHERE, lambda x, mu: jnp.log(mu.mu1 - 5.0))),
        r'condition "asked" of Changed is not finite at 8 of 8 random points',
    ),
    "a residual without a slope in u": (
        lambda: build(residual=lambda self, u, x, mu: mu.mu1 * mu.mu2 * jnp.sign(u.lap + u.value)),
        r"residual of Changed does not depend on u",
    ),
    "a condition that raises at a given parameter": (
        conditioned(lambda: AtEveryParameter(lambda mu: 1 / 0)),
        r'draw_at of condition "asked" of Changed raised ZeroDivisionError in line',
    ),
    "a condition that draws no target": (
        conditioned(lambda: AtEveryParameter(lambda mu: mu)),
        r'condition "asked" of Changed draws is .*give Target\(x, mu, value\)',
    ),
    "a callback for one point at a time": (adding(lambda u, x, mu: sine_of_numpy(x[0])), r"asks Python.*vmap_method"),
    "a callback without a rule": (
        adding(lambda u, x, mu: sine_of_numpy(x[0], vmap_method="sequential")),
        r"residual of Changed asks Python for a value, which JAX cannot differentiate.*jax\.custom_jvp",
    ),
    "observations in another dimension": (
        conditioned(lambda: observed((3, 4), (3, 2), (3,))),
        r'condition "asked" of Changed has coordinates of shape \(4,\); the family has \(5,\)',
    ),
    "observations of other parameters": (
        conditioned(lambda: observed((3, 5), (3, 1), (3,))),
        r'condition "asked" of Changed has parameters of shape \(1,\); the family has \(2,\)',
    ),
}


@pytest.mark.parametrize(("family", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named(family, message):
    with pytest.raises(InputError, match=message) as caught:
        check_family(family(), KEY)
    assert "_read" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def summed_by_scan(u, x, mu):
    return jax.lax.scan(lambda c, i: (c + jnp.sum(jnp.where(jnp.arange(5) < i, x, 0.0)), None), 0.0, jnp.arange(3))[0]


def summed_over_pairs(u, x, mu):
    pairs = jnp.asarray([[0, 1], [1, 2]])
    return jax.lax.scan(lambda c, pair: (c + jnp.prod(x[pair]), None), 0.0, pairs)[0]


def shifted(u, x, mu):
    return jnp.sum(jnp.zeros(5).at[jnp.arange(5) + 1].add(x, mode="drop"))


@jax.custom_jvp
def sine_with_a_rule(z):
    return sine_of_numpy(z, vmap_method="sequential")


sine_with_a_rule.defjvp(lambda primals, tangents: (sine_with_a_rule(*primals), jnp.cos(primals[0]) * tangents[0]))


def from_numpy(u, x, mu):
    return sine_with_a_rule(x[0])


def held_from_numpy(u, x, mu):
    return sine_of_numpy(jax.lax.stop_gradient(x[0]), vmap_method="sequential")


def test_what_is_never_differentiated_may_ask_numpy():
    ask = lambda self, x, mu: sine_of_numpy(mu.mu1 * x[0], vmap_method="sequential")
    check_family(build(exact=ask, affine=ask), KEY)
    asked = prism.Prescribed(SPHERE, lambda x, mu: sine_of_numpy(mu.mu1 * x[0], vmap_method="sequential"))
    check_family(build(conditions={"asked": asked}), KEY)


DROPPING = {term.__name__: term for term in (summed_by_scan, summed_over_pairs, shifted, from_numpy, held_from_numpy)}


@pytest.mark.parametrize("term", mostly_slow(DROPPING, "summed_by_scan", "shifted", "from_numpy"))
def test_loops_and_entries_that_are_dropped_on_purpose_are_right(term):
    check_family(adding(term)(), KEY)


def in_steps(u, x, mu):
    return jnp.floor(4.0 * mu.mu1) * mu.mu2 * u.value


def symmetric(u, x, mu):
    """Of which moving a parameter to the other side of its interval changes nothing."""
    return ((mu.mu1 - 1.0) ** 2 + (mu.mu2 - 1.0) ** 2) * u.value


def in_steps_and_symmetric(u, x, mu):
    return jnp.floor(4.0 * mu.mu1) * u.value + (mu.mu2 - 1.0) ** 2


def with_a_small_core(u, x, mu):
    """Which few points see: both parameters move the place of a jump near the origin."""
    return jnp.where(jnp.sum(x * x) < 1e-3 * mu.mu1 * mu.mu2, 1.0, 2.0)


def in_symmetric_steps(u, x, mu):
    return jnp.round(6.0 * (mu.mu1 - 1.0)) ** 2 + jnp.where(jnp.abs(mu.mu2 - 1.0) < 0.25, 1.0, 2.0)


def with_a_small_core_of_one(u, x, mu):
    return jnp.where(jnp.sum(x * x) < 0.03 * mu.mu1, 1.0, 2.0) + (mu.mu2 - 1.0) ** 2


CORES = (with_a_small_core, with_a_small_core_of_one)


ACTING = {term.__name__: term for term in (in_steps, symmetric, in_steps_and_symmetric, in_symmetric_steps, *CORES)}
FEW = ("in_steps_and_symmetric", "in_symmetric_steps", "with_a_small_core_of_one")


@pytest.mark.parametrize("term", mostly_slow(ACTING, *FEW))
def test_parameters_that_act_are_not_called_unused(term):
    check_family(build(residual=lambda self, u, x, mu: u.lap + term(u, x, mu)), KEY)


def test_a_parameter_acts_by_the_constraint_alone():
    harmonic = prism.HardConstraint(
        factor=lambda x, mu: 1.0 - jnp.sum(x * x), offset=lambda x, mu: mu.mu1 * x[0] + mu.mu2 * x[1]
    )
    check_family(build(constraint=lambda self: harmonic, residual=lambda self, u, x, mu: u.lap - 1.0), KEY)


def test_a_parameter_acts_by_the_place_of_a_condition():
    moved = AtEveryParameter(lambda mu: Target(jnp.full(5, mu[0] * mu[1] / 5.0), mu, jnp.ones(())))
    check_family(build(conditions={"asked": moved}, residual=lambda self, u, x, mu: u.lap + u.value), KEY)


def test_each_of_many_parameters_is_looked_at():
    """More than four, of which not every corner is tried."""
    space = prism.Uniform(**{f"a{number}": (0.5, 1.5) for number in range(6)})
    total = lambda mu, count: sum(getattr(mu, f"a{number}") for number in range(count))
    check_family(build(parameters=space, residual=lambda self, u, x, mu: u.lap + total(mu, 6) * u.value), KEY)
    with pytest.raises(InputError, match="never uses the parameter a5"):
        check_family(build(parameters=space, residual=lambda self, u, x, mu: u.lap + total(mu, 5) * u.value), KEY)


@pytest.mark.parametrize("family", [*TWO_BODY_FAMILIES, BIHARMONIC], ids=name_of)
def test_no_elliptic_family_of_the_catalogue_is_accused(family):
    """Of its declarations, or of what is traced of it; the others are checked in their own tests."""
    check_declarations(family)
    check_traces(family, KEY)


@pytest.mark.slow
@pytest.mark.parametrize("family", CATALOGUE, ids=name_of)
def test_every_family_of_the_catalogue_passes_every_check(family):
    check_family(family, KEY)


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
