"""Families in time: their motion, their initial state, and that the parameter matters."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import EVOLUTION_FAMILIES, KEY, D, close, linear, name_of, samples, small_model

from prism.errors import InputError
from prism.families import Convection, ReactionDiffusion
from prism.families.evolution import turned, turning
from prism.networks.model import Architecture, Model
from prism.objective.residuals import solution_value
from prism.problem.checks.family import check_family
from prism.problem.domains import Ball
from prism.solution.evaluation import evaluate

every_family = pytest.mark.parametrize("family", EVOLUTION_FAMILIES, ids=name_of)
KINDS = [type(family) for family in EVOLUTION_FAMILIES]


@pytest.mark.parametrize("dimension", [4, 5])
def test_turning_is_a_rotation_and_its_velocity(dimension):
    x, angle = samples(Ball(dimension), 1)[0], jnp.asarray(0.7)

    @jax.jit
    def pairs():
        there, velocity = jax.jvp(lambda a: turned(x, a), (angle,), (jnp.ones(()),))
        quarter, planes = turned(x, jnp.asarray(np.pi / 2)), dimension // 2 * 2
        return {
            "norm": (jnp.linalg.norm(there), jnp.linalg.norm(x)),
            "inverse": (turned(there, -angle), x),
            "velocity": (velocity, turning(there)),
            "quarter": (quarter[:planes], turning(x)[:planes]),
        }

    for name, (found, expected) in pairs().items():
        close(found, expected, name=name)


@every_family
def test_every_network_starts_from_the_initial_state(family):
    model = small_model(family.domain, parameters=family.parameters)

    @eqx.filter_jit
    def both(x, mu):
        exact = lambda place, m: family.exact(place, family.parameters.named(m))
        start = x.at[:, -1].set(0.0)
        found = jax.vmap(lambda place, m: solution_value(model, family, place, m))(start, mu)
        return found, jax.vmap(exact)(start, mu)

    found, exact = both(samples(family.domain, 4), samples(family.parameters, 4))
    close(found, exact)


@pytest.mark.slow
@every_family
def test_the_family_passes_its_checks(family):
    check_family(family, KEY)


@pytest.mark.parametrize("dimension", [10, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_neither_the_constraint_nor_the_mean_over_parameters_is_an_answer(kind, dimension):
    family = kind.create(dimension, KEY)
    model = Model.create(Architecture(linear(4), 4, 2, 4, 1), family.domain, family.parameters, KEY)
    found = evaluate(model, family, KEY, points=1_000)
    assert found.trivial_error > 0.3
    assert found.mu_blind_error > 0.3


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_direction_is_a_unit_vector_of_the_key(kind):
    one, same, other = (kind.create(D, key).direction for key in (KEY, KEY, jax.random.fold_in(KEY, 1)))
    close(one @ one, 1.0)
    np.testing.assert_array_equal(one, same)
    assert not np.any(np.asarray(one) == np.asarray(other))


def test_the_front_moves_at_its_speed():
    """u is a function of k·x − 5 √(ρν/6) t, the speed of this front."""
    family = ReactionDiffusion.create(D, KEY)
    mu = family.parameters.named(jnp.asarray([4.0, 0.6]))
    x, time = samples(family.domain, 1)[0], 0.3
    ahead = x.at[:-1].add(5.0 * np.sqrt(4.0 * 0.6 / 6.0) * time * family.direction).at[-1].add(time)
    close(family.exact(ahead, mu), family.exact(x, mu))


def test_one_dimension_has_nothing_to_turn():
    with pytest.raises(InputError, match="Convection needs 2 space dimensions or more, not 1"):
        Convection.create(1, KEY)
