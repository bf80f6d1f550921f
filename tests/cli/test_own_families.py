"""A family of the user's own, from the shell alone: every command, what is kept of its file, and mistakes in it."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from cli.runs import check_refusal, prism

from prism.cli.own_families import load_own

HEAT = '''
"""A heat equation, as a user types it in."""

import jax.numpy as jnp

import prism


class Heat(prism.Family):
    """u_t = κ Δu, u = exp(−|x|²/2) at t = 0."""

    domain: prism.TimeCylinder
    parameters = prism.Uniform(kappa=(0.1, 1.0))
    terms = {"lap": prism.Laplacian(), "t": prism.TimeDerivative()}

    def residual(self, u, x, mu):
        return u.t - mu.kappa * u.lap

    def constraint(self):
        start = lambda x, mu: jnp.exp(-jnp.sum(x[:-1] ** 2) / 2)
        return prism.HardConstraint(factor=lambda x, mu: x[-1], offset=start)


class Sized(Heat):
    horizon: float

    @classmethod
    def in_dimensions(cls, dimension):
        return cls(prism.TimeCylinder(prism.WholeSpace(dimension, 0.5), 2.0), 2.0)


def short(dimension):
    return Heat(prism.TimeCylinder(prism.WholeSpace(dimension), 0.5))


three = short(3)
number = 7
'''
SMALL = ("--steps", 3, "--width", 4, "--lift", "norm+time", "--depth", 2, "--generator-width", 4, "--points", 4)
MU = ("--mu", "kappa=0.5")


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """A directory with my.py and a run of its Heat, solved and then resumed."""
    place = tmp_path_factory.mktemp("own")
    (place / "my.py").write_text(HEAT)
    family, out = f"{place / 'my.py'}:Heat", place / "run"
    ran = prism("solve", family, "--dim", 2, *SMALL, "--out", out, "--json")
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    assert (report["family"], report["dim"], report["steps"]) == (family, 2, 3)
    resumed = prism("solve", family, "--resume", out, "--more-steps", 2, "--json")
    assert resumed.code == 0, resumed.err
    assert json.loads(resumed.out)["steps"] == 5
    assert "3 steps" in resumed.err
    np.savetxt(place / "points.csv", np.random.default_rng(0).normal(size=(12, 3)) / 4 + 0.3, delimiter=",")
    return place


def test_predict_plus_noise_is_what_invert_reads(solved, tmp_path):
    own = ("--family", solved / "my.py:Heat")
    table = tmp_path / "values.csv"
    predicted = prism("predict", solved / "run", *own, *MU, "--points", solved / "points.csv", "--out", table)
    assert predicted.code == 0, predicted.err
    assert table.read_text().splitlines()[0] == "x1,x2,t,u,outside"
    inverted = prism("invert", solved / "run", table, *own, "--noise", 0.01, "--json")
    assert inverted.code == 0, inverted.err
    assert set(json.loads(inverted.out)["estimates"][0]["parameters"]) == {"kappa"}
    again = prism("predict", solved / "run", *own, *MU, "--points", table, "--json")
    assert json.loads(again.out)["points"] == 12, "its own table holds points too"


def test_trust_tune_and_export(solved, tmp_path):
    own = ("--family", solved / "my.py:Heat")
    trusted = prism("trust", solved / "run", *own, *MU, "--json")
    assert trusted.code == 0, trusted.err
    assert json.loads(trusted.out)["inside"]
    tuned = prism(
        "tune", solved / "run", *own, *MU, "--seconds", 1, "--trains", "last-layer", "--out", tmp_path / "tuned"
    )
    assert tuned.code == 0, tuned.err
    points = ("--points", solved / "points.csv")
    elsewhere = prism("predict", tmp_path / "tuned", *own, "--mu", "kappa=0.7", *points)
    assert "tuned at kappa = 0.5" in elsewhere.err
    exported = prism("export", tmp_path / "tuned", *own, "--out", tmp_path / "exported", "--json")
    assert exported.code == 0, exported.err
    assert json.loads(exported.out)["stablehlo_difference"] <= 1e-6


def test_nothing_is_run_because_a_run_names_it(solved, tmp_path):
    points = ("--points", solved / "points.csv")
    for ran in (
        prism("predict", solved / "run", *MU, *points),
        prism("solve", "--resume", solved / "run", "--steps", 9),
    ):
        check_refusal(ran, "a family of your own; name it", "my.py:Heat")


def test_a_changed_file_is_told_and_a_changed_equation_refused(solved, tmp_path):
    ask = lambda: prism(
        "predict", solved / "run", *MU, "--points", solved / "points.csv", "--family", tmp_path / "my.py:Heat"
    )
    (tmp_path / "my.py").write_text(HEAT + "\n# a remark\n")
    told = ask()
    assert told.code == 0, told.err
    assert "my.py has changed since this run was begun" in told.err
    (tmp_path / "my.py").write_text(HEAT.replace("mu.kappa * u.lap", "2.0 * mu.kappa * u.lap"))
    check_refusal(ask(), "is not the equation that was solved")
    check_refusal(
        prism("solve", f"{tmp_path / 'my.py'}:Heat", "--resume", solved / "run", "--steps", 9), "another equation"
    )


BRANCHING = HEAT.replace("return u.t - mu", "if x[0] > 0:\n            return u.t\n        return u.t - mu")


@pytest.mark.parametrize("command", ["solve", "structure"])
def test_a_mistake_in_the_equation_is_named(tmp_path, command):
    (tmp_path / "my.py").write_text(BRANCHING)
    ran = prism(command, f"{tmp_path / 'my.py'}:Heat", "--dim", 2, "--out", tmp_path / "run")
    check_refusal(ran, "residual of Heat branches in Python", "jnp.where")


def test_bounds_that_would_be_ignored_are_refused(tmp_path):
    field = HEAT.replace("parameters = prism", "parameters: prism.Uniform = prism").partition("class Sized")[0]
    (tmp_path / "my.py").write_text(field)
    ran = prism("solve", f"{tmp_path / 'my.py'}:Heat", "--dim", 2, "--bounds", "kappa=2:3", "--out", tmp_path / "run")
    check_refusal(ran, "sets its parameters itself")


def test_a_file_is_run_as_it_is_and_leaves_nothing(tmp_path):
    import os

    file = tmp_path / "my.py"
    for last in ("1.5", "9.5"):  # of equal size and age: cached bytecode would not tell
        file.write_text(HEAT.replace("1.0)", f"{last})"))
        os.utime(file, (1, 1))
        assert load_own(f"{file}:Heat").build(2).parameters.highs == (float(last),)
    assert [path.name for path in tmp_path.iterdir()] == ["my.py"]


def test_a_class_a_function_and_a_family_can_be_named(solved):
    own = lambda name: load_own(f"{solved / 'my.py'}:{name}")
    assert own("Heat").build(4).domain.dimension == 4
    assert own("Sized").build(4).domain.time_horizon == 2.0
    assert own("short").build(4).domain.time_horizon == 0.5
    assert own("three").dimension == 3
    explained = prism("list", f"{solved / 'my.py'}:Heat")
    assert "u_t = κ Δu" in explained.out


def test_bounds_of_an_own_family(solved):
    from prism.cli.options import SolveOptions

    family = SolveOptions(f"{solved / 'my.py'}:Heat", 3, bounds=["kappa=0.2:0.4"]).build_family()
    assert family.parameters.bounds() == {"kappa": (0.2, 0.4)}
    assert type(family).__name__ == "Heat"


MISTAKES = {
    "no such file": ("nowhere.py:Heat", "nowhere.py is missing; give FILE.py:NAME"),
    "no name": ("my.py", "names a file without the family in it; write FILE.py:NAME"),
    "another name": ("my.py:Heet", "defines no Heet; it has Heat"),
    "no family": ("my.py:number", "my.py:number is int; give a class that derives from prism.Family"),
    "a file that fails": ("broken.py:Heat", "broken.py raised ZeroDivisionError in line 2: division by zero"),
    "a file that is no Python": ("words.py:Heat", "words.py raised SyntaxError in line 1"),
    "a function that fails": ("makers.py:failing", "raised KeyError in line 3"),
    "a function of something else": ("makers.py:seven", "makes int, which is no prism.Family"),
    "another dimension": ("my.py:three", "--dim 2: my.py:three has 3 space dimensions; leave --dim out"),
}


@pytest.mark.parametrize(("family", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named_in_one_line(family, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my.py").write_text(HEAT)
    Path("broken.py").write_text("x = 1\ny = x / 0\n")
    Path("words.py").write_text("these are words\n")
    Path("makers.py").write_text(
        "def failing(dimension):\n    # a table\n    return {}['x']\n\n\nseven = lambda d: 7\n"
    )
    before = sorted(Path().iterdir())
    check_refusal(prism("solve", family, "--dim", 2, *SMALL, "--out", "run"), message)
    assert sorted(path for path in Path().iterdir() if path.name != "__pycache__") == before


UNREADABLE = {
    "null bytes": (lambda file: file.write_bytes(b"x = 1\0\n"), "null byte"),
    "not text": (lambda file: file.write_bytes(b"# \xff\n"), "is not text in UTF-8"),
    "UTF-16": (lambda file: file.write_text("x = 1", encoding="utf-16"), "UTF-16"),
    "a directory": (lambda file: file.mkdir(), "is a directory"),
    "missing": (lambda file: None, "is missing"),
    "a FIFO": (os.mkfifo, "is a FIFO that nobody writes to"),
}


@pytest.mark.parametrize(("make", "words"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path, make, words):
    make(tmp_path / "own.py")
    ran = prism("solve", f"{tmp_path / 'own.py'}:Heat", "--dim", 2, "--steps", 1, "--out", tmp_path / "run")
    check_refusal(ran, "cannot read a family", words, "give FILE.py:NAME")
