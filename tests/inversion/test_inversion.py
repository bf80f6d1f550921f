"""Parameters from data: the data are made by the surrogate itself, so that it is exact and the truth is known."""

import json

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, roughened

import prism
from prism.cli import main
from prism.families import SineGordon, SineGordonBeta
from prism.inversion.fitting import spread
from prism.inversion.surrogate import Surrogate, linearise
from prism.networks.model import Architecture, Model
from prism.networks.modulation import NONE
from prism.reporting.likelihoods import likelihoods
from prism.solution.solution import Solution

FAMILY = SineGordon.create(6, KEY)
TRUTH = {"mu1": 0.8, "mu2": 1.1}


def solution_of(family, **changes) -> Solution:
    architecture = Architecture(5, 4, 2, 6, 2, **changes)
    shapes = eqx.filter_eval_shape(Model.create, architecture, family.domain, family.parameters, KEY)
    return Solution(roughened(shapes), family)


SOLUTION, OF_BETA = solution_of(FAMILY), solution_of(SineGordonBeta.create(6, KEY))


def at(space, truth) -> dict[str, float]:
    return dict(zip(space.names, truth.tolist(), strict=True))


class Analytic(prism.Family):
    """u = g(x, μ) by its constraint, whatever the network is: a surrogate in closed form."""

    domain: prism.Cube
    parameters: prism.ParameterSpace
    formula: object = eqx.field(static=True)
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap + 0.0 * u.value

    def constraint(self):
        return prism.HardConstraint(factor=lambda x, mu: 0.0 * x[0], offset=self.formula)


def analytic(formula, parameters) -> Solution:
    return solution_of(Analytic(prism.Cube(2), parameters, formula))


def draw(solution, seed=0):
    """200 points inside the ball, or near the cube."""
    return jnp.asarray(np.random.default_rng(seed).uniform(-0.4, 0.4, (200, solution.family.domain.coordinates)))


def observe(solution, mu, seed=0, noise=0.01, on_sphere=False) -> prism.Observations:
    """Values at 200 random points of the domain, with noise relative to their rms; absolute where they vanish."""
    points = draw(solution, seed)
    if on_sphere:
        points = points / jnp.linalg.norm(points, axis=1, keepdims=True)
    values = np.asarray(solution(points, **mu))
    size = 1.0 if on_sphere else np.sqrt(np.mean(values**2))
    return prism.Observations(points, values + noise * size * np.random.default_rng(1000 + seed).normal(size=200))


def test_the_lifted_surrogate_is_the_solution():
    points = observe(SOLUTION, TRUTH).points
    for solution in (SOLUTION, analytic(lambda x, mu: mu.a * x[0] + x[1] ** 2, prism.LogUniform(a=(0.1, 10.0)))):
        points = points[:, : solution.family.domain.coordinates]
        space = solution.family.parameters
        low, high = space.uniform_box()
        s = np.linspace(0.2, 0.7, space.size)
        mu = dict(zip(space.names, space.from_uniform_coordinate(low + (high - low) * s), strict=True))
        values, slopes = linearise(Surrogate.create(solution, points), s[None])
        close(values[0], solution(points, **mu))
        moved, _ = linearise(Surrogate.create(solution, points), s[None] + 1e-6 * np.eye(space.size))
        np.testing.assert_allclose((moved - values).T / 1e-6, slopes[0], rtol=1e-3, atol=1e-5)


def test_the_parameters_are_recovered():
    estimate = prism.invert(SOLUTION, observe(SOLUTION, TRUTH))
    for name, value in TRUTH.items():
        low, high = estimate.interval[name]
        assert low < value < high
        assert high - low < 0.05
        assert abs(estimate.values[name] - value) < 0.02
    assert all(estimate.identifiable.values())
    assert not any(estimate.at_edge.values())
    assert not estimate.warnings
    deviation = np.sqrt(np.diag(estimate.covariance))
    widths = [high - low for low, high in estimate.interval.values()]
    np.testing.assert_allclose(widths, 2 * 1.97 * deviation, rtol=0.1)


