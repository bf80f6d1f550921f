"""Trust: residual, envelopes and calibration are what they say."""

import json
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, linear
from solution.networks import random_network

import prism
from prism.cli import main
from prism.families import SineGordon
from prism.networks.model import Architecture
from prism.networks.modulation import FILM, NONE
from prism.numerics.keys import Purpose, child, items, stream
from prism.solution import trust
from prism.solution.solution import Solution

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


def test_an_answer_at_one_parameter(solution):
    found = solution.trust(mu1=2.0, mu2=0.7)
    assert not found.inside
    assert found.beyond == {"mu1": 0.5, "mu2": 0.0}
    calibration = solution.calibration
    assert found.quantile == np.mean(np.asarray(calibration.residuals) < found.residual)
    close(found.error, calibration.ratio * found.residual)
    low, high = found.error_interval
    assert low < found.error < high
    assert "mu1 by 0.50 box widths" in found.describe()[0]
    assert solution.trust(mu1=1.0, mu2=1.0).inside


def test_the_ratio_is_the_geometric_mean(solution):
    held_out = jax.vmap(FAMILY.parameters.sample)(items(child(TRUST, Purpose.PARAMETERS), 3))
    fitted = trust.calibrate(solution.model, FAMILY, 3)
    points = jax.vmap(FAMILY.domain.sample)(items(child(TRUST, Purpose.EVALUATION), trust.ERROR_POINTS))
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


def test_the_command_calibrates_once(finished, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(trust, "PARAMETERS", 4)
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
    (run / "trust.json").write_text("[]")
    assert main([*query, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == report, "a damaged calibration is fitted again"
    assert main(["trust", str(run), "--mu", "mu1=1.0"]) == 2
    assert "no value for mu2" in capsys.readouterr().err
