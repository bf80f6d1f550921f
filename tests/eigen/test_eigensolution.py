"""The trained artifact: asked, trusted, tuned, inverted, exported, saved and loaded."""

import dataclasses
import json
import shutil
import subprocess
import sys
from typing import Any

import equinox as eqx
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from eigen.cases import FOUR, FOUR_MU, PLAIN, Wells, errors_of, random_network, weights_of
from helpers import KEY
from jaxtyping import Array

from prism.eigen import export_numpy, tuning
from prism.eigen.eigensolution import Eigensolution, load_eigensolution
from prism.eigen.evaluation import FEW, evaluate_levels
from prism.eigen.export import FORWARD, LEVELS, README, TABLE, TOLERANCE, WAVE
from prism.eigen.forms import Product, Train
from prism.eigen.network import FactorArchitecture
from prism.eigen.precise import level_reference, levels_at
from prism.eigen.settings import EigenSettings
from prism.errors import BeyondTraining, CorruptedFile, InputError, NotImproved, UnusableOutput
from prism.families.anharmonic_chain import AnharmonicChain
from prism.families.coupled_oscillator import CoupledOscillator
from prism.problem.parameters import LogUniform, Uniform
from prism.problem.potential import Potential

SMALL = FactorArchitecture(3, 2, 3, 1)
GRID = np.array([(0.8, 0.2), (0.85, 0.7), (1.0, 0.46), (1.2, 0.72), (0.93, 0.41)])
POINTS = 0.5 * np.random.default_rng(3).normal(size=(6, 4))


def frequencies(mu1: float, mu2: float) -> np.ndarray:
    return np.sqrt(mu1 - mu2 * np.cos(np.arange(1, 5) * np.pi / 5.0))


def exact(mu1: float, mu2: float) -> np.ndarray:
    omega = frequencies(mu1, mu2)
    return np.sum(omega) + np.array([0.0, 2.0 * omega[0]])


def by_differences(solution: Eigensolution, mu: dict[str, float]) -> dict[str, np.ndarray]:
    """∂λ/∂μ of the levels as they are."""
    step, place, sides = 1e-4, np.array([*mu.values()]), np.eye(len(mu))
    around = np.concatenate([place + step * sides, place - step * sides])
    above, below = np.split(levels_at(solution.network, solution.potential, around, solution.settings.levels), 2)
    return dict(zip(mu, (above - below) / (2.0 * step), strict=True))


def untrained(potential, form=None, levels: int = 1, **network) -> Eigensolution:
    """A solution of random weights."""
    settings = EigenSettings.choose(potential, form, SMALL, levels=levels)
    return Eigensolution(random_network(potential, settings.form, **network), potential, settings)


@pytest.fixture
def solution(trained) -> Eigensolution:
    return trained.solution


# Asked


def test_levels_are_right_to_four_digits_anywhere_in_the_box(solution):
    """After 60 steps of a tiny network, also in the corners; and above the exact ones."""
    found, truth = levels_at(solution.network, FOUR, GRID, 2), np.stack([exact(*mu) for mu in GRID])
    one = solution(**FOUR_MU)
    assert np.array_equal(one, found[-1])
    assert one.dtype == np.float64
    assert np.all(found >= truth * (1.0 - 1e-12)), "an upper bound, to rounding"
    np.testing.assert_allclose(found, truth, rtol=1e-4)


def test_derivatives_are_right_to_two_digits(solution):
    """∂λ/∂μ of a wave that errs by δ errs by δ, where λ errs by δ², 1e-5 of it."""
    found, step = solution.derivative(**FOUR_MU), 1e-5
    for name, value in FOUR_MU.items():
        ends = [exact(**{**FOUR_MU, name: value + change}) for change in (step, -step)]
        np.testing.assert_allclose(found[name], (ends[0] - ends[1]) / (2.0 * step), rtol=1e-2)