def test_exact_data_give_the_truth_back():
    estimate = prism.invert(SOLUTION, observe(SOLUTION, TRUTH, noise=0.0))
    np.testing.assert_allclose(list(estimate.values.values()), list(TRUTH.values()), rtol=1e-6)


@pytest.mark.parametrize(("solution", "given"), [(SOLUTION, False), (OF_BETA, True)], ids=["estimated", "given"])
def test_intervals_cover_the_truth_as_often_as_they_say(solution, given):
    """A true 95 % interval leaves these bounds for 0.7 % of the keys."""
    space, generator = solution.family.parameters, np.random.default_rng(0)
    low, high = space.uniform_box()
    uniform = generator.uniform(low, high, (100, space.size))
    truths = np.asarray(space.from_uniform_coordinate(jnp.asarray(uniform)))
    noise = 0.01 * float(np.sqrt(np.mean(np.asarray(solution(draw(solution), **at(space, truths[0]))) ** 2)))
    data = []
    for seed, truth in enumerate(truths):
        points = draw(solution, seed)
        values = np.asarray(solution(points, **at(space, truth)))
        data.append(prism.Observations(points, values + noise * generator.normal(size=200)))
    estimates = prism.invert(solution, data, noise=noise if given else None, starts=4)
    for name, true in zip(space.names, truths.T, strict=True):
        low, high = np.asarray([estimate.interval[name] for estimate in estimates]).T
        assert 88 <= np.sum((low <= true) & (true <= high)) <= 99


OPEN = {
    "a blind network": (solution_of(FAMILY, modulation=NONE), TRUTH, False, ("mu1", "mu2")),
    "points where u = 0": (SOLUTION, TRUTH, True, ("mu1", "mu2")),
    "a sum alone": (
        analytic(lambda x, mu: (mu.a + mu.b) * jnp.sin(x[0]), prism.Uniform(a=(0.0, 1.0), b=(0.0, 2.0))),
        {"a": 0.4, "b": 0.9},
        False,
        ("a − b",),
    ),
    "a product alone": (
        analytic(lambda x, mu: mu.a * mu.b * jnp.sin(x[0]), prism.LogUniform(a=(0.1, 10.0), b=(0.1, 10.0))),
        {"a": 2.0, "b": 0.7},
        False,
        ("log a − log b",),
    ),
}


@pytest.mark.parametrize(("solution", "truth", "on_sphere", "combinations"), OPEN.values(), ids=OPEN)
def test_what_the_data_do_not_determine_is_said_every_time(solution, truth, on_sphere, combinations):
    data = [observe(solution, truth, seed, on_sphere=on_sphere) for seed in range(20)]
    for estimate in prism.invert(solution, data, starts=4):
        assert not any(estimate.identifiable.values())
        assert estimate.interval == solution.family.parameters.bounds()
        assert estimate.covariance is None
        assert estimate.open_directions == combinations
        assert all("not identifiable" in line for line in estimate.summary()[1 : 1 + len(truth)])


def test_vanishing_values_without_noise_tell_nothing():
    points = observe(SOLUTION, TRUTH, on_sphere=True).points
    estimate = prism.invert(SOLUTION, prism.Observations(points, np.zeros(200)))
    assert not any(estimate.identifiable.values())


def test_one_open_parameter_leaves_the_other_its_interval():
    solution = analytic(lambda x, mu: mu.a * x[0] + 1e-6 * mu.b * x[1], prism.Uniform(a=(0.0, 1.0), b=(0.0, 1.0)))
    estimate = prism.invert(solution, observe(solution, {"a": 0.4, "b": 0.5}))
    assert estimate.identifiable == {"a": True, "b": False}
    low, high = estimate.interval["a"]
    assert low < 0.4 < high
    assert high - low < 0.01
    assert estimate.open_directions == ("b",)


