"""Fine-tuning: the cached rows are the residuals, a step knows no dimension, and what comes out is a solution."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import BALL, KEY, Terms, close, roughened

import prism
from prism.cli import main
from prism.families import AllenCahn, SineGordon
from prism.networks.model import Architecture, Model
from prism.networks.modulation import FILM, NONE, SHIFT
from prism.networks.tunable import Diagonals, LastLayer, Modulators
from prism.numerics.least_squares import Levenberg
from prism.numerics.staging import Stages
from prism.objective.residuals import residual
from prism.solution.solution import Solution
from prism.solution.tuning import Tuning, cached_rows, fine_tune, kinds_of_rows, settled, step, unknowns_of
from prism.solving.settings import default_estimator
from prism.training.natural.spring import Spring

ALL = (Diagonals(), Modulators(), LastLayer())
MU = jnp.asarray([2.0, 1.2])


def solution_of(family, modulation=FILM, affine=3) -> Solution:
    architecture = Architecture(5, 4, 3, 6, 2, modulation, affine=affine)
    shapes = eqx.filter_eval_shape(Model.create, architecture, family.domain, family.parameters, KEY)
    return Solution(roughened(shapes), family)


class SoftlyBounded(prism.Family):
    """Δu = x₁ with the boundary asked for softly, and a residual that reads x as it likes."""

    domain: prism.Ball
    parameters = prism.Uniform(mu1=(0.5, 1.5), mu2=(0.5, 1.5))
    terms = {"lap": prism.Laplacian(), "slope": prism.GradientNormSquared()}
    conditions = {"rim": prism.Prescribed(prism.Sphere(12), lambda x, mu: mu.mu1 * x[0], weight=3.0)}

    def residual(self, u, x, mu):
        return u.lap * (1.0 + x[1]) + mu.mu2 * u.slope * jnp.sum(x) - jnp.sin(u.value * x[0])


FAMILIES = {
    "gram": SineGordon.create(12, KEY),
    "exact": AllenCahn.create(4, KEY),
    "biharmonic, random directions": Terms(BALL, {"square": prism.Biharmonic(), "mixed": prism.Partial(0, 0, 1)}),
    "soft condition": SoftlyBounded(prism.Ball(12)),
}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_cached_rows_are_the_residuals_of_the_settled_network(family):
    solution, keys = solution_of(family), jax.random.split(KEY, 3)
    start, _ = unknowns_of(solution.model, ALL)
    unknowns = 0.1 * jax.random.normal(KEY, start.shape)
    rows = cached_rows(solution, MU, ALL, kinds_of_rows(solution)[0], keys)
    model, estimator = settled(solution.model, MU, ALL, unknowns), default_estimator(family, Spring())
    at = lambda key: residual(model, family, estimator, family.domain.sample(key), MU, jax.random.fold_in(key, 1))
    close(rows.values(unknowns) / rows.weight, jax.jit(jax.vmap(at))(keys), 1e-9)


def test_conditions_are_rows_too():
    solution = solution_of(FAMILIES["soft condition"])
    kinds = kinds_of_rows(solution)
    assert [kind.weight for kind in kinds] == [1.0, 3.0]
    rim = SoftlyBounded.conditions["rim"].draw_at(MU, solution.family.parameters, KEY)
    close(kinds[1].row(solution, MU, KEY), solution(rim.x, mu1=2.0, mu2=1.2) - 2.0 * rim.x[0])


@pytest.mark.parametrize(("modulation", "affine"), [(FILM, 3), (SHIFT, 0), (NONE, 2)], ids=["film", "shift", "none"])
def test_no_change_is_the_same_solution(modulation, affine):
    solution = solution_of(FAMILIES["gram"], modulation, affine)
    start, _ = unknowns_of(solution.model, ALL)
    same = settled(solution.model, MU, ALL, start)
    jax.tree.map(lambda a, b: close(a, b, 1e-12), same, solution.model)
    assert jax.tree.structure(same) == jax.tree.structure(solution.model)


def test_a_step_knows_no_dimension():
    def compiled(dimension):
        tuning = Tuning.prepare(solution_of(SineGordon.create(dimension, KEY)), MU, ALL, KEY, 10)
        start = Levenberg.start(tuning.start, tuning.count)
        shapes = jax.tree.map(jnp.shape, eqx.filter((tuning, start), eqx.is_array))
        return jax.tree.leaves(shapes), step.lower(tuning, start).compile().compiled.cost_analysis()["flops"]

    assert compiled(200) == compiled(1_500)


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


def test_a_linear_problem_is_solved():
    """Levenberg and Marquardt's step on linear rows ends at the least-squares solution."""
    matrix, target = jax.random.normal(KEY, (20, 5)), jax.random.normal(jax.random.fold_in(KEY, 1), (20,))
    look = lambda unknowns: (matrix @ unknowns - target, matrix)
    state = Levenberg.start(jnp.zeros(5), 20)
    for _ in range(30):
        state = state.step(look)
    close(state.unknowns, np.linalg.lstsq(matrix, target)[0], 1e-6)


def test_tuning_lowers_the_residual_and_is_stored(tmp_path):
    solution = solution_of(FAMILIES["gram"])
    tuned = fine_tune(solution, MU, seconds=600.0, points=120)
    assert tuned.residual_after < 0.7 * tuned.residual_before
    tuned.solution.save(tmp_path / "tuned")
    assert eqx.tree_equal(prism.load(tmp_path / "tuned", family=FAMILIES["gram"]), tuned.solution)
    close(tuned.solution.model.lift.weight, solution.model.lift.weight, 0.0)
    with pytest.raises(prism.InputError, match="no budget"):
        solution.fine_tune(mu1=2.0, mu2=1.2, seconds=0.0)
    with pytest.raises(prism.InputError, match="no value for mu2"):
        solution.fine_tune(mu1=2.0)


SIZE = ("--width", "4", "--lift-width", "4", "--depth", "2", "--points", "8", "--steps", "2")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    assert main(["solve", "sine-gordon", "--dim", "8", *SIZE, "--out", str(out)]) == 0
    return out


def test_the_command_leaves_a_solution(finished, tmp_path, capsys):
    out = tmp_path / "tuned"
    command = ["tune", str(finished), "--mu", "mu1=2.0", "mu2=1.2", "--trains", "last-layer", "--out", str(out)]
    assert main([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["outside"] == ["mu1"]
    assert report["residual_after"] <= report["residual_before"]
    assert json.loads((out / "tuning.json").read_text()) == report
    assert main([*command, "--force"]) == 0, "the same place again"
    assert "times less" in capsys.readouterr().out
    np.save(tmp_path / "points.npy", np.zeros((1, 8)))
    mu = ["--mu", "mu1=2.0", "mu2=1.2", "--points", str(tmp_path / "points.npy")]
    assert main(["predict", str(out), *mu]) == 0


MISTAKES = {
    "an unknown part": (["--trains", "everything"], "unknown part to train 'everything'"),
    "no time": (["--seconds", "-1"], "no budget"),
}


@pytest.mark.parametrize(("options", "message"), MISTAKES.values(), ids=MISTAKES)
def test_bad_input_is_refused(options, message, finished, tmp_path, capsys):
    command = ["tune", str(finished), "--mu", "mu1=2", "mu2=1", "--out", str(tmp_path / "out"), *options]
    assert main(command) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_nothing_foreign_is_overwritten(finished, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["tune", str(finished), "--mu", "mu1=2", "mu2=1", "--out", str(tmp_path)]) == 2
    assert "holds something else" in capsys.readouterr().err
