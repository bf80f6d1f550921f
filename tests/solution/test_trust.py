"""Trust: residual, envelopes and calibration are what they say, and the study counts rightly."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, roughened

import prism
from prism import trust
from prism.cli import main
from prism.families import SineGordon
from prism.networks.model import Architecture, Model
from prism.networks.modulation import FILM, NONE
from prism.solution.solution import Solution
from prism.solving.settings import Settings
from prism.studies import trust as study

FAMILY = SineGordon.create(8, KEY)
MU = jnp.asarray([2.0, 0.7])


class WithoutExact(prism.Family):
    """Δu = μ in the ball."""

    domain: prism.Ball
    parameters = prism.LogUniform(mu=(1.0, 10.0))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap - mu.mu

    def constraint(self):
        return prism.vanishing(self.domain)


def solution_of(family, modulation=FILM) -> Solution:
    architecture = Architecture(5, 4, 3, 6, 2, modulation)
    shapes = eqx.filter_eval_shape(Model.create, architecture, family.domain, family.parameters, KEY)
    return Solution(roughened(shapes), family)


@pytest.fixture(scope="module")
def solution():
    return solution_of(FAMILY)


def test_predicting_nothing_has_residual_one():
    silent = Model.silent(FAMILY.domain, FAMILY.parameters)
    close(trust.scaled_residuals(silent, FAMILY, MU[None]), np.ones(1), 1e-12)


def test_the_residual_is_relative_to_that_of_nothing(solution):
    """For Δu = μ, u = 0 has the residual −μ everywhere."""
    family, mu = WithoutExact(prism.Ball(3)), jnp.asarray([4.0])
    model = solution_of(family).model
    points = jax.vmap(family.domain.sample)(jax.random.split(trust.stream(0, trust.TRUST), trust.POINTS))
    u = lambda x: Solution(model, family)(x, mu=4.0)
    laplacian = jax.vmap(lambda x: jnp.trace(jax.hessian(u)(x)))(points)
    close(trust.scaled_residuals(model, family, mu[None])[0], jnp.sqrt(jnp.mean((laplacian - 4.0) ** 2)) / 4.0, 1e-9)


@pytest.mark.parametrize("modulation", [FILM, NONE], ids=["film", "none"])
def test_envelopes_are_spectral_norms(modulation):
    model = solution_of(FAMILY, modulation).model
    matrices = [model.lift.weight[:, :5].T, *model.manifold.weights]
    gammas = [1.0 if m.gamma is None else m.gamma[:, None] for m in model.modulation(MU)]
    norms = [np.linalg.norm(np.asarray(g * w), 2) for g, w in zip(gammas, matrices, strict=True)]
    norms.append(np.linalg.norm(model.amplitude * model.manifold.readout))
    close(trust.envelopes(model, MU), np.maximum(norms, 1.0))


def test_an_answer_at_one_parameter(solution):
    found = solution.trust(mu1=2.0, mu2=0.7)
    assert not found.inside
    assert found.beyond == {"mu1": 0.5, "mu2": 0.0}
    calibration = trust.calibration_of(solution)
    assert trust.calibration_of(solution) is calibration, "fitted once"
    assert found.quantile == np.mean(np.asarray(calibration.residuals) < found.residual)
    close(found.error, calibration.ratio * found.residual)
    low, high = found.error_interval
    assert low < found.error < high
    assert "mu1 by 0.50 box widths" in found.describe()[0]
    assert solution.trust(mu1=1.0, mu2=1.0).inside


def test_the_ratio_is_the_geometric_mean(solution):
    held_out = jax.vmap(FAMILY.parameters.sample)(
        jax.random.split(jax.random.fold_in(trust.stream(0, trust.TRUST), 1), 3)
    )
    fitted = trust.calibrate(solution, 3)
    key = jax.random.fold_in(trust.stream(0, trust.TRUST), 2)
    points = jax.vmap(FAMILY.domain.sample)(jax.random.split(key, trust.ERROR_POINTS))
    ratios = []
    for mu, scaled in zip(held_out, fitted.residuals, strict=True):
        exact = jax.vmap(lambda x, mu=mu: FAMILY.exact(x, FAMILY.parameters.named(mu)))(points)
        error = solution(points, mu1=mu[0], mu2=mu[1]) - exact
        ratios.append(np.log(np.linalg.norm(error) / np.linalg.norm(exact) / scaled))
    close(fitted.ratio, np.exp(np.mean(ratios)), 1e-9)
    close(fitted.spread, np.std(ratios, ddof=1), 1e-9)


def test_without_an_exact_solution_no_error_is_claimed():
    found = solution_of(WithoutExact(prism.Ball(3))).trust(mu=100.0)
    assert found.error is None
    assert found.error_interval is None
    close(found.beyond["mu"], 1.0)
    assert "unknown" in found.describe()[2]


def test_the_command_calibrates_once(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(trust, "PARAMETERS", 4)
    run = tmp_path / "run"
    size = ("--width", "4", "--lift-width", "4", "--depth", "1", "--points", "8", "--steps", "2")
    assert main(["solve", "sine-gordon", "--dim", "8", *size, "--out", str(run)]) == 0
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
    (run / "trust.json").write_text("[]")
    assert main([*query, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == report, "a damaged calibration is fitted again"
    assert main(["trust", str(run), "--mu", "mu1=1.0"]) == 2
    assert "no value for mu2" in capsys.readouterr().err


@pytest.mark.slow
def test_the_study(monkeypatch, tmp_path, capsys):
    small = Settings(optimiser=prism.Adam(), architecture=Architecture(4, 4, 1, 4, 1), sampling=prism.Sampling(4, 4))
    for name, value in {"DIMENSION": 6, "SECONDS": 0.05, "QUERIES": 12, "SETTINGS": small}.items():
        monkeypatch.setattr(study, name, value)
    assert main(["bench", "trust", "--out", str(tmp_path / "out"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [row["inside"] for row in record["rows"]] == [True] * 6 + [False] * 6
    assert (tmp_path / "out" / "table.md").read_text().count("\n") == 7
    assert (tmp_path / "out" / "figure.png").stat().st_size > 1000


def test_rank_correlation():
    assert study.rank_correlation(np.asarray([1.0, 3.0, 2.0]), np.asarray([10.0, 1000.0, 20.0])) == pytest.approx(1.0)
    assert study.rank_correlation(np.arange(5.0), -(np.arange(5.0) ** 3)) == pytest.approx(-1.0)
