"""A solution saved and loaded: the same bits in another process, and nothing executed from a file."""

import json
import os
import subprocess
import sys

import equinox as eqx
import jax
import numpy as np
import pytest
from helpers import ACTIVATIONS, KEY, LIFTS, MODULATIONS, WIDER, linear
from solution.networks import random_network

import prism
from prism.cli import main
from prism.cli.loading import load_run
from prism.errors import CorruptedFile
from prism.families import AllenCahn, SineGordon
from prism.files import storage
from prism.networks.model import Architecture
from prism.numerics.keys import root
from prism.solution import artifacts
from prism.solution.solution import Solution

FAMILY = SineGordon.create(6, KEY)
LIFT = linear(5)
POINTS = jax.random.normal(KEY, (7, 6)) / 4


def solution_of(family=FAMILY, lift=LIFT, **changes) -> Solution:
    return Solution(random_network(family, Architecture(lift, 4, 3, 6, 2, **changes)), family)


@pytest.mark.parametrize("modulation", MODULATIONS.values(), ids=MODULATIONS)
def test_what_is_loaded_is_what_was_saved(modulation, tmp_path):
    saved = solution_of(modulation=modulation, lift=linear(5, 0 if modulation is prism.CONCAT else 3))
    saved.save(tmp_path / "model")
    loaded = prism.load(tmp_path / "model", family=SineGordon.create(6, root(1)))
    assert eqx.tree_equal(loaded, saved), "the coefficients of the problem are those that were saved"


@pytest.mark.parametrize("lift", LIFTS.values(), ids=LIFTS)
@pytest.mark.parametrize("depth", [1, 3])
def test_every_lift_is_kept(lift, depth, tmp_path):
    family = SineGordon.create(WIDER, KEY)
    saved = Solution(random_network(family, Architecture(lift, 4, depth, 6, 2)), family)
    saved.save(tmp_path / "model")
    assert eqx.tree_equal(prism.load(tmp_path / "model", family=family), saved)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda kind: kind.__name__)
def test_the_activation_is_kept(activation, tmp_path):
    solution_of(activation=activation()).save(tmp_path / "model")
    assert type(prism.load(tmp_path / "model", family=FAMILY).model.manifold.activation) is activation


@pytest.mark.parametrize("unbent", [False, True])
def test_a_linear_lift_is_kept(unbent, tmp_path):
    solution_of(linear_lift=unbent).save(tmp_path / "model")
    assert prism.load(tmp_path / "model", family=FAMILY).model.manifold.linear_lift is unbent


def test_another_family_is_refused(tmp_path):
    solution_of().save(tmp_path / "model")
    with pytest.raises(prism.InputError, match="one of SineGordon, not of AllenCahn"):
        prism.load(tmp_path / "model", family=AllenCahn.create(6, KEY))
    with pytest.raises(prism.InputError, match="has 6 dimensions, the family 7"):
        prism.load(tmp_path / "model", family=SineGordon.create(7, KEY))


def test_a_fresh_process_predicts_the_same_bits(finished, tmp_path, capsys):
    np.save(tmp_path / "points.npy", POINTS)
    command = ["predict", str(finished), "--mu", "mu1=0.7", "mu2=1.2", "--points", str(tmp_path / "points.npy")]
    fresh = [sys.executable, "-m", "prism.cli", *command, "--out", str(tmp_path / "values.npz")]
    subprocess.run(fresh, check=True, env={**os.environ, "JAX_ENABLE_X64": "1"})
    here = np.asarray(load_run(finished)(POINTS, mu1=0.7, mu2=1.2))
    assert np.load(tmp_path / "values.npz")["u"].tobytes() == here.tobytes()
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["values"] == here.tolist()
    assert told["outside"] == []


MISTAKES = {
    "no such run": ("nowhere", ["mu1=1", "mu2=1"], "1,2,3,4,5,6", "there is no directory nowhere"),
    "a missing parameter": (None, ["mu1=1"], "1,2,3,4,5,6", "no value for mu2"),
    "an unknown parameter": (None, ["mu1=1", "mu2=1", "mu3=1"], "1,2,3,4,5,6", "unknown mu3"),
    "a malformed parameter": (None, ["mu1"], "1,2,3,4,5,6", "malformed --mu 'mu1'"),
    "not a number": (None, ["mu1=1", "mu2=nan"], "1,2,3,4,5,6", "finite number"),
    "points of another dimension": (None, ["mu1=1", "mu2=1"], "1,2,3", "give rows of 6 numbers"),
    "points that are words": (None, ["mu1=1", "mu2=1"], "a,b", "cannot read points"),
    "points that are not finite": (None, ["mu1=1", "mu2=1"], "1,2,3,4,5,inf", "not finite, in row 0"),
}


@pytest.mark.parametrize(("run", "mu", "points", "message"), MISTAKES.values(), ids=MISTAKES)
def test_bad_input_is_refused_in_one_line(run, mu, points, message, finished, tmp_path, capsys):
    file = tmp_path / "points.csv"
    file.write_text(points + "\n")
    assert main(["predict", str(run or finished), "--mu", *mu, "--points", str(file)]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert len(error.splitlines()) == 1


def test_damage_is_detected(tmp_path):
    solution_of().save(tmp_path / "model")
    file = tmp_path / "model" / artifacts.ARRAYS
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(CorruptedFile, match="not what was written"):
        prism.load(tmp_path / "model", family=FAMILY)


FOREIGN = {
    "another format": ({"format": 99}, prism.InputError, "format 99"),
    "nothing in it": ({"format": artifacts.FORMAT}, CorruptedFile, "holds no solution"),
    "an unknown activation": ({"architecture": {"activation": "os.system"}}, prism.InputError, "activation cannot be"),
    "an unknown part": ({"architecture": {"lift": [{"part": "Fourier"}]}}, prism.InputError, "a part 'Fourier', which"),
    "a part that cannot be": (
        {"architecture": {"lift": [{"part": "Sites", "window": 0}]}},
        prism.InputError,
        "the window of Sites is 0",
    ),
    "a part with too much": ({"architecture": {"lift": [{"part": "Norm", "size": 2}]}}, CorruptedFile, "size"),
    "no lift": ({"architecture": {"lift": None}}, CorruptedFile, "holds no solution"),
    "a negative width": ({"architecture": {"width": -3}}, prism.InputError, "width cannot be -3"),
}


@pytest.mark.parametrize(("change", "error", "message"), FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_description_is_refused(change, error, message, tmp_path):
    solution_of().save(tmp_path / "model")
    files = storage.read_directory(tmp_path / "model")
    content = json.loads(files[artifacts.DESCRIPTION])
    if change == {"format": artifacts.FORMAT}:
        content = change
    else:
        content |= {k: {**content[k], **v} if isinstance(v, dict) else v for k, v in change.items()}
    storage.write_directory(tmp_path / "other", {**files, artifacts.DESCRIPTION: json.dumps(content).encode()})
    with pytest.raises(error, match=message):
        artifacts.read(tmp_path / "other")
