"""No two things are drawn with one key, at any place where things are drawn together."""

import ast
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import DOMAINS, EVOLUTION_FAMILIES, LAWS, SITES, decomposed, linear, mostly_slow, small_model
from ledger import LEAVES, ledger

import prism
from prism import (
    AtTime,
    Ball,
    Coordinates,
    Gaussian,
    Gram,
    Rademacher,
    Sampling,
    Slopes,
    Sphere,
    TimeCylinder,
    WholeSpace,
)
from prism.derivatives.directions import Gradients, View
from prism.derivatives.operators import Laplacian, WeightedTrace
from prism.families import Convection, HJBLog, HJBRosenbrock, SineGordon, SineGordonBeta
from prism.inversion.surrogate import typical_size
from prism.networks.lifts.parts import Blocks
from prism.networks.model import Architecture
from prism.networks.tunable import LastLayer
from prism.numerics import ahead, random
from prism.numerics.keys import Purpose, child, children, item, items, root
from prism.objective.rows import Objective
from prism.problem import points
from prism.problem.checks.family import check_family
from prism.problem.structure import find_structure
from prism.problem.terms import sample_pair
from prism.solution.evaluation import errors_at, evaluate
from prism.solution.quick_evaluation import QuickEvaluation
from prism.solution.solution import Solution
from prism.solution.trust import calibrate
from prism.solution.tuning import Tuning
from prism.solving.preparation import first_state
from prism.solving.settings import Settings
from prism.solving.symmetry import is_radial
from prism.studies import estimators, inversion, trust, variance
from prism.training.natural.linear_rows import linear_rows

SOURCE = Path(prism.__file__).parent
KEY = root(7)


class Plate(prism.Family):
    """Two frames, three conditions: everything that one batch can draw."""

    domain: Ball
    parameters = prism.Uniform(a=(0.5, 1.5), b=(1.0, 2.0))
    terms = {"lap": Laplacian(), "trace": WeightedTrace(lambda x, mu: mu.b + x)}
    conditions = {
        "edge": prism.Prescribed(Sphere(4), lambda x, mu: mu.a * x[0], points=5),
        "core": prism.Prescribed(Ball(4, 0.5), lambda x, mu: mu.b * x[1], points=5),
        "data": prism.Observed(jnp.zeros((6, 4)), jnp.ones((6, 2)), jnp.ones(6), points=5),
    }

    def residual(self, u, x, mu):
        return mu.a * u.lap + mu.b * u.trace - 1.0


PLATE, FAMILY = Plate(Ball(4)), SineGordon.create(4, KEY)
SMALL = Architecture(linear(2), 2, 1, 2, 1)
WITH_GROUPS = Architecture(linear(2) + SITES + SITES + Blocks(2, 2), 2, 1, 2, 1)


def of_batch(estimator, crossed: bool, natural: bool) -> Callable[[], object]:
    """One batch with conditions, a second draw of directions and slopes, as a loss or as SPRING's rows."""

    def run():
        model = small_model(PLATE.domain, depth=1)
        sampling = Sampling(6, 3, crossed=True) if crossed else Sampling(6, 6)
        objective = Objective(PLATE, estimator, jnp.ones(()), sampling, independent=True, slopes=Slopes(2))
        batch = objective.draw(model, KEY)
        return linear_rows(objective, model, batch).values if natural else objective.loss(model, batch)

    return run


def of_solution(family, architecture=SMALL) -> Solution:
    settings = Settings.choose(family, architecture=architecture, sampling=Sampling(4, 4))
    return Solution(first_state(family, settings).model, family)


def judged() -> object:
    """What evaluation, trust and tuning draw, each from a key of its own."""
    family, mu, keys = FAMILY, FAMILY.parameters.middle(), items(KEY, 5)
    solution = of_solution(family)
    model = solution.model
    return (
        evaluate(model, family, keys[0], points=8).relative_l2,
        QuickEvaluation(model, family, keys[1])(model).relative_l2,
        errors_at(model, family, mu[None], keys[2], 8),
        calibrate(model, family, parameters=3).residuals,
        Tuning.prepare(model, family, mu, (LastLayer(),), keys[3], 10).start,
    )


