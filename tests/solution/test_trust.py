"""Trust: residual, envelopes and calibration are what they say."""

import json
import shutil
from dataclasses import asdict

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, linear
from solution.networks import random_network

import prism
from prism.cli import main
from prism.errors import FailedRun
from prism.families import SineGordon
from prism.files.reading import converted
from prism.networks.model import Architecture
from prism.networks.modulation import FILM, NONE
from prism.numerics.keys import Purpose, child, item, items, stream
from prism.objective.residuals import solution_value
from prism.solution import trust
from prism.solution.rings import BOUNDS, FEWEST, sides
from prism.solution.solution import Solution
from prism.solution.trust import Calibration, judge

FAMILY = SineGordon.create(8, KEY)
MU = jnp.asarray([2.0, 0.7])
TRUST = stream(0, Purpose.TRUST)


class WithoutExact(prism.Family):
    """Δu = μ in the ball."""

    domain: prism.Ball
    parameters = prism.LogUniform(mu=(1.0, 10.0))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap - mu.mu

    def constraint(self):
        return prism.vanishing(self.domain)


class OnOneSide(prism.Family):
    """Δu = −2dμ in the ball, solved by μ(1 − |x|²); written such that it exists for positive μ alone."""

    domain: prism.Ball
    parameters = prism.Uniform(mu=(1.0, 3.0))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap + 2 * self.domain.dimension * mu.mu

    def constraint(self):
        return prism.vanishing(self.domain)

    def exact(self, x, mu):
        return jnp.sqrt(mu.mu) ** 2 * (1.0 - jnp.sum(x**2))


def solution_of(family, modulation=FILM) -> Solution:
    return Solution(random_network(family, Architecture(linear(5), 4, 2, 3, 1, modulation)), family)


@pytest.fixture(scope="module")
def solution():
    return solution_of(FAMILY)


def test_predicting_nothing_has_residual_one(solution):
    silent = solution.model.constant(jnp.zeros(()))
    close(trust.scaled_residuals(silent, FAMILY, MU[None]), np.ones(1), 1e-12)


def test_the_residual_is_relative_to_that_of_nothing():
    """For Δu = μ, u = 0 has the residual −μ everywhere."""
    family, mu = WithoutExact(prism.Ball(3)), jnp.asarray([4.0])
    solution = solution_of(family)
    keys = items(child(child(TRUST, Purpose.CHECK), Purpose.POINTS), trust.POINTS)
    u = lambda x: solution(x, mu=4.0)
    laplacian = jax.jit(jax.vmap(lambda x: jnp.trace(jax.hessian(u)(x))))(jax.vmap(family.domain.sample)(keys))
    found = trust.scaled_residuals(solution.model, family, mu[None])
    close(found[0], jnp.sqrt(jnp.mean((laplacian - 4.0) ** 2)) / 4.0, 1e-9)


@pytest.mark.parametrize("modulation", [FILM, NONE], ids=["film", "none"])
def test_envelopes_are_spectral_norms(modulation):
    model = solution_of(FAMILY, modulation).model
    matrices = [model.lift.weight[:, :5].T, *model.manifold.weights]
    gammas = [1.0 if m.gamma is None else m.gamma[:, None] for m in model.modulation(MU)]
    norms = [np.linalg.norm(np.asarray(g * w), 2) for g, w in zip(gammas, matrices, strict=True)]
    norms.append(np.linalg.norm(model.amplitude * model.manifold.readout))
    close(trust.envelopes(model, MU), np.maximum(norms, 1.0))


@pytest.fixture(scope="module")
def calibration(solution):
    return trust.calibrate(solution.model, FAMILY, FEWEST)


