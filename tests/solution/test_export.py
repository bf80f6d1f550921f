"""An exported solution: both forms equal the live one, the NumPy form needs NumPy alone, mistakes take one line."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping

import equinox as eqx
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import (
    ACTIVATIONS,
    BALL,
    BIHARMONIC,
    CYLINDER,
    KEY,
    LIFTS,
    MODULATIONS,
    WIDER,
    Terms,
    linear,
    mostly_slow,
)
from solution.explorer.pages import Anywhere
from solution.networks import random_network

import prism
from prism.cli import main
from prism.derivatives.operators import Laplacian
from prism.files import storage
from prism.networks.lifts.parts import Norm, Time
from prism.networks.model import Architecture
from prism.problem.domains import Ball, Cube
from prism.problem.family import Family
from prism.problem.parameters import LogUniform, Uniform
from prism.problem.time_domains import TimeCylinder
from prism.solution import descriptions, export_numpy
from prism.solution.export import DESCRIPTION, FORWARD, PLATFORMS, README, STABLEHLO, WEIGHTS, numpy_obstacle
from prism.solution.solution import Solution

ROUNDING = 1e-13
"""In float64, of the solution's size: a few hundred roundings."""


BOX = Terms(BALL, {"lap": Laplacian()})
LIFT = linear(6)


def solution_of(family: Family = BOX, modulation=prism.FILM, depth: int = 3, lift=LIFT, **changes) -> Solution:
    return Solution(random_network(family, Architecture(lift, 5, depth, 4, 2, modulation, **changes)), family)


def agrees(solution: Solution, path) -> None:
    report = solution.export(path)
    assert report["stablehlo_difference"] < ROUNDING
    assert report["numpy_difference"] < ROUNDING


@pytest.mark.parametrize("modulation", MODULATIONS.values(), ids=MODULATIONS)
def test_every_modulation_agrees(modulation, tmp_path):
    agrees(solution_of(modulation=modulation, lift=linear(6, 3)), tmp_path / "out")


def test_a_clamped_solution_agrees(tmp_path):
    agrees(solution_of(BIHARMONIC), tmp_path / "out")


def test_a_network_without_affine_channels_agrees(tmp_path):
    agrees(solution_of(lift=linear(6, 0)), tmp_path / "out")


FEW = (
    *("form", "logarithmic norm", "bent sites", "periodic sites", "sites over groups"),
    *("blocks", "quadratic", "periodic quadratic", "sum"),
)


@pytest.mark.parametrize("lift", mostly_slow(LIFTS, *FEW))
def test_every_lift_agrees(lift, tmp_path):
    agrees(solution_of(Terms(Ball(WIDER), {"lap": Laplacian()}), depth=1, lift=lift), tmp_path / "out")


IN_TIME = {
    "sites": LIFTS["sum"],
    "norms": Norm() + Norm(logarithmic=True) + Time(),
}


@pytest.mark.parametrize("lift", IN_TIME.values(), ids=IN_TIME)
def test_lifts_in_time_agree(lift, tmp_path):
    domain = TimeCylinder(Cube(WIDER, -1.0, 2.0), 3.0)
    agrees(solution_of(Anywhere(domain, Uniform(k=(-1.0, 3.0))), depth=1, lift=lift), tmp_path / "out")


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda kind: kind.__name__)
def test_every_activation_agrees(activation, tmp_path):
    agrees(solution_of(activation=activation()), tmp_path / "out")


SPACES = {
    "one": Uniform(k=(-1.0, 3.0)),
    "logarithmic": LogUniform(beta=(0.1, 10.0)),
    "three logarithmic": LogUniform(a=(0.1, 1.0), b=(1.0, 2.0), c=(5.0, 500.0)),
}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_every_space_agrees_without_a_constraint(space, tmp_path):
    agrees(solution_of(Anywhere(Cube(4, -1.0, 2.0), space), depth=space.size), tmp_path / "out")


def test_every_choice_is_in_the_numpy_file():
    assert set(export_numpy.ACTIVATIONS) == set(descriptions.ACTIVATIONS)