def sizes_for_inversion() -> object:
    return typical_size(of_solution(FAMILY))


def of_studies() -> object:
    settings = Settings.choose(FAMILY, estimator=Coordinates(2), optimiser=prism.Adam(), architecture=SMALL)
    state = first_state(FAMILY, settings)
    estimators.noise(state.model, FAMILY, Gaussian(2))
    return variance.along(state)


def of_data() -> object:
    problem = inversion.Problem("beta", SineGordonBeta.create(4, KEY), Sphere(4))
    observed, blind = items(KEY, 2)
    return inversion.data_sets(problem.family, observed), inversion.blind_sets(problem, 0.1, blind)


def drawn_by(law) -> object:
    """What a law draws of a cylinder, at any time and at a given one, each from a key of its own; with its units."""
    domain, keys = TimeCylinder(Ball(4), 1.0).drawn_by(law), items(KEY, 3)
    return (
        domain.training_point(keys[0], jnp.ones(())),
        domain.sample(keys[1]),
        AtTime(domain).training_point(keys[2], jnp.ones(())),
    )


def redrawn_space() -> prism.Domain:
    """The user's function splits its key as it likes."""
    own = lambda key: sum(jax.random.uniform(one, (4,)) for one in jax.random.split(key, 20))
    return WholeSpace(4).drawn_by(prism.Mixture([prism.OwnLaw(), own, prism.Near(jnp.ones(4), 0.1)], [1, 1, 1]))


VIEW = View(Gradients(jnp.ones((9, 2)) + jnp.eye(9, 2), jnp.eye(9, 1)), jnp.ones(9))
PLACES: dict[str, Callable[[], object]] = {
    "loss, crossed": of_batch(Gaussian(2), True, natural=False),
    "loss, paired": of_batch(Coordinates(2), False, natural=False),
    "rows, shared directions": of_batch(Gaussian(2, shared=True), False, natural=True),
    "directions of a lift": lambda: decomposed(Gram(2), 2, 9, KEY, VIEW),
    "random signs": lambda: decomposed(Rademacher(2), 2, 9, KEY),
    "a pair": lambda: sample_pair(PLATE, KEY),
    "check of a family with conditions": lambda: check_family(PLATE, KEY),
    "check of a family in time": lambda: check_family(EVOLUTION_FAMILIES[-1], KEY),
    "first state": lambda: of_solution(FAMILY).model,
    "first state with sites and blocks": lambda: of_solution(FAMILY, WITH_GROUPS).model,
    "first state with clocks": lambda: of_solution(EVOLUTION_FAMILIES[0]).model,
    "random pairs": lambda: SineGordon.create(5, KEY, pairs="random").interaction,
    "the structure of an equation": lambda: find_structure(SineGordon.create(5, KEY)).pairs,
    "the structure of a long equation": lambda: find_structure(SineGordon.create(1_001, KEY)).pairs,
    "a family in time": lambda: Convection.create(4, KEY).direction,
    "a family of control": lambda: HJBRosenbrock.create(4, KEY).norms,
    "a network of norms": lambda: is_radial(HJBLog.create(4, KEY), 0),
    "points along a diffusion": lambda: TimeCylinder(WholeSpace(4), 1.0).training_point(KEY, jnp.ones(())),
    "a finished solution": judged,
    "the size of u": sizes_for_inversion,
    "studies of variance": of_studies,
    "data of the inversion study": of_data,
    **{f"law {name}": lambda law=law: drawn_by(law) for name, law in LAWS.items()},
    "laws of space in time": lambda: TimeCylinder(redrawn_space(), 1.0).training_point(KEY, jnp.ones(())),
    "queries of the trust study": lambda: trust.queries(FAMILY.parameters, 0.0, 0.5, KEY),
    **{f"domain {name}": lambda domain=domain: domain.sample(KEY) for name, domain in DOMAINS.items()},
}
LONG = (
    "loss, crossed",
    "rows, shared directions",
    "check of a family in time",
    "first state with clocks",
    "first state with sites and blocks",
    "the structure of an equation",
    "the structure of a long equation",
    "a finished solution",
    "the size of u",
    "studies of variance",
    "data of the inversion study",
    "law own",
    "law evaluation",
    "law volume",
    "law mixture",
    "laws of space in time",
)
"""Places that take seconds, and further laws: for the slow tests."""
assert set(LONG) <= PLACES.keys()
QUICK = [place for place in PLACES if place not in LONG]
FUNCTIONS: dict[str, set[str]] = {}
"""The functions that drew at each place that has been run."""


