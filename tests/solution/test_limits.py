"""Asked beyond what was trained: a warning once, a flag for each point, and a form that refuses; exports too."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, linear
from solution.networks import random_network

import prism
from prism.families import SineGordon
from prism.networks.model import Architecture
from prism.solution import export_numpy
from prism.solution.export import STABLEHLO
from prism.solution.solution import Solution

FAMILY = SineGordon.create(4, KEY)
SOLUTION = Solution(random_network(FAMILY, Architecture(linear(3), 3, 2, 3, 1)), FAMILY)
INSIDE, OUTSIDE = jnp.full(4, 0.2), jnp.full(4, 0.9)
MU = {"mu1": 1.0, "mu2": 1.2}
TUNED = Solution(SOLUTION.model, FAMILY, tuned_at=FAMILY.parameters.array(**MU))

ASKED = {
    "inside": (SOLUTION, INSIDE, MU, None),
    "on the edge": (SOLUTION, jnp.zeros(4).at[0].set(1.0), {"mu1": 1.5, "mu2": 0.5}, None),
    "another μ": (SOLUTION, INSIDE, {"mu1": 1.6, "mu2": 1.2}, r"mu1 outside the trained \[0.5, 1.5\]"),
    "a point beyond": (SOLUTION, OUTSIDE, MU, r"points beyond the domain, or where its law draws none \(\|x\| <= 1\)"),
    "tuned here": (TUNED, INSIDE, MU, None),
    "tuned elsewhere": (
        TUNED,
        INSIDE,
        {"mu1": 1.1, "mu2": 1.2},
        "tuned at mu1 = 1, mu2 = 1.2 and is asked at another μ",
    ),
}
WAYS = {"value": Solution.__call__, "gradient": Solution.gradient, "sensitivity": Solution.sensitivity}


@pytest.mark.parametrize(("solution", "x", "mu", "complaint"), ASKED.values(), ids=ASKED)
def test_it_is_told_flagged_and_refused(solution, x, mu, complaint):
    assert bool(solution.is_outside(x, **mu)) == (complaint is not None)
    if complaint is None:
        solution(x, **mu)
        solution.inside_only()(x, **mu)
        return
    with pytest.warns(prism.BeyondTraining, match=complaint):
        solution(x, **mu)
    with pytest.raises(prism.InputError, match=complaint):
        solution.inside_only()(x, **mu)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_every_way_of_asking_tells(way):
    with pytest.warns(prism.BeyondTraining, match="points beyond"):
        way(SOLUTION, OUTSIDE, **MU)


def test_the_same_question_is_told_once():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for mu1 in (2.0, 3.0, 4.0):
            SOLUTION(INSIDE, mu1=mu1, mu2=1.2)
    assert len(told) == 1
    assert told[0].filename == __file__, "the line that asks"


def test_flags_are_of_each_point():
    points, mu1 = jnp.stack([INSIDE, OUTSIDE, INSIDE]), jnp.asarray([1.0, 1.0, 2.0])
    assert SOLUTION.is_outside(points, mu1=mu1, mu2=1.2).tolist() == [False, True, True]


def test_a_compiled_program_is_not_disturbed():
    found = jax.jit(lambda x: SOLUTION(x, **MU))(OUTSIDE)
    assert jnp.isfinite(found)


def test_both_exports_tell(tmp_path):
    SOLUTION.export(tmp_path / "out")
    points = np.stack([INSIDE, OUTSIDE])
    exported = export_numpy.read(tmp_path / "out")
    assert exported.outside(points, **MU).tolist() == [False, True]
    assert exported.outside(points[0], mu1=2.0, mu2=1.0).tolist() is True
    exported.u(points[0], **MU)
    exported.strict(points[0], **MU)
    with pytest.warns(UserWarning, match="beyond the parameters or points"):
        exported.u(points, **MU)
    with pytest.raises(ValueError, match="alone"):
        exported.strict(points, **MU)
    call = jax.export.deserialize(bytearray((tmp_path / "out" / STABLEHLO).read_bytes())).call
    _, outside = call(jnp.asarray(points), jnp.tile(FAMILY.parameters.array(**MU), (2, 1)))
    assert outside.tolist() == [False, True]


def test_an_exported_tuned_solution_knows_its_parameter(tmp_path):
    TUNED.export(tmp_path / "out")
    exported = export_numpy.read(tmp_path / "out")
    assert not exported.outside(np.asarray(INSIDE), **MU)
    assert exported.outside(np.asarray(INSIDE), mu1=1.1, mu2=1.2)


def test_a_saved_tuned_solution_knows_its_parameter(tmp_path):
    TUNED.save(tmp_path / "model")
    again = prism.load(tmp_path / "model", family=FAMILY)
    assert again.tuned_at is not None
    assert jnp.array_equal(again.tuned_at, TUNED.tuned_at)
