"""A solution saved and loaded: the same bits in another process, and nothing executed from a file."""

import json
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import ACTIVATIONS, KEY, MODULATIONS, close, roughened

import prism
from prism import artifacts
from prism.cli import main
from prism.errors import CorruptedFile
from prism.families import AllenCahn, SineGordon
from prism.networks.model import Architecture, Model
from prism.solution.solution import Solution

FAMILY = SineGordon.create(6, KEY)
POINTS = jax.random.normal(KEY, (7, 6)) / 4


def solution_of(family=FAMILY, **changes) -> Solution:
    architecture = Architecture(5, 4, 3, 6, 2, **changes)
    shapes = eqx.filter_eval_shape(Model.create, architecture, family.domain, family.parameters, KEY)
    return Solution(roughened(shapes), family)


@pytest.mark.parametrize("modulation", MODULATIONS.values(), ids=MODULATIONS)
def test_what_is_loaded_is_what_was_saved(modulation, tmp_path):
    saved = solution_of(modulation=modulation, affine=0 if modulation is prism.CONCAT else 3)
    saved.save(tmp_path / "model")
    loaded = prism.load(tmp_path / "model", family=SineGordon.create(6, jax.random.key(1)))
    assert eqx.tree_equal(loaded, saved), "the coefficients of the problem are those that were saved"


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda kind: kind.__name__)
def test_the_activation_is_kept(activation, tmp_path):
    solution_of(activation=activation()).save(tmp_path / "model")
    assert type(prism.load(tmp_path / "model", family=FAMILY).model.manifold.activation) is activation


@pytest.mark.parametrize("linear", [False, True])
def test_a_linear_lift_is_kept(linear, tmp_path):
    solution_of(linear_lift=linear).save(tmp_path / "model")
    assert prism.load(tmp_path / "model", family=FAMILY).model.manifold.linear_lift is linear


def test_another_family_is_refused(tmp_path):
    solution_of().save(tmp_path / "model")
    with pytest.raises(prism.InputError, match="one of SineGordon, not of AllenCahn"):
        prism.load(tmp_path / "model", family=AllenCahn.create(6, KEY))
    with pytest.raises(prism.InputError, match="shape"):
        prism.load(tmp_path / "model", family=SineGordon.create(7, KEY))


def test_derivatives_of_a_solution():
    solution, mu = solution_of(), {"mu1": 0.7, "mu2": 1.2}
    at = lambda x, a, b: solution(x, mu1=a, mu2=b)
    x = POINTS[0]
    close(solution.gradient(POINTS, **mu)[0], jax.jacfwd(at)(x, 0.7, 1.2))
    slopes = solution.sensitivity(POINTS, **mu)
    close(slopes["mu2"][0], jax.jacfwd(at, argnums=2)(x, 0.7, 1.2))
    close(solution.sensitivity(x, **mu)["mu1"], slopes["mu1"][0])
    assert solution.outside(mu1=0.7, mu2=1.6) == ["mu2"]


SIZE = ("--width", "4", "--lift-width", "4", "--depth", "1", "--points", "8", "--steps", "2")
TINY = ("solve", "sine-gordon", "--dim", "6", *SIZE)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    assert main([*TINY, "--out", str(out)]) == 0
    return out


def process(*arguments) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "prism.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def predict(*arguments) -> subprocess.CompletedProcess:
    return process("predict", *arguments)


def test_a_fresh_process_predicts_the_same_bits(tmp_path):
    finished = tmp_path / "run"
    assert process(*TINY, "--out", finished).returncode == 0
    points = np.asarray(POINTS, np.float32)
    np.save(tmp_path / "points.npy", points)
    mu = ("--mu", "mu1=0.7", "mu2=1.2", "--points", tmp_path / "points.npy")
    first, second = (predict(finished, *mu, "--out", tmp_path / f"{number}.npz") for number in (1, 2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    one, two = (np.load(tmp_path / f"{number}.npz")["u"] for number in (1, 2))
    assert one.tobytes() == two.tobytes()
    told = json.loads(predict(finished, *mu, "--json").stdout)
    np.testing.assert_array_equal(np.asarray(told["values"], np.float32), one)
    assert told["outside"] == []


MISTAKES = {
    "no such run": ("nowhere", ["mu1=1", "mu2=1"], "1,2,3,4,5,6", "holds no finished run"),
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
    "nothing in it": ({"format": 1}, CorruptedFile, "holds no solution"),
    "an unknown activation": ({"architecture": {"activation": "os.system"}}, prism.InputError, "activation cannot be"),
    "a negative width": ({"architecture": {"width": -3}}, prism.InputError, "width cannot be -3"),
}


@pytest.mark.parametrize(("change", "error", "message"), FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_description_is_refused(change, error, message, tmp_path):
    from prism.files import storage

    solution_of().save(tmp_path / "model")
    files = storage.read_directory(tmp_path / "model")
    content = json.loads(files[artifacts.DESCRIPTION])
    if change == {"format": 1}:
        content = change
    else:
        content |= {k: {**content[k], **v} if isinstance(v, dict) else v for k, v in change.items()}
    storage.write_directory(tmp_path / "other", {**files, artifacts.DESCRIPTION: json.dumps(content).encode()})
    with pytest.raises(error, match=message):
        artifacts.read(tmp_path / "other")


def test_points_one_by_one_and_many():
    solution = solution_of()
    whole = solution(POINTS, mu1=0.7, mu2=1.2)
    close(jnp.stack([solution(x, mu1=0.7, mu2=1.2) for x in POINTS]), whole)