def test_the_wave_function_is_that_of_the_modes(solution):
    """Π (ω_k/π)^¼ exp(−ω_k y_k²/2) of norm 1, up to its sign, where it is not small."""
    omega = frequencies(**FOUR_MU)
    sign, log = solution.wave(POINTS, **FOUR_MU)
    expected = np.sum(np.log(omega / np.pi) / 4.0) - POINTS**2 @ omega / 2.0
    assert np.all(sign == sign[0])
    np.testing.assert_allclose(log, expected, atol=0.02)
    one, value = solution.wave(POINTS[0], **FOUR_MU)
    assert one.shape == value.shape == ()
    assert value == log[0]


def test_the_first_excited_wave_is_odd_in_its_softest_mode(solution):
    sign, log = solution.wave(POINTS * [1, 0.1, 0.1, 0.1], level=1, **FOUR_MU)
    mirrored, same = solution.wave(POINTS * [-1, 0.1, 0.1, 0.1], level=1, **FOUR_MU)
    far = np.abs(POINTS[:, 0]) > 0.2
    assert np.sum(far) > 2
    assert np.all(sign[far] == -mirrored[far])
    np.testing.assert_allclose(log[far], same[far], atol=0.05)  # a network is not odd, it learns to be nearly so


ASKED_WRONGLY = {
    "a level that it has not": (lambda s: s.wave(POINTS, level=2, **FOUR_MU), "level 2 of 2; give 0 to 1"),
    "points of another dimension": (lambda s: s.wave(POINTS[:, :3], **FOUR_MU), "give 4 coordinates in each row"),
    "a parameter less": (lambda s: s(mu1=1.0), "no value for mu2"),
    "a parameter more": (lambda s: s(mu1=1.0, mu2=0.5, mu3=0.1), "unknown mu3"),
    "no time": (lambda s: s.fine_tune(seconds=0.0, **FOUR_MU), "0 seconds are no budget"),
}


@pytest.mark.parametrize(("ask", "message"), ASKED_WRONGLY.values(), ids=ASKED_WRONGLY)
def test_what_cannot_be_answered_is_refused(solution, ask, message):
    with pytest.raises(InputError, match=message):
        ask(solution)


def test_outside_the_box_it_warns_and_answers(solution):
    with pytest.warns(BeyondTraining, match="mu1 outside what was trained") as record:
        found = solution(mu1=1.25, mu2=0.5)
    assert record[0].filename == __file__, "the warning names the line that asked"
    assert found[0] > exact(mu1=1.25, mu2=0.5)[0]
    assert solution.outside(mu1=1.25, mu2=0.5) == ["mu1"]
    assert solution.outside(mu1=1.2, mu2=0.2) == [], "the ends belong to the box"


def test_it_describes_itself(solution):
    assert repr(solution) == (
        "Eigensolution of CoupledOscillator in 4 dimensions, mu1 in [0.8, 1.2], mu2 in [0.2, 0.72]"
    )


# Trusted


@pytest.mark.parametrize(("mu1", "mu2"), [(0.93, 0.41), (1.25, 0.3)], ids=["inside", "outside"])
def test_the_exact_level_lies_between_its_bounds(solution, mu1, mu2):
    """Temple's from below, with the gaps of the network itself, also somewhat outside the box."""
    told = solution.trust(mu1=mu1, mu2=mu2)
    assert told.lower_bound <= exact(mu1, mu2)[0] <= told.level
    assert told.level - told.lower_bound < 0.01 * told.level
    assert told.quadrature_error < 1e-9  # of functions that are smooth on the scale of 72 nodes
    assert told.derivative_mismatch < 0.02
    assert told.mu == {"mu1": mu1, "mu2": mu2}
    inside = mu1 == 0.93
    assert told.outside == (() if inside else ("mu1",))
    lines = told.describe()
    assert "Temple" in lines[2]
    assert (
        lines[0]
        == f"mu1 = {mu1}, mu2 = {mu2}: {'inside the trained box' if inside else 'outside the trained box in mu1'}"
    )


