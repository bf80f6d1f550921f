"""A solution saved and loaded: the same bits in another process, and nothing executed from a file."""

import json
import os
import subprocess
import sys

import equinox as eqx
import jax
import numpy as np
import pytest
from helpers import ACTIVATIONS, KEY, LIFTS, MODULATIONS, WIDER, linear, mostly_slow
from solution.networks import random_network

import prism
from prism.cli import main
from prism.cli.loading import load_run
from prism.errors import CorruptedFile
from prism.families import AllenCahn, SineGordon
from prism.files import storage
from prism.files.arrays import pack_arrays
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


FEW = (
    *("form", "logarithmic norm", "bent sites", "periodic sites", "sites over groups"),
    *("blocks", "quadratic over pairs", "periodic quadratic", "sum"),
)


@pytest.mark.parametrize("lift", mostly_slow(LIFTS, *FEW))
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
    "an unknown activation": ({"architecture": {"activation": "os.system"}}, CorruptedFile, "activation cannot be"),
    "an unknown part": ({"architecture": {"lift": [{"part": "Fourier"}]}}, CorruptedFile, "a part 'Fourier', which"),
    "a part that cannot be": (
        {"architecture": {"lift": [{"part": "Sites", "window": 0}]}},
        CorruptedFile,
        "the window of Sites is 0",
    ),
    "a part with too much": ({"architecture": {"lift": [{"part": "Norm", "size": 2}]}}, CorruptedFile, "size"),
    "a part of another type": ({"architecture": {"lift": [{"part": "Dense", "width": "9"}]}}, CorruptedFile, "width"),
    "a part that is a list": ({"architecture": {"lift": [[]]}}, CorruptedFile, r"lift\[0\]"),
    "no lift": ({"architecture": {"lift": None}}, CorruptedFile, "holds no solution"),
    "a negative width": ({"architecture": {"width": -3}}, CorruptedFile, "width cannot be -3"),
    "a thousand million layers": (
        {"architecture": {"depth": 10**9}},
        CorruptedFile,
        "layers take too long",
    ),
    "a width of many digits": ({"architecture": {"width": 10**400}}, CorruptedFile, "a number of 401 digits"),
    "truth for a width": ({"architecture": {"width": True}}, CorruptedFile, "`bool` in architecture.width"),
    "a number for truth": ({"architecture": {"scale": 1}}, CorruptedFile, "architecture.scale"),
    "a family of another type": ({"family": 3}, CorruptedFile, "`int` in family"),
    "a problem of another type": ({"problem": []}, CorruptedFile, "in problem"),
    "a μ of another type": ({"tuned_at": {"mu1": "1"}}, CorruptedFile, "in tuned_at"),
    "bounds of three": ({"parameters": {"bounds": {"mu1": [1, 2, 3]}}}, CorruptedFile, "in parameters.bounds"),
}