def test_an_answer_at_one_parameter(solution, calibration):
    found = judge(solution.model, FAMILY, MU, calibration)
    assert not found.inside
    assert found.beyond == {"mu1": 0.5, "mu2": 0.0}
    assert found.ring == (0.25, 0.5)
    assert found.quantile == np.mean(np.asarray(calibration.residuals) < found.residual)
    fit = calibration.rings[2].fit
    ratio = fit.centre + 0.5 * fit.slopes[2]
    close(found.error, np.exp(ratio) * found.residual)
    close(found.error_interval, found.residual * np.exp([ratio + fit.low, ratio + fit.high]))
    assert "mu1 by 0.50 box widths" in found.describe()[0]
    assert f"95 % interval, calibrated on {FEWEST} parameters outside by 0.25 to 0.5 box widths" in found.describe()[2]
    within = judge(solution.model, FAMILY, jnp.asarray([1.0, 1.0]), calibration)
    assert within.inside
    assert within.ring == (0.0, 0.0)
    assert "parameters inside the box" in within.error_basis


def test_beyond_one_width_no_error_is_claimed(solution, calibration):
    found = judge(solution.model, FAMILY, jnp.asarray([2.6, 1.0]), calibration)
    assert found.ring is found.error is found.error_interval is None
    assert "unknown: μ is not within 1 box width of the box" in found.describe()[2]


def test_a_calibration_is_fitted_to_the_errors_of_each_ring(solution, calibration):
    """The middle ring again: its μ, the points of the chunks they are in, and log(error / ρ) by hand."""
    keys = items(child(item(child(TRUST, Purpose.QUERIES), 2), Purpose.PARAMETERS), trust.CANDIDATES * FEWEST)
    sample = lambda key: trust.sample_outside(FAMILY.parameters, jnp.asarray(0.25), jnp.asarray(0.5), key)
    held_out = jax.vmap(sample)(keys)[:FEWEST]
    scaled = trust.scaled_residuals(solution.model, FAMILY, held_out)

    @jax.jit
    def error(mu, chunk):
        point_keys = items(item(child(TRUST, Purpose.EVALUATION), chunk), trust.ERROR_POINTS)
        points = jax.vmap(FAMILY.domain.sample)(point_keys)
        exact = jax.vmap(lambda x: FAMILY.exact(x, FAMILY.parameters.named(mu)))(points)
        wrong = jax.vmap(lambda x: solution_value(solution.model, FAMILY, x, mu))(points) - exact
        return jnp.linalg.norm(wrong) / jnp.linalg.norm(exact)

    chunks = (2 * FEWEST + np.arange(FEWEST)) // trust.CHUNK
    logs = [np.log(error(mu, chunk) / rho) for mu, chunk, rho in zip(held_out, chunks, scaled, strict=True)]
    beyond = np.asarray(jax.vmap(lambda mu: sides(FAMILY.parameters, mu))(held_out))
    expected = trust.Ring.of(BOUNDS[2], beyond, np.asarray(logs))
    found = calibration.rings[2]
    close([found.fit.centre, found.fit.low, found.fit.high], [expected.fit.centre, expected.fit.low, expected.fit.high])
    close(found.fit.slopes, expected.fit.slopes, 1e-6)


@pytest.mark.slow
def test_only_parameters_with_a_finite_solution_are_drawn():
    """Below 0, half a width under the box, the family has none."""
    family = OnOneSide(prism.Ball(3))
    far = trust.held_out_around(family, 0.5, 1.0, 40, KEY)
    assert np.all(np.asarray(far) > 3.0)
    model = solution_of(family).model
    calibration = trust.calibrate(model, family, 48)
    assert calibration.rings[3].fit.slopes[0] is None
    below, above = (judge(model, family, jnp.asarray([mu]), calibration) for mu in (-0.5, 4.5))
    assert below.error is None
    assert "beyond the same side" in below.describe()[2]
    assert above.error > 0.0


def test_a_ring_with_few_finite_values_claims_nothing(solution):
    calibration = trust.calibrate(solution.model, FAMILY, 3)
    found = judge(solution.model, FAMILY, MU, calibration)
    assert found.error is None
    assert found.ring == (0.25, 0.5)
    assert "3 of the parameters drawn outside by 0.25 to 0.5 box widths" in found.error_basis


