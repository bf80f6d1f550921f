"""Hamilton-Jacobi-Bellman families: their exact solutions solve, and end at the terminal cost."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import CONTROL_FAMILIES, KEY, close, name_of, oracle, samples

from prism.families import HJBRosenbrock
from prism.networks.model import Architecture, Model
from prism.objective.residuals import solution_value
from prism.problem.checks.family import check_family
from prism.problem.family import Derivatives
from prism.problem.terms import constrained_value, diffusivity
from prism.solving.settings import Settings
from prism.solving.symmetry import norm_lift, with_norms

every_family = pytest.mark.parametrize("family", CONTROL_FAMILIES, ids=name_of)


@every_family
def test_the_exact_solution_solves(family):
    @jax.jit
    @jax.vmap
    def residual(x, mu):
        named, exact = family.parameters.named(mu), lambda y: family.exact(y, family.parameters.named(mu))
        terms = {name: oracle(operator, family.domain, exact, x, named) for name, operator in family.terms.items()}
        return family.residual(Derivatives(exact(x), terms), x, named), terms["lap"]

    found, laplacian = residual(samples(family.domain, 4), samples(family.parameters, 4))
    # Few nodes leave 1e-6 of u in 40 dimensions, and less in more.
    assert np.max(np.abs(found)) < 1e-5 * np.max(np.abs(laplacian))


@every_family
def test_every_network_ends_at_the_terminal_cost(family):
    lift = norm_lift(family)
    model = Model.create(Architecture(lift, 4, 2, 4, 1, linear_lift=True), family.domain, family.parameters, KEY)
    at = jax.vmap(lambda x, mu: (solution_value(model, family, x, mu), family.exact(x, family.parameters.named(mu))))
    found, exact = jax.jit(at)(samples(family.domain, 4).at[:, -1].set(1.0), samples(family.parameters, 4))
    close(found, exact, 1e-9)


@pytest.mark.slow
@every_family
def test_the_family_passes_its_checks(family):
    check_family(family, KEY)
    close(diffusivity(family), -1.0)


@every_family
def test_the_limit_of_many_dimensions_is_near(family):
    """N = 0 is the large-d limit: in 40 dimensions 1 % off."""
    at = lambda x, mu: (constrained_value(family, jnp.zeros(()), x, mu), family.exact(x, family.parameters.named(mu)))
    limit, exact = jax.jit(jax.vmap(at))(samples(family.domain, 10), samples(family.parameters, 10))
    assert 1e-5 < np.max(np.abs(limit - exact)) / np.max(np.abs(exact)) < 0.02


def test_the_weights_of_the_two_sums_belong_to_the_problem():
    family, same = (HJBRosenbrock.create(9, KEY) for _ in range(2))
    np.testing.assert_array_equal(family.first_weights, same.first_weights)
    assert not np.any(np.asarray(family.first_weights) == np.asarray(family.second_weights))
    x = samples(family.domain, 1)[0]
    a, b, space = family.first_weights, family.second_weights, x[:-1]
    close(family.norms[0](x), jnp.sum(a * (space[:-1] - space[1:]) ** 2))
    close(family.norms[1](x), jnp.sum(b * space[1:] ** 2))


@every_family
def test_a_network_of_norms_is_what_is_taken(family):
    told = []
    chosen = with_norms(family, Settings.choose(family), told.append)
    assert chosen is not None
    assert chosen.architecture.lift == norm_lift(family)
    assert len(told) == 1
