"""The slopes' step of weights as many as coordinates: its rows against automatic differentiation, its solution against
least squares written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close

from prism.derivatives.estimators import Gram
from prism.errors import InputError
from prism.families import SineGordon
from prism.networks.lifts.parts import Affine, Blocks, Dense, Norm, Sites
from prism.networks.model import Architecture, Model
from prism.objective.batches import Sampling
from prism.objective.rows import Objective
from prism.training.natural.linear_rows import linear_rows
from prism.training.natural.slope_steps import block_step, shares, site_step, slope_steps
from prism.training.natural.spring import Spring

FAMILY = SineGordon.create(7, KEY, scaled=True)
LIFTS = {
    "windows": Sites(2, 3, curved=True, hidden=4),
    "groups, two channels": Sites(2, 2, 2, curved=True, groups=((0, 3), (6, 1), (2, 3)), hidden=3),
    "beside others": Dense(2) + Norm() + Sites(3, 2, curved=True, hidden=3),
}
DAMPING = 1e-4
every_lift = pytest.mark.parametrize("lift", LIFTS.values(), ids=LIFTS)


def network(lift) -> Model:
    return Model.create(Architecture(lift, 3, 2, 3, 1), FAMILY.domain, FAMILY.parameters, KEY)


def features(group, modulations, y):
    """φ at one place without its tangent at the origin, and without jets."""
    first, second = modulations

    def phi(y):
        h = jnp.tanh(
            first.gamma * (y @ (group.network.scale * group.network.first) + group.network.first_bias) + first.beta
        )
        return jnp.sin(second.gamma * (h @ group.network.second + group.network.second_bias) + second.beta)

    value, tangent = jax.jvp(phi, (jnp.zeros_like(y),), (y,))
    return phi(y) - value - tangent


@every_lift
def test_rows_are_the_slopes_of_what_a_place_adds(lift):
    model, x, mu = network(lift), FAMILY.domain.sample(KEY), FAMILY.parameters.middle()
    group = model.lift.groups[-1]
    modulations = model.lift_modulation_of(group, mu)
    by_value, by_top = jnp.linspace(0.5, 1.5, group.channels), jnp.linspace(-2.0, 1.0, group.channels)
    phi = lambda inside: features(group, modulations, inside / group.unit)
    half = lambda inside: jnp.trace(jax.hessian(phi)(inside), axis1=1, axis2=2) / 2
    row = lambda inside: jnp.outer(phi(inside), by_value) + jnp.outer(half(inside), by_top)
    expected = jax.vmap(jax.jacfwd(row))(x[group.places])
    close(group.slope_rows(x, modulations, by_value, by_top), jnp.transpose(expected, (3, 1, 2, 0)))


@every_lift
def test_every_place_solves_its_own_least_squares(lift):
    model = network(lift)
    objective = Objective(FAMILY, Gram(), jnp.ones(()), Sampling(12, 12))
    batch = objective.draw(model, KEY)
    rows, pairs = linear_rows(objective, model, batch), batch.pairs()
    group = model.lift.groups[-1]
    start = model.lift.linear + sum(other.channels for other in model.lift.groups if other is not group)
    channels = slice(start, start + group.channels)
    by_value, by_top = rows.by_lifted.value[:, channels], rows.by_lifted.frames[0].top[:, channels]
    step = site_step(model, group, pairs, by_value, by_top, rows.slopes, 1e-9)
    own = jax.vmap(lambda x, mu, p, t: group.slope_rows(x, model.lift_modulation_of(group, mu), p, t))(
        pairs.points, pairs.parameters, by_value, by_top
    )
    for place, coordinates in enumerate(group.places):
        matrix = np.asarray(own[..., place]).reshape(-1, step[0].size)
        target = np.asarray(rows.slopes[:, coordinates]).reshape(-1)
        expected = -np.linalg.lstsq(matrix, target)[0]
        close(step[place].reshape(-1), expected, 1e-4)


def test_blocks_follow_what_they_can_of_a_dense_step():
    """Projected on V and on w, each against the least-squares step written out; and the slopes that are left."""
    model = network(Blocks(3, 2) + Affine(1))
    objective = Objective(FAMILY, Gram(), jnp.ones(()), Sampling(12, 12))
    rows = linear_rows(objective, model, objective.draw(model, KEY))
    group, p = model.lift.groups[0], rows.by_lifted.value[:, model.lift.linear :]
    (of_pattern, of_weight), left = block_step(group, p, rows.slopes, DAMPING)
    kernel = p @ p.T
    whole = -np.asarray(rows.slopes).T @ np.linalg.solve(kernel + DAMPING * np.trace(kernel) / 12 * np.eye(12), p)
    w, v = np.asarray(group.pattern), np.asarray(group.weight)
    blocks = [range(0, 3), range(3, 6), range(6, 7)]
    for number, block in enumerate(blocks):
        own = w[: len(block)]
        close(of_weight[number], own @ whole[np.asarray(block)] / np.sum(own**2) / 2, 1e-4)
    for j in range(3):
        with_j = [number for number, block in enumerate(blocks) if j < len(block)]
        along = sum(whole[blocks[number][j]] @ v[number] for number in with_j)
        close(of_pattern[j], along / np.sum(v[with_j] ** 2) / 2, 1e-4)
    change = np.einsum("j,ih->ijh", w, of_weight) + np.einsum("j,ih->ijh", of_pattern, v)
    close(left, rows.slopes + p @ change.reshape(9, 2)[:7].T, 1e-4)


def test_places_take_what_blocks_leave():
    model = network(Blocks(3, 2) + Sites(2, 3, curved=True, hidden=4))
    objective = Objective(FAMILY, Gram(), jnp.ones(()), Sampling(12, 12))
    batch = objective.draw(model, KEY)
    rows, pairs, (blocks, sites) = linear_rows(objective, model, batch), batch.pairs(), model.lift.groups
    within, weight, coefficients = slope_steps(model, FAMILY, pairs, rows.by_lifted, rows.slopes, DAMPING)
    expected, left = block_step(blocks, rows.by_lifted.value[:, :2], rows.slopes, DAMPING)
    close(within, expected[0])
    close(weight, expected[1])
    by_value, by_top = rows.by_lifted.value[:, 2:], rows.by_lifted.frames[0].top[:, 2:]
    close(coefficients, site_step(model, sites, pairs, by_value, by_top, left))


def test_an_optimiser_without_slopes_refuses_what_follows_them():
    with pytest.raises(InputError, match="curved sites and blocks follow the residual's slopes"):
        Spring(lift_in_kernel=True, lift_by_slopes=False).init(network(Blocks(3, 2)))


def test_a_coordinate_of_many_places_is_not_moved_by_all_of_them_at_once():
    """Half of what m places take of a slope is at most what there is."""
    pairs = tuple((0, other) for other in range(1, 6))
    groups = network(Sites(2, groups=pairs, hidden=3) + Sites(1, hidden=3)).lift.groups
    np.testing.assert_allclose(shares(groups, 7), [2 / 6, 1, 1, 1, 1, 1, 1])