def test_a_flat_point_of_the_formula_is_not_taken_for_ignorance():
    solution = analytic(lambda x, mu: mu.a**2 * x[0], prism.Uniform(a=(-1.0, 1.0)))
    data = observe(solution, {"a": 0.001})
    estimate = prism.invert(solution, data, noise=0.01)
    assert estimate.identifiable["a"]
    assert estimate.parameters["a"].method == "profile likelihood"
    assert np.ptp(estimate.parameters["a"].gauss_newton) > 1.0
    end = (1.96 * 0.01 / np.linalg.norm(data.points[:, 0])) ** 0.5  # |a² x₀| = 1.96 noise
    np.testing.assert_allclose(estimate.interval["a"], (-end, end), rtol=0.05)


def test_separate_minima_are_reported_and_covered():
    solution = analytic(lambda x, mu: mu.a**2 * x[0], prism.Uniform(a=(-1.0, 1.0)))
    estimate = prism.invert(solution, observe(solution, {"a": 0.2}))
    assert sorted(round(minimum.values["a"], 2) for minimum in estimate.minima) == [-0.2, 0.2]
    low, high = estimate.interval["a"]
    assert low < -0.2 < 0.2 < high
    assert any("2 separate minima" in warning for warning in estimate.warnings)


def test_a_log_uniform_space():
    for beta in (0.2, 5.0):
        estimate = prism.invert(OF_BETA, observe(OF_BETA, {"beta": beta}))
        low, high = estimate.interval["beta"]
        assert low < beta < high
        assert high / low < 1.3


def test_a_truth_beyond_the_edge():
    solution = analytic(lambda x, mu: mu.a * x[0], prism.Uniform(a=(0.0, 1.0)))
    estimate = prism.invert(solution, observe(solution, {"a": 1.2}), noise=0.01)
    assert estimate.at_edge == {"a": True}
    assert estimate.interval["a"][1] == 1.0
    assert estimate.parameters["a"].open_ended
    assert "at the edge of the trained space" in "\n".join(estimate.summary())
    assert any("do not fit" in warning for warning in estimate.warnings)


def test_noise_is_estimated_and_a_misfit_told():
    data = observe(SOLUTION, TRUTH, noise=0.05)
    size = 0.05 * np.sqrt(np.mean(data.values**2))
    np.testing.assert_allclose(prism.invert(SOLUTION, data).noise, size, rtol=0.15)  # 3 deviations of 200 samples
    fitting, narrow = (prism.invert(SOLUTION, data, noise=factor * size) for factor in (1.0, 0.5))
    assert fitting.p_value > 0.01
    assert not fitting.warnings
    assert narrow.reduced_chi_square > 3
    assert any("do not fit" in warning for warning in narrow.warnings)


def test_an_error_of_the_surrogate_widens_the_interval():
    data = observe(SOLUTION, TRUTH)
    size = 0.01 * np.sqrt(np.mean(data.values**2))
    width = lambda estimate: np.diff(estimate.interval["mu1"])[0]
    plain, wider = prism.invert(SOLUTION, data, noise=size), prism.invert(SOLUTION, data, noise=size, model_error=0.03)
    assert 2 < width(wider) / width(plain) < 6
    assert prism.invert(SOLUTION, data, model_error=0.03).interval["mu1"][0] < plain.interval["mu1"][0]


def test_physics_keeps_away_from_where_the_surrogate_is_wrong():
    solution = analytic(
        lambda x, mu: mu.a**2 * x[0] + jnp.maximum(-mu.a, 0.0) * 1e-3 * x[1] ** 2, prism.Uniform(a=(-1.0, 1.0))
    )
    data = observe(solution, {"a": 0.3}, noise=0.1)
    assert len(prism.invert(solution, data).minima) == 2
    estimate = prism.invert(solution, data, physics=1e9)
    assert len(estimate.minima) == 1
    assert estimate.values["a"] > 0