def test_a_residual_that_is_not_finite_claims_nothing(calibration):
    assert calibration.estimate(float("nan"), np.zeros(4)).error is None


def test_a_calibration_survives_json(calibration):
    assert converted(json.loads(json.dumps(asdict(calibration))), Calibration) == calibration


def test_what_a_calibration_costs_is_bounded():
    """μ in all rings, times points, times dimensions."""
    for dimension in (100, 10_000, 100_000, 1_000_000):
        count = trust.affordable_parameters(OnOneSide(prism.Ball(dimension)))
        assert FEWEST <= count <= trust.PARAMETERS
        assert count * len(BOUNDS) * 16 * dimension < 3e9
    assert trust.affordable_parameters(FAMILY) == trust.PARAMETERS


def test_chunks_change_nothing(solution, monkeypatch):
    mus = jnp.asarray([[1.0, 1.0], [2.0, 0.7], [0.2, 0.9]])
    whole = trust.scaled_residuals(solution.model, FAMILY, mus)
    monkeypatch.setattr(trust, "CHUNK", 2)
    close(trust.scaled_residuals(solution.model, FAMILY, mus), whole, 1e-12)


def test_without_an_exact_solution_no_error_is_claimed():
    solution = solution_of(WithoutExact(prism.Ball(3)))
    found = judge(solution.model, solution.family, jnp.asarray([100.0]), Calibration((0.5,), ()))
    assert found.error is found.error_interval is found.ring is None
    assert solution.calibration.rings == ()
    with pytest.raises(FailedRun, match=r"the residual is not finite at mu = -1"):  # whose logarithm does not exist
        solution.trust(mu=-1.0)
    close(found.beyond["mu"], 1.0)
    assert "unknown" in found.describe()[2]


def test_the_command_calibrates_once(finished, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(trust, "PARAMETERS", FEWEST)
    monkeypatch.setattr(trust, "FEWEST_PARAMETERS", FEWEST)
    run = shutil.copytree(finished, tmp_path / "run")
    query = ["trust", str(run), "--mu", "mu1=1.0", "mu2=1.2"]
    assert main([*query, "--json"]) == 0
    first = capsys.readouterr()
    assert "calibrating" in first.err
    report = json.loads(first.out.splitlines()[-1])
    assert report["inside"]
    assert report["error"] > 0
    assert main(query) == 0
    second = capsys.readouterr()
    assert "calibrating" not in second.err
    assert "estimated error" in second.out
    whole = json.loads((run / "trust.json").read_text())
    kept = whole["calibration"]
    assert [(ring["inner"], ring["outer"]) for ring in kept["rings"]] == list(BOUNDS)
    changed = lambda **entries: {**whole, "calibration": {**kept, **entries}}
    old = {"model": whole["model"], "residuals": [0.1], "ratio": 0.5, "spread": 0.1}
    fitted_again = lambda *_: converted(kept, Calibration)
    monkeypatch.setattr(Solution, "calibration", property(fitted_again))
    of_others = [{**ring, "fit": {**ring["fit"], "slopes": [0.0]}} for ring in kept["rings"]]
    another_digit = [*kept["residuals"][:-1], 1.5 * kept["residuals"][-1]]
    for content in (
        [],
        old,
        changed(rings=[{"inner": 0.0}]),
        changed(rings=of_others),
        changed(residuals=[]),
        changed(residuals=[True]),
        changed(residuals=another_digit),
    ):
        (run / "trust.json").write_text(json.dumps(content))
        assert main([*query, "--json"]) == 0
        again = capsys.readouterr()
        assert "calibrating" in again.err, "an old or damaged calibration is fitted again"
        assert json.loads(again.out.splitlines()[-1]) == report
        assert json.loads((run / "trust.json").read_text()) == whole
    assert main(["trust", str(run), "--mu", "mu1=1.0"]) == 2
    assert "no value for mu2" in capsys.readouterr().err
