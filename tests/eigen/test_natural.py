"""The natural step: what it promises, what it keeps, and which networks it moves."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from eigen.cases import random_network, weights_of
from helpers import KEY, close, mostly_slow
from jaxtyping import Array

from prism.eigen.forms import Product
from prism.eigen.natural import MOST_DAMPING, EnergyGradient
from prism.eigen.objective import EnergySampling
from prism.eigen.separable_objective import SeparableEnergy, System
from prism.families.coupled_oscillator import CoupledOscillator
from prism.numerics.keys import items

FIVE = CoupledOscillator.create(5)
SAMPLING = EnergySampling(coordinates=3, params=2, nodes=16, block=3)
OPTIMISER = EnergyGradient()
WHOLE = jnp.ones(())


class Signed(SeparableEnergy):
    """The energy of a product, whose gradient points the other way for some networks: their steps raise it."""

    signs: Array | None = None

    def system(self, model, batch):
        found = super().system(model, batch)
        signs = jnp.ones(1) if self.signs is None else self.signs
        return System(signs[:, None] * found.gradient, found.metric, found.energy)


def signed(*signs: float) -> Signed:
    return Signed(FIVE, SAMPLING, None, jnp.asarray(signs))


OBJECTIVE, BACKWARDS = signed(1.0), signed(-1.0)
OWN = signed(1.0, 1.0, 1.0)


@eqx.filter_jit
def followed(objective, tensor, state, key=KEY, decay=WHOLE):
    """One step, with the energies at the judging nodes before and after it. Compiled once for each objective."""
    batch = objective.draw(tensor, key)
    after, state, info = OPTIMISER.step(objective, tensor, state, batch, decay)
    return after, state, info, batch, objective.judged(tensor, batch), objective.judged(after, batch)


def stepped(objective, tensor, damping, key=KEY, decay=WHOLE):
    """The first step from a damping; and the next one."""
    state = eqx.tree_at(lambda s: s.damping, OPTIMISER.init(tensor), damping)
    after, state, *found = followed(objective, tensor, state, key, decay)
    return after, state.damping, *found


CASES = {"product": (OBJECTIVE, Product()), "excited": (OBJECTIVE, Product(1))}


@pytest.mark.parametrize(("objective", "form"), mostly_slow(CASES, "product"))
def test_a_damped_step_lowers_the_energy_where_it_is_judged(objective, form):
    """With so much damping that it is a short step along the gradient; it is then trusted more."""
    tensor = random_network(objective.potential, form)
    after, state, info, batch, before, then = stepped(objective, tensor, jnp.full(1, 100.0))
    assert then[0] < before[0]
    assert np.max(np.abs(weights_of(after) - weights_of(tensor))) > 0.0
    assert float(state[0]) in (50.0, 100.0)
    assert bool(info.finite)
    close(info.loss, eqx.filter_jit(objective.loss)(tensor, batch))


def test_a_step_that_raises_the_energy_is_not_kept():
    """The weights stay as they were to the last bit, and the damping of the next step is four times as large."""
    tensor = random_network(FIVE, Product())
    after, state, info, _, before, then = stepped(BACKWARDS, tensor, jnp.full(1, 0.5))
    assert np.array_equal(weights_of(after), weights_of(tensor))
    assert np.array_equal(before, then)
    assert float(state[0]) == 2.0
    assert bool(info.finite), "it was no failure"


def test_damping_grows_no_further_than_its_most():
    damping = stepped(BACKWARDS, random_network(FIVE, Product()), jnp.full(1, 0.9 * MOST_DAMPING))[1]
    assert float(damping[0]) == MOST_DAMPING


def test_the_step_is_the_solution_of_its_damped_system():
    """θ − (G + λ tr(G)/P)⁻¹ g, by NumPy."""
    tensor = random_network(FIVE, Product())
    after, _, _, batch, before, then = stepped(OBJECTIVE, tensor, jnp.full(1, 10.0))
    assert then[0] < before[0]
    system = eqx.filter_jit(OBJECTIVE.system)(tensor, batch)
    metric, gradient = np.asarray(system.metric[0]), np.asarray(system.gradient[0])
    count = len(gradient)
    damped = metric + 10.0 * np.trace(metric) / count * np.eye(count)
    close(weights_of(after), weights_of(tensor) - np.linalg.solve(damped, gradient))


def test_the_rate_decays_over_the_second_half_alone():
    """A step at half of the decay is whole, one at a quarter is half as long, and none is made at its end."""
    tensor, moved = random_network(FIVE, Product()), {}
    for decay in (1.0, 0.5, 0.25, 0.0):
        after = stepped(OBJECTIVE, tensor, jnp.full(1, 100.0), decay=jnp.asarray(decay))[0]
        moved[decay] = weights_of(after) - weights_of(tensor)
    close(moved[0.5], moved[1.0])
    close(moved[0.25], 0.5 * moved[1.0])
    assert np.all(moved[0.0] == 0.0)


def test_networks_of_their_own_move_only_where_they_were_drawn():
    """Each with a damping of its own, of which the others' stay as well."""
    tensor = random_network(FIVE, Product(), shared=False)
    assert OPTIMISER.init(tensor).damping.shape == (5,)
    assert OPTIMISER.init(tensor).metric is None
    after, damping, _, batch, before, then = stepped(OWN, tensor, jnp.full(5, 100.0))
    drawn = sorted(np.asarray(batch.coordinates))
    assert len(set(drawn)) == 3
    was, now = (np.asarray(t.factors.readout).reshape(5, -1) for t in (tensor, after))
    assert sorted(np.flatnonzero(np.any(was != now, axis=1))) == drawn
    assert sorted(np.flatnonzero(np.asarray(damping) != 100.0)) == [i for i in drawn if damping[i] == 50.0]
    assert np.all(then < before)


