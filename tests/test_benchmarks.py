"""The peer that steps are timed against solves the same equation, and the script that times them runs."""

import importlib
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, linear

from prism.derivatives.estimators import Exact
from prism.families import SineGordon
from prism.networks.model import Architecture
from prism.networks.modulation import NONE
from prism.numerics.keys import items
from prism.objective.batches import Sampling
from prism.objective.rows import Objective
from prism.solving.preparation import first_state
from prism.solving.settings import Settings

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def step_time(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("step_time")


def test_the_reference_has_the_loss_of_the_engine(step_time):
    """With as many coordinates as the problem has, both take all of them."""
    family = SineGordon.create(step_time.DIRECTIONS, KEY)
    network = Architecture(linear(4, 0), 4, 2, modulation=NONE)
    state = first_state(family, Settings.choose(family, architecture=network))
    model, scale = state.model, state.objective.scale
    ours = Objective(family, Exact(), scale, Sampling(7, 7))
    theirs = step_time.OneHotJet(family, scale)

    @jax.jit
    def losses():
        batch = ours.draw(model, KEY)
        plain = step_time.PlainBatch(batch.points, batch.parameters, items(KEY, 1)[0], jnp.zeros((), jnp.int32))
        return ours.loss(model, batch), theirs.loss(model, plain)

    close(*losses())


def test_the_reference_of_the_basket_is_the_mean_payoff(monkeypatch):
    """At four points, against draws in pairs ±Z: within four of their standard errors."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    basket = importlib.import_module("basket")
    draw = np.random.default_rng(0)
    normal = draw.standard_normal((100_000, basket.ASSETS))
    x = np.column_stack([0.3 * draw.standard_normal((4, basket.ASSETS)), [0.0, 0.3, 0.6, 0.95]])
    sigma, r = np.asarray([0.1, 0.2, 0.3, 0.4]), np.asarray([0.0, 0.1, 0.05, 0.02])
    for at, own_sigma, own_r, found in zip(x, sigma, r, basket.reference(x, sigma, r, basket.NODES), strict=True):
        left = 1.0 - at[-1]
        moved = lambda z: at[:-1] + (own_r - own_sigma**2 / 2) * left + own_sigma * np.sqrt(left) * z  # noqa: B023
        gains = sum(np.maximum(np.mean(np.exp(moved(z)), axis=1) - 1.0, 0.0) for z in (normal, -normal)) / 2.0
        worth = np.exp(-own_r * left) * gains
        assert abs(found - worth.mean()) < 4.0 * worth.std() / len(worth) ** 0.5 + 1e-9


@pytest.mark.slow
def test_a_step_of_the_reference_is_taken():
    command = [sys.executable, BENCHMARKS / "step_time.py", "--peak", "jet", "--dims", "16"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.splitlines()[-1]) > 100.0, "its peak memory in MB"
