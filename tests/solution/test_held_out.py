"""What is said of a solution whose truth is not known."""

import equinox as eqx
import jax.numpy as jnp
import pytest
from helpers import linear

import prism
from prism.errors import FailedRun
from prism.networks.model import Architecture, Model
from prism.numerics.keys import root
from prism.objective.batches import Sampling
from prism.solution.held_out import held_out_residual
from prism.solving.runs import execute
from prism.solving.settings import Settings
from prism.training.loop import Budget

KEY = root(3)


class Shifted(prism.Family):
    """Δu + u = a: without a constraint the constant u = a leaves nothing."""

    domain: prism.Ball
    parameters = prism.Uniform(a=(1.0, 1.00001))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap + u.value - mu.a


FAMILY = Shifted(prism.Ball(3))


def network() -> Model:
    return Model.create(Architecture(linear(2), 2, 1, 2, 1), FAMILY.domain, FAMILY.parameters, KEY)


@pytest.mark.parametrize("level", [0.0, 0.25, 1.0])
def test_a_constant_network_leaves_what_it_misses(level):
    found = held_out_residual(network().constant(jnp.asarray(level)), FAMILY, KEY)
    assert abs(found.scaled_residual - (1.0 - level)) < 1e-4  # ten times the width of the parameter's interval
    assert found.trivial_residual < 1e-4


class Asked(Shifted):
    """With a value and a derivative along the normal on the sphere."""

    conditions = {
        "value": prism.Prescribed(prism.Sphere(3), lambda x, mu: mu.a),
        "flux": prism.Prescribed(prism.Sphere(3), lambda x, mu: x[0], along=lambda x: x),
    }


@pytest.mark.parametrize("level", [0.0, 0.25, 1.0])
def test_a_constant_network_misses_fluxes_whole_and_values_in_part(level):
    found = held_out_residual(network().constant(jnp.asarray(level)), Asked(FAMILY.domain), KEY)
    assert abs(found.misses["value"] - (1.0 - level)) < 1e-4
    assert found.misses["flux"] == pytest.approx(1.0)


def test_a_run_without_an_exact_solution_ends_with_the_residual():
    choices = {
        "architecture": Architecture(linear(2), 2, 1, 2, 1),
        "sampling": Sampling(4, 4),
        "optimiser": prism.Adam(),
    }
    outcome = execute(FAMILY, Settings.choose(FAMILY, **choices), Budget(steps=1), show=False)
    report = outcome.report()
    assert report["scaled_residual"] > report["trivial_residual"]
    assert any("trivial answer" in line for line in outcome.describe())


def test_a_network_that_is_no_number_is_not_judged():
    broken = eqx.tree_at(lambda m: m.amplitude, network(), jnp.asarray(jnp.nan))
    with pytest.raises(FailedRun, match="the residual of the trained network is nan on held-out pairs"):
        held_out_residual(broken, FAMILY, KEY)
