"""The slopes' step of coefficients that belong to places: its rows against automatic differentiation, its solution
against least squares written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close

from prism.derivatives.estimators import Gram
from prism.families import SineGordon
from prism.networks.lifts.parts import Dense, Norm, Sites
from prism.networks.model import Architecture, Model
from prism.objective.batches import Sampling
from prism.objective.rows import Objective
from prism.training.natural.linear_rows import linear_rows
from prism.training.natural.site_steps import own_sites, site_steps

FAMILY = SineGordon.create(7, KEY, scaled=True)
LIFTS = {
    "windows": Sites(2, 3, hidden=4),
    "groups, two channels": Sites(2, 2, 2, groups=((0, 3), (6, 1), (2, 3)), hidden=3),
    "beside others": Dense(2) + Norm() + Sites(3, 2, hidden=3),
}
every_lift = pytest.mark.parametrize("lift", LIFTS.values(), ids=LIFTS)


def network(lift) -> Model:
    return Model.create(Architecture(lift, 3, 2, 3, 1), FAMILY.domain, FAMILY.parameters, KEY)


def features(group, modulations, y):
    """φ at one place, without jets."""
    first, second = modulations
    h = jnp.tanh(first.gamma * (y @ group.network.first + group.network.first_bias) + first.beta)
    return jnp.sin(second.gamma * (h @ group.network.second + group.network.second_bias) + second.beta)


@every_lift
def test_rows_are_the_slopes_of_what_a_place_adds(lift):
    model, x, mu = network(lift), FAMILY.domain.sample(KEY), FAMILY.parameters.middle()
    (group,) = own_sites(model)
    modulations = model.lift_modulation_of(group, mu)
    by_value, by_top = jnp.linspace(0.5, 1.5, group.channels), jnp.linspace(-2.0, 1.0, group.channels)
    phi = lambda inside: features(group, modulations, inside / group.unit)
    half = lambda inside: jnp.trace(jax.hessian(phi)(inside), axis1=1, axis2=2) / 2
    row = lambda inside: jnp.outer(phi(inside), by_value) + jnp.outer(half(inside), by_top)
    expected = jax.vmap(jax.jacfwd(row))(x[group.places])
    close(group.slope_rows(x, modulations, by_value, by_top), jnp.moveaxis(expected, 3, 0))


@every_lift
def test_every_place_solves_its_own_least_squares(lift):
    model = network(lift)
    objective = Objective(FAMILY, Gram(), jnp.ones(()), Sampling(12, 12))
    batch = objective.draw(model, KEY)
    rows, pairs = linear_rows(objective, model, batch), batch.pairs()
    (group,), ((step),) = own_sites(model), site_steps(model, pairs, rows.by_lifted, rows.slopes, 1e-9)
    start = model.lift.linear + sum(other.channels for other in model.lift.groups if other is not group)
    channels = slice(start, start + group.channels)
    own = jax.vmap(lambda x, mu, p, t: group.slope_rows(x, model.lift_modulation_of(group, mu), p, t))(
        pairs.points, pairs.parameters, rows.by_lifted.value[:, channels], rows.by_lifted.frames[0].top[:, channels]
    )
    for place, coordinates in enumerate(group.places):
        matrix = np.asarray(own[:, :, place]).reshape(-1, step[0].size)
        target = np.asarray(rows.slopes[:, coordinates]).reshape(-1)
        expected = -np.linalg.lstsq(matrix, target)[0]
        close(step[place].reshape(-1), expected, 1e-4)
