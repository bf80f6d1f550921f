"""Trust in the page is that of PRISM: exactly on the nodes of its grid, and about as between them."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from solution.explorer.script import ask
from solution.networks import random_network

from prism.families import SineGordon
from prism.networks.lifts.parts import Dense
from prism.networks.model import Architecture
from prism.numerics.keys import Purpose, stream
from prism.solution.explorer.content import network_content
from prism.solution.explorer.subject import Subject
from prism.solution.explorer.trust_map import reports, trust_map
from prism.solution.rings import Fit, Ring
from prism.solution.solution import Solution
from prism.solution.trust import Calibration, judge

FITS = (
    Ring(0.0, 0.0, 100, Fit(-1.0, (None,) * 4, -0.2, 0.3)),
    Ring(0.0, 0.25, 100, Fit(-0.5, (0.1, 0.2, 0.3, None), -0.3, 0.4)),
    Ring(0.25, 0.5, 10, None),
)


@pytest.fixture(scope="module")
def told():
    """A solution, a calibration, and the content of a page that knows both."""
    family = SineGordon.create(3, stream(0, Purpose.PROBLEM))
    solution = Solution(random_network(family, Architecture(Dense(3), 3, 2, 3, 1)), family)
    calibration, count = Calibration((0.1, 0.5, 2.0), FITS), []
    subject = Subject(solution.model, family, solution.limits)
    found = trust_map(subject, calibration, lambda: count.append(1))
    assert len(count) == reports(subject)
    content = {**network_content(subject), "trust": found}
    return solution, calibration, {**content, "parameters": [], "slices": {"lift": [], "coordinates": []}}


INSIDE, ABOVE = (0.75, 1.25), (1.625, 1.0)
"""Nodes of the grid, whose step is an eighth of the box: inside, and beyond an end of the first parameter."""


@pytest.mark.parametrize("mu", [INSIDE, ABOVE], ids=["inside", "outside"])
def test_on_the_grid_it_is_that_of_the_solution(mu, told):
    solution, calibration, content = told
    (found,) = ask(content, ("trust", {"mu": mu}))
    truth = judge(solution.model, solution.family, jnp.asarray(mu), calibration)
    assert found["inside"] == truth.inside
    np.testing.assert_allclose(found["beyond"], list(truth.beyond.values()), atol=1e-9)
    np.testing.assert_allclose(found["residual"], truth.residual, rtol=1e-6)  # kept in single precision
    assert found["quantile"] == pytest.approx(truth.quantile)
    np.testing.assert_allclose(
        [found["error"], found["low"], found["high"]], [truth.error, *truth.error_interval], rtol=1e-6
    )


UNKNOWN_SIDE, UNKNOWN_RING, FAR = (0.5, 1.625), (0.125, 1.0), (3.0, 1.0)


@pytest.mark.parametrize("mu", [UNKNOWN_SIDE, UNKNOWN_RING, FAR], ids=["side", "ring", "beyond all rings"])
def test_where_nothing_is_known_no_error_is_claimed(mu, told):
    solution, calibration, content = told
    (found,) = ask(content, ("trust", {"mu": mu}))
    assert judge(solution.model, solution.family, jnp.asarray(mu), calibration).error is None
    assert "error" not in found
    assert "too few" in found["reason"]


def test_between_nodes_the_residual_is_interpolated_as_well_as_it_says(told):
    solution, calibration, content = told
    mu = (0.83, 1.31)
    (found,) = ask(content, ("trust", {"mu": mu}))
    truth = judge(solution.model, solution.family, jnp.asarray(mu), calibration).residual
    assert abs(found["residual"] / truth - 1.0) < 3.0 * content["trust"]["interpolation_error"] + 1e-6


def test_of_a_tuned_solution_the_page_tells_what_is_known_at_its_mu(told):
    """Also far beyond the sliders."""
    solution, calibration, content = told
    mu = np.asarray([2.0, 1.0])
    tuned = replace(solution, tuned_at=jnp.asarray(mu))
    subject = Subject(tuned.model, tuned.family, tuned.limits)
    assert reports(subject) == 0
    sides = [{"name": name, "low": 0.5, "high": 1.5} for name in ("mu1", "mu2")]
    page = {
        **content,
        **network_content(subject),
        "parameters": sides,
        "trust": trust_map(subject, calibration, lambda: None),
    }
    (found,) = ask(page, ("trust", {"mu": mu.tolist()}))
    truth = judge(solution.model, solution.family, jnp.asarray(mu), calibration)
    assert (found["inside"], found["tuned"]) == (True, True)
    assert found["residual"] == pytest.approx(truth.residual)
    assert (found.get("error"), "error" in found) == (truth.error, truth.error is not None)