@pytest.fixture(autouse=True)
def small_studies(monkeypatch):
    for study, name in ((inversion, "DATA_SETS"), (inversion, "BLIND_SETS"), (estimators, "POINTS")):
        monkeypatch.setattr(study, name, 2)
    for study in (estimators, variance):
        monkeypatch.setattr(study, "DRAWS", 3)
    monkeypatch.setattr(points, "MOST_POINTS", 3)


@pytest.fixture(scope="module")
def book():
    with ledger(SOURCE, random, forget) as book:
        yield book


def forget() -> None:
    """Everything that was traced."""
    jax.clear_caches()
    ahead._traced.cache_clear()


@pytest.mark.parametrize("place", mostly_slow({name: name for name in PLACES}, *QUICK))
def test_no_two_things_are_drawn_with_one_key(book, place):
    page = book.page(PLACES[place])
    FUNCTIONS[place] = page.functions()
    assert page.functions(), "nothing was drawn: the place no longer reaches a draw"
    assert not page.collisions()


@pytest.mark.slow
def test_every_function_that_draws_is_reached_by_some_place(book):
    """A new draw needs a place above: the list of functions is read off the source.

    Places that were not run before, such as the quick ones under `-m slow`, are run here.
    """
    for place in PLACES.keys() - FUNCTIONS.keys():
        FUNCTIONS[place] = book.page(PLACES[place]).functions()
    missing = drawing_functions() - {name.split(":")[0] for names in FUNCTIONS.values() for name in names}
    assert not missing


def drawing_functions() -> set[str]:
    """Module and qualified name of every function with a draw of `jax.random` in its own lines."""
    return {name for path in SOURCE.rglob("*.py") for name in _drawing(ast.parse(path.read_text()), path.stem + ".")}


def _drawing(node: ast.AST, prefix: str) -> set[str]:
    found: set[str] = set()
    for child_node in ast.iter_child_nodes(node):
        name = getattr(child_node, "name", None)
        if isinstance(child_node, ast.ClassDef):
            found |= _drawing(child_node, f"{prefix}{name}.")
        elif isinstance(child_node, ast.FunctionDef):
            inner = _drawing(child_node, f"{prefix}{name}.<locals>.")
            found |= inner
            if not inner and any(_is_draw(call) for call in ast.walk(child_node)):
                found.add(f"{prefix}{name}")
    return found


def _is_draw(node: ast.AST) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    return (
        isinstance(function, ast.Attribute) and function.attr in LEAVES and ast.unparse(function.value) == "jax.random"
    )


def test_the_ledger_finds_the_collision_of_fold_in_and_split(book):
    """The mistake that the project's keys exclude, made by hand."""

    def careless():
        x = FAMILY.domain.sample(KEY)
        return x, jax.random.uniform(child(KEY, Purpose.RADIUS))

    assert book.page(careless).collisions()


def test_paths_from_a_root_never_meet():
    """Children of all purposes, and items, of a key and of its children: all different."""
    purposes = list(Purpose)
    first = [child(KEY, purpose) for purpose in purposes]
    family = [KEY, *first, *items(KEY, 20), *[child(key, Purpose.ITEMS) for key in first[:3]]]
    family += [one for key in first[:3] for one in (*items(key, 5), *children(key, *purposes[:5]))]
    distinct = {np.asarray(jax.random.key_data(key)).tobytes() for key in family}
    assert len(distinct) == len(family)
    assert all(a == b for a, b in zip(items(KEY, 3), [item(KEY, number) for number in range(3)], strict=True))
    assert children(KEY, *purposes) == first