def test_each_network_of_its_own_is_judged_by_itself():
    """One whose step would raise its energy stays, beside others that go on."""
    tensor = random_network(FIVE, Product(), shared=False)
    after, damping, _, batch, *_ = stepped(signed(-1.0, 1.0, 1.0), tensor, jnp.full(5, 100.0))
    one, *others = np.asarray(batch.coordinates)
    was, now = np.asarray(tensor.factors.readout), np.asarray(after.factors.readout)
    assert np.array_equal(was[one], now[one])
    assert float(damping[one]) == 400.0
    assert all(not np.array_equal(was[i], now[i]) and damping[i] <= 100.0 for i in others)


def test_an_energy_that_is_not_finite_is_a_failed_step():
    tensor = random_network(FIVE, Product())
    broken = eqx.tree_at(lambda t: t.factors.offset, tensor, tensor.factors.offset.at[0].set(jnp.nan))
    info = stepped(OBJECTIVE, broken, jnp.full(1, 1e-2))[2]
    assert not bool(info.finite)


@pytest.mark.parametrize("state", [1e-2, 1.0])
def test_ten_steps_from_any_damping_lower_the_energy(state):
    """Of one batch, at its judging nodes: never above what was before."""
    tensor, damping, found = random_network(FIVE, Product()), jnp.full(1, state), []
    for _ in range(10):
        tensor, damping, *_, before, after = stepped(OBJECTIVE, tensor, damping)
        found += [float(before[0]), float(after[0])]
    assert np.all(np.diff(found) <= 1e-12)  # of six logarithms of order one, some roundings
    assert found[-1] < found[0] - 0.1


def test_the_metric_is_a_mean_over_the_batches_so_far():
    """In which each counts `memory` times as much as the next."""
    tensor, keys = random_network(FIVE, Product()), items(KEY, 3)
    state, expected = OPTIMISER.init(tensor), 0.0
    for key in keys:
        tensor_before = tensor
        tensor, state, _, batch, *_ = followed(OBJECTIVE, tensor, state, key)
        expected = OPTIMISER.memory * expected + eqx.filter_jit(OBJECTIVE.system)(tensor_before, batch).metric[0]
    close(state.metric, expected)
    close(state.total, 1.0 + OPTIMISER.memory + OPTIMISER.memory**2)


def test_different_keys_make_different_steps():
    tensor = random_network(FIVE, Product())
    one, other = (weights_of(stepped(OBJECTIVE, tensor, jnp.full(1, 100.0), key)[0]) for key in items(KEY, 2))
    assert not np.array_equal(one, other)