def test_activations_far_from_zero():
    far = np.array([-800.0, -30.0, 0.0, 30.0, 800.0])
    for kind, function in ACTIVATIONS.items():
        np.testing.assert_allclose(export_numpy.ACTIVATIONS[kind.__name__](far), function(far), rtol=1e-12, atol=1e-300)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A solution, its export, points and parameters."""
    out, solution = tmp_path_factory.mktemp("exported") / "out", solution_of()
    solution.export(out)
    return solution, out


POINTS = jax.random.normal(KEY, (7, 5)) / 4
MU = {"mu1": 0.7, "mu2": jnp.linspace(0.5, 1.5, 7)}


def test_numpy_takes_what_the_live_solution_takes(exported):
    solution, out = exported
    numpy = export_numpy.read(out)
    np.testing.assert_allclose(numpy.u(POINTS, **MU), solution(POINTS, **MU), rtol=0, atol=ROUNDING * 10)
    one, same = numpy.u(POINTS[0], mu1=0.7, mu2=1.2), solution(POINTS[0], mu1=0.7, mu2=1.2)
    assert one.shape == ()
    np.testing.assert_allclose(one, same, atol=ROUNDING * 10)


WITHOUT_JAX = """
import sys
sys.modules["jax"] = sys.modules["prism"] = None
sys.path.insert(0, sys.argv[1])
import numpy as np
from solution import u
np.save(sys.argv[3], u(np.load(sys.argv[2]), mu1=0.7, mu2=1.2))
"""


def test_a_process_without_jax(exported, tmp_path):
    solution, out = exported
    np.save(tmp_path / "points.npy", POINTS)
    paths = [str(path) for path in (out, tmp_path / "points.npy", tmp_path / "values.npy")]
    subprocess.run([sys.executable, "-B", "-I", "-c", WITHOUT_JAX, *paths], check=True)
    live = solution(POINTS, mu1=0.7, mu2=1.2)
    np.testing.assert_allclose(np.load(paths[2]), live, rtol=0, atol=ROUNDING * 10)


@pytest.mark.parametrize("batch", [1, 7])
def test_stablehlo_takes_any_batch(batch, exported):
    solution, out = exported
    artifact = jax.export.deserialize(bytearray((out / STABLEHLO).read_bytes()))
    mu = jnp.stack([jnp.broadcast_to(MU["mu1"], 7), MU["mu2"]], axis=-1)
    values, outside = artifact.call(POINTS[:batch], mu[:batch])
    np.testing.assert_array_equal(outside, solution.is_outside(POINTS, **MU)[:batch])
    np.testing.assert_allclose(values, solution(POINTS, **MU)[:batch], rtol=0, atol=ROUNDING * 10)
    assert artifact.platforms == PLATFORMS


def test_the_directory_is_whole_and_explained(exported):
    _, out = exported
    assert set(storage.read_directory(out)) == {STABLEHLO, FORWARD, DESCRIPTION, WEIGHTS, README}
    text = (out / README).read_text()
    assert "mu1 in [0.5, 1.5]" in text
    assert all(len(line) <= 120 for line in text.splitlines())


WRONG = {
    "points of another dimension": ((jnp.zeros((2, 4)), MU), "points of shape (2, 4) do not fit; give (5,) or"),
    "a number for a point": ((jnp.zeros(()), MU), "points of shape () do not fit"),
    "a missing parameter": ((POINTS, {"mu1": 1.0}), "no value for mu2; the parameters are mu1, mu2"),
    "an unknown parameter": ((POINTS, {**MU, "mu3": 1.0}), "unknown mu3; the parameters are mu1, mu2"),
    "too few values": (
        (POINTS, {**MU, "mu1": jnp.ones(3)}),
        "mu1: give one number, or one for each of the (7,) points",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_refused_as_by_the_live_solution(arguments, message, exported):
    solution, out = exported
    points, mu = arguments
    for ask in (export_numpy.read(out).u, solution):
        with pytest.raises(ValueError, match=re.escape(message)) as caught:
            ask(points, **mu)
        assert len(str(caught.value).splitlines()) == 1


def flipped(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


def described(**changes) -> Mapping:
    return {DESCRIPTION: lambda content: json.dumps(json.loads(content) | changes).encode()}


DAMAGE = {
    "a flipped bit": ({WEIGHTS: flipped}, "weights.npz is not what was exported"),
    "half of the weights": ({WEIGHTS: lambda content: content[: len(content) // 2]}, "weights.npz is not what was"),
    "half of the description": ({DESCRIPTION: lambda content: content[:40]}, "solution.json is no exported solution"),
    "no object": ({DESCRIPTION: lambda _: b"[]"}, "solution.json is no exported solution"),
    "another format": (described(format=9), "its format is 9, this file reads 6"),
    "an unknown activation": (described(activation="os.system"), "os.system"),
}


@pytest.mark.parametrize(("changes", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_told_in_one_line(changes, message, exported):
    _, out = exported
    contents = [changes.get(name, bytes)((out / name).read_bytes()) for name in (DESCRIPTION, WEIGHTS)]
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        export_numpy.Solution(*contents)
    assert len(str(caught.value).splitlines()) == 1


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match="holds no exported solution"):
        export_numpy.read(tmp_path)


def test_a_constraint_of_ones_own_has_no_numpy_form(tmp_path):
    solution = solution_of(Terms(CYLINDER, {"lap": Laplacian()}))
    assert "HardConstraint" in (numpy_obstacle(solution.model, solution.family) or "")
    with pytest.warns(UserWarning, match=r"no NumPy form: the constraint HardConstraint .* exported alone"):
        report = solution.export(tmp_path / "out")
    assert report["numpy_difference"] is None
    assert report["stablehlo_difference"] < ROUNDING
    assert set(storage.read_directory(tmp_path / "out")) == {STABLEHLO, README}
    assert "NumPy" not in (tmp_path / "out" / README).read_text()


def test_disagreement_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(export_numpy.ACTIVATIONS, "Tanh", np.sin)
    with pytest.raises(prism.PrismError, match=r"solution.py differs by .* nothing was written"):
        solution_of().export(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_solution_that_is_not_finite_is_not_exported(tmp_path):
    broken = eqx.tree_at(lambda s: s.model.amplitude, solution_of(), jnp.asarray(jnp.nan))
    with pytest.raises(prism.PrismError, match="not finite"):
        broken.export(tmp_path / "out")


def test_only_an_earlier_export_is_replaced_and_only_when_asked(tmp_path):
    out, solution = tmp_path / "out", solution_of()
    out.mkdir()
    solution.export(out)
    (out / "__pycache__").mkdir()
    with pytest.raises(prism.InputError, match="in use; replace it with force=True"):
        solution.export(out)
    solution.export(out, force=True)
    assert set(storage.read_directory(out)) == {STABLEHLO, FORWARD, DESCRIPTION, WEIGHTS, README}
    solution.save(tmp_path / "model")
    before = storage.read_directory(tmp_path / "model")
    with pytest.raises(prism.InputError, match=r"holds model.json, which is no part of an export"):
        solution.export(tmp_path / "model", force=True)
    assert storage.read_directory(tmp_path / "model") == before


def test_the_command(finished, capsys):
    assert main(["export", str(finished), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["out"] == f"{finished}-export"
    assert max(report["numpy_difference"], report["stablehlo_difference"]) < report["tolerance"] == 1e-6
    assert main(["export", str(finished)]) == 2
    assert "is in use" in capsys.readouterr().err
    assert main(["export", str(finished), "--force"]) == 0
    assert "README.md" in capsys.readouterr().out


def test_mistakes_on_the_command_line(finished, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for arguments, words in (
        (["nowhere"], "there is no directory nowhere"),
        ([str(finished), "--out", str(tmp_path / "file")], "is a file"),
        ([str(finished), "--out", str(tmp_path / "file" / "below")], "cannot write to"),
        ([str(finished), "--out", str(finished), "--force"], "no part of an export"),
    ):
        assert main(["export", *arguments]) == 2
        error = capsys.readouterr().err.strip()
        assert words in error
        assert len(error.splitlines()) == 1


def described(weights: bytes, **changes) -> bytes:
    """A description that goes with these weights."""
    entries = {"parameters": {"k": [0.0, 1.0]}, "trained": [[0.0, 1.0]], "region": {}, "logarithmic": False}
    entries |= {"format": export_numpy.FORMAT, "coordinates": 2, "activation": "Tanh", "layers": 1, "bent": []}
    entries |= {
        "generator_layers": 1,
        "linear_lift": False,
        "read_out": [],
        "groups": [],
        "vanishing_radius": None,
        "vanishing_power": None,
    }
    return json.dumps({**entries, "weights_sha256": hashlib.sha256(weights).hexdigest(), **changes}).encode()


def stored(**arrays) -> bytes:
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


FORGED = {
    "no archive": (b"text", {}),
    "nothing": (b"", {}),
    "cut off": (stored(a=np.zeros(3))[:-40], {}),
    "objects": (stored(a=np.asarray([{}])), {}),
    "texts": (stored(a=np.asarray(["a"])), {}),
    "complex numbers": (stored(a=np.ones(2, complex)), {}),
    "parameters that are a list": (stored(), {"parameters": [1]}),
    "trained in nothing": (stored(), {"trained": "x"}),
    "an activation that is a list": (stored(), {"activation": []}),
}


@pytest.mark.parametrize(("weights", "changes"), FORGED.values(), ids=FORGED)
def test_an_export_with_other_contents_is_refused_in_one_line(weights, changes, tmp_path):
    (tmp_path / WEIGHTS).write_bytes(weights)
    (tmp_path / DESCRIPTION).write_bytes(described(weights, **changes))
    with pytest.raises(ValueError, match=r"weights\.npz|solution\.json") as caught:
        export_numpy.read(tmp_path)
    assert len(str(caught.value).splitlines()) == 1


def test_an_export_that_is_nested_or_a_fifo_is_refused(tmp_path):
    (tmp_path / WEIGHTS).write_bytes(b"")
    (tmp_path / DESCRIPTION).write_bytes(b"[" * 100_000)
    with pytest.raises(ValueError, match=r"solution\.json is no exported solution"):
        export_numpy.read(tmp_path)
    (tmp_path / WEIGHTS).unlink()
    os.mkfifo(tmp_path / WEIGHTS)
    with pytest.raises(ValueError, match=r"no file weights\.npz"):
        export_numpy.read(tmp_path)