def test_starts_fill_the_box():
    for unknowns in (1, 2, 5):
        starts = spread(16, unknowns)
        np.testing.assert_allclose(starts[0], 0.5)
        assert np.all((starts >= 0) & (starts < 1))
        for side in starts.T:
            assert np.all(np.histogram(side, 4, (0, 1))[0] >= 3)  # of 16, 4 in the mean


def test_a_picture_of_each_parameter():
    figure = likelihoods(prism.invert(SOLUTION, observe(SOLUTION, TRUTH)))
    assert [axis.get_xlabel() for axis in figure.axes] == ["mu1", "mu2"]


POINTS = np.zeros((3, 6))
WRONG = {
    "no values": ((POINTS[:0], np.zeros(0)), {}, "no observations"),
    "another number": ((POINTS, np.zeros(2)), {}, "are no observations"),
    "not finite": ((POINTS, np.asarray([0.0, np.nan, np.inf])), {}, r"not finite, in row 1, 2 \(from 0\)"),
    "too few": ((POINTS[:2], np.zeros(2)), {}, "too few observations: 2, where 3"),
    "another dimension": ((POINTS[:, :4], np.zeros(3)), {}, "points of 4 coordinates; this solution has 6"),
    "no noise": ((POINTS, np.zeros(3)), {"noise": 0.0}, "a noise of 0 is none"),
    "a negative error": ((POINTS, np.zeros(3)), {"model_error": -1.0}, "model_error is -1"),
    "no start": ((POINTS, np.zeros(3)), {"starts": 0}, "0 starts find nothing"),
}


@pytest.mark.parametrize(("data", "options", "message"), WRONG.values(), ids=WRONG)
def test_bad_data_are_refused(data, options, message):
    with pytest.raises(prism.InputError, match=message):
        prism.invert(SOLUTION, prism.Observations(*data), **options)


SIZE = ("--width", "4", "--lift-width", "4", "--depth", "1", "--points", "8", "--steps", "2", "--optimiser", "adam")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    assert main(["solve", "sine-gordon-beta", "--dim", "6", *SIZE, "--out", str(out)]) == 0
    return out


def test_the_command(finished, tmp_path, capsys):
    points = np.random.default_rng(0).normal(size=(20, 6)) / 4
    np.savetxt(tmp_path / "one.csv", np.column_stack([points, points[:, 0]]), delimiter=",")
    np.savez(tmp_path / "two.npz", points=points, values=points[:, 1])
    files = [str(tmp_path / name) for name in ("one.csv", "two.npz")]
    capsys.readouterr()
    assert main(["invert", str(finished), *files, "--noise", "0.1", "--out", str(tmp_path / "out"), "--json"]) == 0
    told = capsys.readouterr()
    report = json.loads(told.out)
    assert [one["data"] for one in report["estimates"]] == files
    assert set(report["estimates"][0]["parameters"]) == {"beta"}
    assert "20 observations, noise 0.1 (as given)" in told.err
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == report
    for number in (1, 2):
        assert (tmp_path / "out" / "plots" / f"likelihood-{number}.png").stat().st_size > 1000
    assert main(["invert", str(finished), files[0]]) == 0
    assert "beta" in capsys.readouterr().out


MISTAKES = {
    "no such file": (None, "cannot read observations"),
    "an empty file": ("", "no data"),
    "a missing column": ("1,2,3,4,5,6", "points of shape (1, 5); give rows of 6 coordinates and a value"),
    "words": ("a,b", "cannot read observations"),
    "a value that is not finite": ("1,2,3,4,5,6,7\n1,2,3,4,5,6,nan", "not finite, in row 1"),
    "too few": ("1,2,3,4,5,6,7", "too few observations"),
}


@pytest.mark.parametrize(("content", "message"), MISTAKES.values(), ids=MISTAKES)
def test_bad_files_are_refused_in_one_line(content, message, finished, tmp_path, capsys):
    file = tmp_path / "data.csv"
    if content is not None:
        file.write_text(content + "\n" if content else "")
    capsys.readouterr()
    assert main(["invert", str(finished), str(file)]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert len(error.splitlines()) == 1
