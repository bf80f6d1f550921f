"""Families of their own dimension: `--dim` is left out, and `--wave` says which wave is solved."""

import json
from pathlib import Path

import jax.numpy as jnp
import pytest
from cli.runs import check_refusal, finished_run, prism

from prism.cli.configuration import ADDED_LATER, new_options, resumed_options, with_own_dimension
from prism.cli.names import FAMILIES, own_dimension
from prism.cli.options import SolveOptions
from prism.errors import InputError
from prism.families import KP, GKdV, KdV2D

TINY = ["--width", 4, "--lift", "dense:4", "--depth", 1, "--modulation", "none", "--points", 4]
OWN = {"kdv2d": (KdV2D, 2), "kp": (KP, 2), "gkdv": (GKdV, 1)}


def solve(family: str, *more: object):
    return prism("solve", family, *TINY, "--steps", 3, "--json", *more)


@pytest.mark.parametrize("name", FAMILIES)
def test_those_that_need_no_dimension(name):
    kind, dimension = OWN.get(name, (None, None))
    assert own_dimension(name) == dimension
    given = {"family": name}
    assert with_own_dimension(given) == given | ({} if kind is None else {"dim": dimension})
    if kind is not None:
        assert isinstance(new_options(given).build_family(), kind)


@pytest.mark.parametrize("name", OWN)
def test_their_own_dimension_may_be_said(name):
    dimension = OWN[name][1]
    assert new_options({"family": name, "dim": dimension}) == new_options({"family": name})


@pytest.mark.slow
def test_a_wave_is_solved_kept_and_resumed(tmp_path):
    """Without --dim; the numbers of the wave are in config.json, and those of the solution that is loaded again."""
    out = tmp_path / "run"
    ran = solve("kdv2d", "--wave", 0.5, 1.25, "--out", out)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["dim"] == 2
    assert json.loads((out / "config.json").read_text())["wave"] == [0.5, 1.25]
    again = prism("solve", "--resume", out, "--steps", 4, "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["steps"] == 4
    check_refusal(prism("solve", "--resume", out, "--wave", 0.5, 1), "--wave [0.5, 1.0] differs from the run's own")
    points = tmp_path / "points.csv"
    points.write_text("0.3,0.2,0\n")
    told = prism("predict", out, "--mu", "mu1=1", "mu2=1", "--points", points)
    family = KdV2D.create(wave=(0.5, 1.25))
    start = family.exact(jnp.asarray([0.3, 0.2, 0.0]), family.parameters.named(jnp.ones(2)))
    assert float(told.out) == pytest.approx(float(start), rel=1e-5), "the state at t = 0, in single precision"


def test_the_file_of_a_run_keeps_its_wave():
    """And another one is refused when it is resumed."""
    kept = json.loads(json.dumps(new_options({"family": "kp", "wave": [2.0, 0.25], "steps": 3}).config()))
    assert kept["wave"] == [2.0, 0.25]
    resumed = resumed_options({"steps": 9}, kept, "config.json")
    assert resumed.build_family() == KP.create(wave=(2.0, 0.25))
    assert resumed_options({"wave": [2.0, 0.25]}, kept, "config.json").wave == [2.0, 0.25]
    with pytest.raises(InputError, match=r"--wave \[1.0, 0.25\] differs from the run's own \[2.0, 0.25\]"):
        resumed_options({"wave": [1.0, 0.25]}, kept, "config.json")


WRONG = {
    "another dimension": (("kdv2d", "--dim", 5), ("--dim 5: kdv2d has 2 space dimensions", "leave --dim out")),
    "another dimension of one": (("gkdv", "--dim", 2), ("--dim 2: gkdv has 1 space dimension; leave --dim out",)),
    "too few numbers": (("kdv2d", "--wave", 1), ("(1.0,) is no wave of KdV2D", "each of k, l, such as (0.75, 0.5)")),
    "too many numbers": (("gkdv", "--wave", 1, 2), ("is no wave of GKdV", "each of c, such as (2.0,)")),
    "no speed": (("gkdv", "--wave", 0), ("(0.0,) is no wave of GKdV; give a positive number",)),
    "a number that is none": (("kp", "--wave", "nan", 1), ("is no wave of KP",)),
    "a word": (("kp", "--wave", "tall", 1), ("argument --wave: 'tall' is no number",)),
    "nothing": (("kp", "--wave"), ("--wave",)),
    "a family without waves": (
        ("heat", "--dim", 3, "--wave", 1),
        ("--wave is a variant of the solitary waves (kdv2d, kp, gkdv); heat has none, leave it out",),
    ),
    "a family in the ball": (("poisson", "--dim", 3, "--wave", 1), ("poisson has none",)),
    "pairs": (("kp", "--pairs", "all"), ("--pairs is a variant of", "kp has none, leave it out")),
    "scaled": (("kp", "--scaled"), ("--scaled is a variant of", "kp has none, leave it out")),
}


@pytest.mark.parametrize(("arguments", "words"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_refused(tmp_path, arguments, words):
    check_refusal(solve(*arguments, "--out", tmp_path / "out"), *words)
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def config_of(path: Path) -> dict:
    return json.loads((path / "config.json").read_text())


def test_a_run_of_an_earlier_version_has_no_wave(tmp_path):
    """Its config.json says nothing of what was added since; it is resumed as it was."""
    config = config_of(finished_run(tmp_path / "run"))
    earlier = {name: value for name, value in config.items() if name not in ADDED_LATER}
    assert "wave" in ADDED_LATER
    assert "wave" not in earlier
    options = resumed_options({"steps": 9}, earlier, "config.json")
    assert isinstance(options, SolveOptions)
    assert options.wave is None
    assert options.build_family().domain.dimension == 3


@pytest.mark.parametrize("name", OWN)
def test_the_commands_that_are_shown_name_no_dimension(name):
    text = prism("list", name).out
    assert f"prism solve {name} --minutes 1" in text
    assert "--dim" not in text
    assert "--wave: which solitary wave" in text
    assert "ends, derivatives" in text
