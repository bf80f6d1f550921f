"""Fine-tuning: the cached rows are the residuals, a step knows no dimension, and what comes out is a solution."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import BALL, KEY, LIFTS, SITES, SOLITON_FAMILIES, WIDER, Terms, close, linear, mostly_slow
from solution.networks import random_network

import prism
from prism.cli import main
from prism.families import AllenCahn, SineGordon
from prism.networks.model import Architecture
from prism.networks.modulation import FILM, NONE, SHIFT
from prism.networks.tunable import Diagonals, LastLayer, Modulators
from prism.numerics.keys import items
from prism.numerics.least_squares import Levenberg
from prism.objective.batches import pair_at
from prism.objective.estimation import suited_estimator
from prism.objective.residuals import residual, span_width
from prism.solution.solution import Solution
from prism.solution.tuning import (
    Tuning,
    cached_rows,
    fine_tune,
    kinds_of_rows,
    objective_at,
    settled,
    step,
    unknowns_of,
)

ALL = (Diagonals(), Modulators(), LastLayer())
MU = jnp.asarray([2.0, 1.2])


LIFT = linear(4, 2)


def network(family, modulation=FILM, lift=LIFT):
    return random_network(family, Architecture(lift, 3, 2, 3, 1, modulation))


class SoftlyBounded(prism.Family):
    """Δu = x₁ with the boundary asked for softly, and a residual that reads x as it likes."""

    domain: prism.Ball
    parameters = prism.Uniform(mu1=(0.5, 1.5), mu2=(0.5, 1.5))
    terms = {"lap": prism.Laplacian(), "square": prism.GradientNormSquared()}
    conditions = {"rim": prism.Prescribed(prism.Sphere(12), lambda x, mu: mu.mu1 * x[0], weight=3.0)}

    def residual(self, u, x, mu):
        return u.lap * (1.0 + x[1]) + mu.mu2 * u.square * jnp.sum(x) - jnp.sin(u.value * x[0])


FAMILIES = {
    "gram": SineGordon.create(12, KEY),
    "exact": AllenCahn.create(4, KEY),
    "biharmonic, random directions": Terms(BALL, {"square": prism.Biharmonic(), "mixed": prism.Partial(0, 0, 1)}),
    "soft condition": SoftlyBounded(prism.Ball(12)),
    "fluxes": SOLITON_FAMILIES[0],
}
NETWORKS = {name: (family, LIFT) for name, family in FAMILIES.items()}
NETWORKS["many parts"] = SineGordon.create(WIDER, KEY), LIFTS["sum"]
NETWORKS["nothing bent"] = SineGordon.create(WIDER, KEY), SITES


@eqx.filter_jit
def prepared(family, model, unknowns, keys):
    """The objective at MU, and the residuals of the settled network at the points that the keys draw."""
    objective, changed = objective_at(model, family, MU, KEY), settled(model, MU, ALL, unknowns)

    def at(key):
        pair = pair_at(family, suited_estimator(family), MU, span_width(model, family), key)
        return residual(changed, family, pair.draws, pair.x, pair.mu)

    return objective, jax.vmap(at)(keys)


@pytest.mark.parametrize(("family", "lift"), mostly_slow(NETWORKS, "gram"))
def test_cached_rows_are_the_residuals_of_the_settled_network(family, lift):
    model, keys = network(family, lift=lift), items(KEY, 3)
    start, _ = unknowns_of(model, ALL)
    unknowns = 0.1 * jax.random.normal(KEY, start.shape)
    objective, expected = prepared(family, model, unknowns, keys)
    rows = cached_rows(objective, model, MU, ALL, kinds_of_rows(family)[0], keys)
    close(objective.scale * jax.jit(lambda theta: rows.values(theta))(unknowns), expected, 1e-9)


def test_conditions_are_rows_too():
    """√weight (u − g) in units of the largest that N = 0 misses, or of the network's amplitude."""
    family = FAMILIES["soft condition"]
    model, kinds = network(family), kinds_of_rows(family)
    assert len(kinds) == 2
    objective = objective_at(model, family, MU, KEY)
    rim = SoftlyBounded.conditions["rim"].draw_at(MU, family.parameters, KEY)
    with pytest.warns(prism.BeyondTraining, match="mu1 outside"):
        miss = Solution(model, family)(rim.x, mu1=2.0, mu2=1.2) - 2.0 * rim.x[0]
    close(objective.condition_scale * kinds[1](objective, model, MU, KEY), 3.0**0.5 * miss)
    assert abs(float(model.amplitude)) <= objective.condition_scale <= 3.0**0.5 * 2.0