@pytest.mark.slow
def test_one_level_alone_has_weinsteins_bound():
    """Some eigenvalue within σ: of a chain it is the lowest, if the network is near enough."""
    told = untrained(PLAIN, Train(2), size=0.05).trust(**FOUR_MU)
    assert "Weinstein" in told.describe()[2]
    assert told.lower_bound == told.level - told.deviation
    coupling = 0.93 * np.eye(3) - 0.41 / 2.0 * (np.eye(3, k=1) + np.eye(3, k=-1))
    assert told.lower_bound < np.sum(np.sqrt(np.linalg.eigvalsh(coupling))) < told.level


# Evaluated


def test_errors_at_held_out_parameters(trained):
    found = errors_of(trained.solution)
    assert found.parameters == 64
    assert found.relative_l1 < 1e-4
    assert found.relative_l1 <= found.relative_l2 <= found.largest_error
    assert found.lowest_excess > 0.0, "never below the exact level"
    assert found.excited_errors[0] < 1e-4
    assert found.skill < 0.01
    assert found.skill == pytest.approx(found.relative_l1 / found.mu_blind_error)
    assert found.trivial_error > 100 * found.relative_l1
    assert found.doubts == ()
    assert trained.solution.evaluate() == found


def test_an_evaluation_describes_every_error_beside_its_measure(trained):
    lines = errors_of(trained.solution).describe()
    assert lines[0].startswith("relative error of λ")
    assert [line.split()[0] for line in lines[1:4]] == ["at", "trivial", "μ-blind"]
    assert lines[-1].startswith("skill")


def test_a_network_that_has_learned_nothing_is_doubted():
    found = untrained(FOUR, size=1.0).evaluate()
    assert found.skill is not None
    assert found.skill > 1.0
    assert any("no better than the best number that ignores the parameters" in doubt for doubt in found.doubts)
    assert any("no better than the trivial answer" in doubt for doubt in found.doubts)


def test_functions_too_narrow_for_their_nodes_are_doubted():
    found = dataclasses.replace(untrained(FOUR, size=0.1).evaluate(), quadrature_error=1e-3, lowest_excess=-0.1)
    assert any("lower half_width" in doubt for doubt in found.doubts)
    assert any("below the true level" in doubt for doubt in found.doubts)


class Guessed(Wells):
    """Whose reference is only a number."""

    def reference(self, mu):
        return 1.0


def test_a_reference_of_another_kind_is_named():
    with pytest.raises(InputError, match=r"reference of Guessed is 1\.0; return a prism\.Reference"):
        level_reference(Guessed(2), np.asarray([0.7]))


def test_what_is_not_known_is_not_told():
    """Neither the levels nor a reference: the deviation of the local energy is all there is."""
    potential = Wells(3)
    found = evaluate_levels(random_network(potential, Product(), size=1.0), potential, 1, KEY)
    assert (found.relative_l1, found.skill, found.lowest_excess, found.by_parameter) == (None, None, None, ())
    assert found.relative_deviation > 0.1
    assert found.describe()[0] == "the exact level is not known, nor a reference for it"
    assert any("the local energy varies by" in doubt for doubt in found.doubts)


@pytest.mark.slow
def test_a_reference_takes_the_place_of_the_exact_level():
    """Of a few parameters, with its own uncertainty beside the errors."""
    potential = AnharmonicChain.create(3)
    found = evaluate_levels(random_network(potential, Train(2), size=0.1), potential, 1, KEY)
    known: Any = found
    assert known.parameters == FEW
    assert known.reference_uncertainty < 1e-8
    assert 0.0 < known.lowest_excess < known.relative_l1
    assert known.excited_errors == ()


# Tuned