@pytest.mark.parametrize(("change", "error", "message"), FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_description_is_refused(change, error, message, tmp_path):
    solution_of().save(tmp_path / "model")
    files = storage.read_directory(tmp_path / "model")
    content = json.loads(files[artifacts.DESCRIPTION])
    if change == {"format": artifacts.FORMAT}:
        content = change
    else:
        content |= {k: {**(content[k] or {}), **v} if isinstance(v, dict) else v for k, v in change.items()}
    storage.write_directory(tmp_path / "other", {**files, artifacts.DESCRIPTION: json.dumps(content).encode()})
    with pytest.raises(error, match=message):
        artifacts.read(tmp_path / "other")


def rewritten(path, description=None, arrays=None):
    """The solution with another content under the right hashes."""
    files = storage.read_directory(path)
    if description is not None:
        content = json.loads(files[artifacts.DESCRIPTION]) | description
        files[artifacts.DESCRIPTION] = json.dumps(content).encode()
    storage.write_directory(path, {**files, **({} if arrays is None else {artifacts.ARRAYS: arrays})})


def test_weights_that_are_not_finite_are_told_when_they_are_read(tmp_path):
    saved = solution_of()
    spoilt = eqx.tree_at(lambda one: one.model.manifold.readout, saved, replace_fn=lambda leaf: leaf.at[1].set(np.nan))
    spoilt.save(tmp_path / "model")
    with pytest.raises(CorruptedFile, match=r"the stored solution is damaged: .*readout.* is not finite"):
        prism.load(tmp_path / "model", family=FAMILY)


def test_arrays_of_another_kind_under_a_right_hash_are_refused(tmp_path):
    solution_of().save(tmp_path / "model")
    for content in (b"", b"[]", pack_arrays({"a": np.zeros(3)})):
        rewritten(tmp_path / "model", arrays=content)
        with pytest.raises((CorruptedFile, prism.InputError)) as caught:
            prism.load(tmp_path / "model", family=FAMILY)
        assert len(str(caught.value).splitlines()) == 1


class Screened(prism.Family):
    domain: prism.Ball
    parameters = prism.Uniform(lam=(0.0, 5.0), k=(1.0, 2.0))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap - mu.lam * u.value - mu.k


OTHERS = {
    "other bounds": prism.Uniform(lam=(0.0, 4.0), k=(1.0, 2.0)),
    "another name": prism.Uniform(lam=(0.0, 5.0), c=(1.0, 2.0)),
    "another order": prism.Uniform(k=(1.0, 2.0), lam=(0.0, 5.0)),
    "another law": prism.LogUniform(lam=(0.1, 5.0), k=(1.0, 2.0)),
}


@pytest.mark.parametrize("space", OTHERS.values(), ids=OTHERS)
def test_other_parameters_are_refused_where_equations_cannot_be_compared(space, tmp_path):
    """As with another version of JAX, or in another precision."""
    solution_of(Screened(prism.Ball(3))).save(tmp_path / "model")
    rewritten(tmp_path / "model", {"equation": "jax-9.9.9-float16:0"})
    assert prism.load(tmp_path / "model", family=Screened(prism.Ball(3))).family.parameters == Screened.parameters
    other = type("Screened", (Screened,), {"parameters": space, "__module__": __name__})
    with pytest.raises(
        prism.InputError, match=r"has the parameters .*, what is stored was solved for Uniform\(lam=\(0, 5"
    ):
        prism.load(tmp_path / "model", family=other(prism.Ball(3)))


def test_a_solution_of_an_earlier_version_says_nothing_of_its_parameters(tmp_path):
    solution_of().save(tmp_path / "model")
    rewritten(tmp_path / "model", {"parameters": None})
    assert eqx.tree_equal(prism.load(tmp_path / "model", family=FAMILY), solution_of())


class Weighted(Screened):
    weights: np.ndarray

    def residual(self, u, x, mu):
        return u.lap - mu.lam * u.value - mu.k * (self.weights @ x)


def test_a_field_in_double_precision_is_loaded_in_single_precision(tmp_path):
    """Training makes float32 of it, the family that is given to load has float64."""
    with jax.enable_x64(False):
        family, point = Weighted(prism.Ball(3), np.asarray([0.1, 0.2, 0.3])), jax.numpy.full(3, 0.1)
        given = solution_of(family)
        trained = eqx.tree_at(lambda one: one.family.weights, given, replace_fn=jax.numpy.asarray)
        for number, saved in enumerate((given, trained)):
            saved.save(tmp_path / str(number))
            loaded = prism.load(tmp_path / str(number), family=family)
            assert loaded.family.weights.dtype == np.float32
            assert loaded(point, lam=1.0, k=1.5) == saved(point, lam=1.0, k=1.5)


FIELDS = """
import warnings, numpy as np, jax.numpy as jnp, prism
warnings.simplefilter("ignore", prism.NotSolved)

class Own(prism.Family):
    domain: prism.Ball
    weights: np.ndarray
    shift: object
    mask: np.ndarray
    scale: np.float64
    power: int
    name: str
    pair: tuple
    parameters = prism.Uniform(k=(1.0, 2.0))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        weight = jnp.sum(jnp.where(self.mask, self.weights * x, 0.0))
        return u.lap - mu.k * self.scale * weight**self.power - self.pair[0] - jnp.sum(self.shift)

    def exact(self, x, mu):
        return jnp.sum(self.weights * x)

    def constraint(self):
        return prism.vanishing(self.domain)

def family():
    return Own(prism.Ball(3), np.asarray([0.1, 0.2, 0.3]), jnp.ones(2), np.asarray([True, False, True]),
               np.float64(0.7), 2, "mine", (0.5, "text"))

from prism.networks.lifts.parts import Dense
small = dict(architecture=prism.Architecture(Dense(3), 3, 2, 3, 1), sampling=prism.Sampling(4, 4), progress=False)
solved = prism.solve(family(), steps=2, out="run", **small)
point = jnp.full(3, 0.1)
for place in ("run", "run/model"):
    assert prism.load(place, family())(point, k=1.5) == solved(point, k=1.5)
untrained = prism.Solution(solved.model, family())
untrained.save("plain")
assert prism.load("plain", family())(point, k=1.5) == solved(point, k=1.5)
prism.solve(family(), resume="run", steps=3, **small)
"""


@pytest.mark.slow
def test_a_family_with_fields_of_any_kind_is_loaded_in_single_precision(tmp_path):
    """As a user runs it, without the double precision of these tests."""
    environment = {**os.environ, "JAX_ENABLE_X64": "0", "PRISM_CACHE_DIR": "off"}
    ran = subprocess.run([sys.executable, "-c", FIELDS], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