@pytest.mark.slow
def test_cached_rows_of_conditions_are_those_of_the_settled_network():
    """Of values and of derivatives along a vector."""
    family = FAMILIES["fluxes"]
    model, keys = network(family), items(KEY, 2)
    start, _ = unknowns_of(model, ALL)
    unknowns = 0.1 * jax.random.normal(KEY, start.shape)
    objective, changed = objective_at(model, family, MU, KEY), settled(model, MU, ALL, unknowns)
    for condition, kind in zip(family.conditions.values(), kinds_of_rows(family)[1:], strict=True):
        targets = [condition.draw_at(MU, family.parameters, key) for key in keys]
        expected = jnp.stack([objective.condition(changed, condition, target) for target in targets])
        close(cached_rows(objective, model, MU, ALL, kind, keys).values(unknowns), expected, 1e-9)


UNCHANGED = {
    "film": (FILM, linear(4, 3)),
    "shift": (SHIFT, linear(4, 0)),
    "none": (NONE, linear(4, 2)),
    "many parts": (FILM, linear(2, 1) + SITES),
}


@pytest.mark.parametrize(("modulation", "lift"), UNCHANGED.values(), ids=UNCHANGED)
def test_no_change_is_the_same_solution(modulation, lift):
    model = network(FAMILIES["gram"], modulation, lift)
    start, _ = unknowns_of(model, ALL)
    same = settled(model, MU, ALL, start)
    jax.tree.map(lambda a, b: close(a, b, 1e-12), same, model)
    assert jax.tree.structure(same) == jax.tree.structure(model)


def test_a_step_knows_no_dimension():
    """The program of a step is the same, letter by letter."""

    def program(dimension):
        family = SineGordon.create(dimension, KEY)
        tuning = Tuning.prepare(network(family), family, MU, ALL, KEY, 10)
        start = Levenberg.start(tuning.start, tuning.count)
        shapes = jax.tree.map(jnp.shape, eqx.filter((tuning, start), eqx.is_array))
        return jax.tree.leaves(shapes), step.lower(tuning, start).as_text()

    assert program(140) == program(300)


def test_a_network_without_what_is_to_be_tuned_is_refused():
    family = FAMILIES["exact"]
    bare = random_network(family, Architecture(linear(4, 0), 3, 1, 3, 1, NONE))
    with pytest.raises(prism.InputError, match="none of the numbers"):
        Tuning.prepare(bare, family, MU, (Diagonals(), Modulators()), KEY, 10)


@pytest.mark.parametrize(("name", "share"), [pytest.param("gram", 0.7, marks=pytest.mark.slow), ("many parts", 0.8)])
def test_tuning_lowers_the_residual_and_is_stored(name, share, tmp_path):
    family, lift = NETWORKS[name]
    solution = Solution(network(family, lift=lift), family)
    tuned = fine_tune(solution.model, family, MU, seconds=600.0, points=120)
    assert tuned.residual_after < share * tuned.residual_before
    stored = Solution(tuned.model, family)
    stored.save(tmp_path / "tuned")
    assert eqx.tree_equal(prism.load(tmp_path / "tuned", family=family), stored)
    close(tuned.model.lift.weight, solution.model.lift.weight, 0.0)
    with pytest.raises(prism.InputError, match="no budget"):
        solution.fine_tune(mu1=2.0, mu2=1.2, seconds=0.0)
    with pytest.raises(prism.InputError, match="no value for mu2"):
        solution.fine_tune(mu1=2.0)


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
    np.save(tmp_path / "points.npy", np.zeros((1, 6)))
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