class Ticking:
    """A clock that is a second later whenever it is read: a budget of seconds is then one of reads."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 1.0
        return self.now


@pytest.mark.slow
def test_tuning_outside_the_box_lowers_the_level_there(solution, monkeypatch):
    """And stays above the exact one; the solution that it came from is as it was."""
    monkeypatch.setattr(tuning, "time", Ticking())
    there, before = {"mu1": 1.4, "mu2": 0.5}, weights_of(solution.network)
    with pytest.warns(BeyondTraining):
        level = solution(**there)[0]
    tuned = solution.fine_tune(seconds=8.0, **there)
    assert exact(**there)[0] <= tuned(**there)[0] < level
    assert np.array_equal(weights_of(solution.network), before)
    assert tuned.tuned_at == (1.4, 0.5)
    assert tuned.outside(**there) == []
    assert tuned.outside(**FOUR_MU) == ["mu1", "mu2"]


def test_tuning_that_gains_nothing_says_so(solution, monkeypatch):
    """No step fits into the time: the network stays."""
    clock = Ticking()
    monkeypatch.setattr(tuning, "time", clock)
    with pytest.warns(NotImproved):
        tuned = solution.fine_tune(seconds=0.5, **FOUR_MU)
    assert np.array_equal(weights_of(tuned.network), weights_of(solution.network))


# Inverted


def test_two_levels_determine_two_parameters(solution):
    """μ within its interval, of the exact levels with noise as small as the error of the network."""
    data = exact(**FOUR_MU)
    found = solution.invert({0: float(data[0]), 1: float(data[1])}, noise=1e-3, model_error=1e-4)
    assert found.identifiable == {"mu1": True, "mu2": True}
    for name, value in FOUR_MU.items():
        low, high = found.interval[name]
        assert low < value < high
        assert high - low < 0.1, "the box is four times as wide or more"
    assert found.open_directions == ()


def test_its_own_levels_lead_back_to_their_parameters(solution):
    """Without any noise but a billionth: to what the table of levels leaves."""
    data = solution(**FOUR_MU)
    found = solution.invert({0: [float(data[0])] * 2, 1: float(data[1])}, noise=1e-8)
    assert found.observations == 3
    for name, value in FOUR_MU.items():
        assert found.values[name] == pytest.approx(value, abs=1e-6)


def test_one_level_alone_does_not_determine_two_parameters(solution):
    found = solution.invert({0: float(exact(**FOUR_MU)[0])}, noise=1e-3)
    assert found.identifiable == {"mu1": False, "mu2": False}
    assert len(found.open_directions) == 1
    assert all(name in found.open_directions[0] for name in FOUR_MU)


MEASURED_WRONGLY = {
    "a level that it has not": (
        {2: 4.0},
        0.1,
        r"level 2 was measured and the solution has 2 \(0 to 1\); solve for more",
    ),
    "nothing": ({}, 0.1, "no levels were measured"),
    "no number": ({0: float("nan")}, 0.1, "not finite"),
    "no noise": ({0: 4.0, 1: 5.0}, None, "2 measurements of 2 parameters do not show their own noise"),
    "negative noise": ({0: 4.0}, -1.0, "noise"),
    "no level": ({-1: 4.0}, 0.1, "the number of a level"),
}


@pytest.mark.parametrize(("measured", "noise", "message"), MEASURED_WRONGLY.values(), ids=MEASURED_WRONGLY)
def test_measurements_that_say_nothing_are_refused(solution, measured, noise, message):
    with pytest.raises(InputError, match=message):
        solution.invert(measured, noise=noise)


# Exported


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory):
    out = tmp_path_factory.mktemp("exported") / "out"
    return out, trained.solution.export(out)


NUMPY_ALONE = """
import sys
sys.modules["jax"] = sys.modules["prism"] = sys.modules["scipy"] = None
sys.path.insert(0, sys.argv[1])
import json
from levels import derivatives, levels
plain = lambda found: {name: value.tolist() for name, value in found.items()}
print(json.dumps([[levels(**mu).tolist(), plain(derivatives(**mu))] for mu in json.loads(sys.argv[2])]))
"""


def test_numpy_alone_gives_the_same_levels(solution, exported):
    """In a process of its own without JAX; to 1e-8, which polynomials of degree 15 in each parameter leave."""
    mus = [{"mu1": float(mu1), "mu2": float(mu2)} for mu1, mu2 in GRID]
    ran = subprocess.run(
        [sys.executable, "-c", NUMPY_ALONE, str(exported[0]), json.dumps(mus)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    found, slopes = zip(*json.loads(ran.stdout), strict=True)
    np.testing.assert_allclose(found, levels_at(solution.network, FOUR, GRID, 2), rtol=1e-8)
    for name, expected in by_differences(solution, FOUR_MU).items():
        np.testing.assert_allclose(slopes[-1][name], expected, rtol=1e-4)  # derivatives of the table lose some digits


def test_stablehlo_gives_the_same_levels_and_waves(solution, exported):
    """The program of the network itself: to rounding."""
    with jax.enable_x64(True):
        read = lambda name: jax.export.deserialize(bytearray((exported[0] / name).read_bytes())).call
        levels, wave = read(LEVELS), read(WAVE)
        found = np.stack([levels(jnp.asarray(mu)) for mu in GRID])
        np.testing.assert_allclose(found, levels_at(solution.network, FOUR, GRID, 2), rtol=1e-12)
        sign, log = wave(jnp.asarray(POINTS), jnp.asarray(GRID[-1]))
    expected = solution.wave(POINTS, **FOUR_MU)
    assert np.array_equal(sign * expected[0], np.full(6, sign[0] * expected[0][0]))
    np.testing.assert_allclose(log, expected[1], atol=1e-12)


def test_an_export_reports_how_well_it_agrees(exported):
    out, report = exported
    assert report["stablehlo_difference"] < 1e-12
    assert report["numpy_difference"] < 1e-8 < TOLERANCE
    assert {FORWARD, LEVELS, README, TABLE, WAVE} <= {path.name for path in out.iterdir()}
    assert "levels(mu1=1, mu2=0.46)" in (out / README).read_text()


def test_an_exported_table_refuses_what_it_does_not_hold(exported):
    table = export_numpy.Levels((exported[0] / TABLE).read_bytes())
    for wrong in ({"mu1": 1.3, "mu2": 0.5}, {"mu1": float("nan"), "mu2": 0.5}, {"mu1": 1.0}, {"a": 1.0, "b": 1.0}):
        with pytest.raises(ValueError, match=r"alone|each once"):
            table.levels(**wrong)
    with pytest.raises(ValueError, match="no exported table"):
        export_numpy.Levels(b"nonsense")


@pytest.mark.slow
def test_a_table_over_the_logarithm_of_a_parameter(tmp_path):
    """With derivatives by the parameter itself, not by its logarithm."""

    class Spring(Wells):
        parameters = LogUniform(a=(0.5, 2.0))

        def single(self, y, i, mu):
            return mu.a * y * y

        def half_width(self, i):
            return 8.0

    solution = untrained(Spring(2), size=0.05)
    report: dict[str, Any] = solution.export(tmp_path / "out")
    assert report["numpy_difference"] < TOLERANCE
    table = export_numpy.Levels((tmp_path / "out" / TABLE).read_bytes())
    found, at = [table.levels(a=a) for a in (0.5, 0.7, 2.0)], np.array([[0.5], [0.7], [2.0]])
    np.testing.assert_allclose(found, levels_at(solution.network, solution.potential, at, 1), rtol=1e-6)
    expected = by_differences(solution, {"a": 0.7})["a"]
    np.testing.assert_allclose(table.derivatives(a=0.7)["a"], expected, rtol=1e-4)


def test_an_export_replaces_nothing_unasked(solution, exported):
    with pytest.raises(UnusableOutput, match="is in use"):
        solution.export(exported[0])


def test_an_export_leaves_other_files_alone(solution, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UnusableOutput, match=r"mine\.txt"):
        solution.export(tmp_path, force=True)
    assert (tmp_path / "mine.txt").read_text() == "mine"


# Saved and loaded


def test_a_loaded_solution_has_the_same_bits(trained):
    loaded = load_eigensolution(trained.out, FOUR)
    assert np.array_equal(weights_of(loaded.network), weights_of(trained.solution.network))
    assert np.array_equal(loaded(**FOUR_MU), trained.solution(**FOUR_MU))
    assert (loaded.settings.levels, loaded.settings.form) == (2, Product(1))
    assert loaded.history == ()


@pytest.mark.parametrize(
    ("potential", "form", "shared"),
    [(FOUR, Product(), False), (PLAIN, Train(2), True), (Wells(2), Product(2), True)],
    ids=["networks of their own", "train", "a potential of the user's"],
)
def test_every_form_is_stored_as_it_is(potential, form, shared, tmp_path):
    settings = EigenSettings.choose(potential, form, dataclasses.replace(SMALL, shared=shared))
    solution = Eigensolution(random_network(potential, form, shared=shared), potential, settings)
    solution.save(tmp_path / "model")
    loaded = load_eigensolution(tmp_path / "model", potential)
    assert loaded.settings.form == form
    assert loaded.settings.architecture == settings.architecture
    assert eqx.tree_equal(loaded.network, solution.network)


class Scaled(Potential):
    """With a number of its own, which no trace shows."""

    dimension: int = eqx.field(static=True)
    stiffness: Array
    parameters = Uniform(a=(0.5, 1.0))

    def single(self, y, i, mu):
        return self.stiffness * y * y + mu.a * y**4

    def half_width(self, i):
        return 3.0


def test_the_arrays_of_a_potential_are_those_that_were_solved_with(tmp_path):
    one, other = (Scaled(2, jnp.asarray(value)) for value in (1.0, 2.0))
    solution = Eigensolution(random_network(one, Product()), one, EigenSettings.choose(one, None, SMALL))
    solution.save(tmp_path / "model")
    loaded = load_eigensolution(tmp_path / "model", other)
    assert np.array_equal(loaded(a=0.7), solution(a=0.7))


def test_a_tuned_solution_is_asked_at_its_own_mu_alone(solution, tmp_path):
    tuned = dataclasses.replace(solution, tuned_at=(1.4, 0.5))
    with pytest.raises(InputError, match="is not inverted over all"):
        tuned.invert({0: 3.5}, noise=0.1)
    with pytest.raises(InputError, match="is not exported over all"):
        tuned.export(tmp_path / "out")


def test_a_tuned_solution_stays_tuned(solution, tmp_path):
    tuned = dataclasses.replace(solution, tuned_at=(1.4, 0.5))
    tuned.save(tmp_path / "model")
    assert load_eigensolution(tmp_path / "model", FOUR).tuned_at == (1.4, 0.5)


class Stiffer(Wells):
    """Another potential of the same name is one."""

    def single(self, y, i, mu):
        return 2.0 * y * y


OTHERS = {
    "another kind": (lambda: PLAIN, "one of CoupledOscillator, not of PlainCoupledOscillator"),
    "another dimension": (lambda: CoupledOscillator.create(5), "has 4 dimensions, the potential 5"),
    "another box": (
        lambda: CoupledOscillator.create(4, parameters=Uniform(mu1=(0.8, 1.3), mu2=(0.2, 0.72))),
        "parameters",
    ),
}


@pytest.mark.parametrize(("potential", "message"), OTHERS.values(), ids=OTHERS)
def test_a_solution_of_another_potential_is_refused(trained, potential, message):
    with pytest.raises(InputError, match=message):
        load_eigensolution(trained.out, potential())


def test_a_potential_that_was_changed_is_refused(tmp_path):
    untrained(Wells(2)).save(tmp_path / "model")
    changed = type("Wells", (Stiffer,), {"__module__": __name__})
    with pytest.raises(InputError, match="is not the potential that was solved"):
        load_eigensolution(tmp_path / "model", changed(2))


def test_a_damaged_solution_is_refused(trained, tmp_path):
    out = shutil.copytree(trained.out, tmp_path / "run")
    (file,) = (out / "model").glob("*.safetensors")
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(CorruptedFile):
        load_eigensolution(out, FOUR)


# Drawn


def test_pictures_are_drawn(trained):
    plot = trained.solution.plot
    for figure in (plot(), plot.levels(), plot.densities(), plot.error_over_parameters()):
        assert figure.axes
    with pytest.raises(InputError, match="no history"):
        load_eigensolution(trained.out, FOUR).plot.convergence()
