"""What a step lowers: energies at random coordinates and parameters, their gradient, and the metric of their rows."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from eigen.cases import BRAIDED, MODES, MU, Wells, random_network, weights_of
from helpers import KEY, close, mostly_slow

from prism import InputError
from prism.eigen.chain_objective import ChainEnergy
from prism.eigen.forms import Form, Product, Sum, Train
from prism.eigen.levels import levels
from prism.eigen.metric import flat
from prism.eigen.network import TensorNetwork
from prism.eigen.objective import EnergyBatch, EnergyObjective, EnergySampling
from prism.eigen.quadrature import MOST_BEND
from prism.eigen.separable import one_coordinate
from prism.eigen.separable_objective import SeparableEnergy
from prism.families.coupled_oscillator import CoupledOscillator
from prism.numerics.keys import items
from prism.problem.potential import Potential

SAMPLING = EnergySampling(coordinates=3, params=2, nodes=12, block=1)
FIVE = CoupledOscillator.create(5)
SEPARABLE, CHAIN = SeparableEnergy(FIVE, SAMPLING), ChainEnergy(type(BRAIDED)(5), SAMPLING)
CASES: dict[str, tuple[EnergyObjective, Form, bool]] = {
    "product": (SEPARABLE, Product(), True),
    "product with an excited function": (SEPARABLE, Product(1), True),
    "product of networks of their own": (SEPARABLE, Product(), False),
    "sum": (CHAIN, Sum(2), True),
    "train": (CHAIN, Train(2), True),
}
FEW = ("product", "product of networks of their own", "train")
PRODUCTS = {name: case for name, case in CASES.items() if isinstance(case[0], SeparableEnergy)}
every_product = pytest.mark.parametrize(("objective", "form", "shared"), mostly_slow(PRODUCTS, "product"))
every_case = pytest.mark.parametrize(("objective", "form", "shared"), mostly_slow(CASES, *FEW))


def network_of(objective: EnergyObjective, form: Form, shared: bool = True) -> TensorNetwork:
    return random_network(objective.potential, form, shared=shared)


# Compiled once for each objective and network, and shared among the tests.


@eqx.filter_jit
def loss_and_gradient(objective: EnergyObjective, tensor: TensorNetwork, batch: EnergyBatch):
    return eqx.filter_value_and_grad(lambda tensor: objective.loss(tensor, batch))(tensor)


@eqx.filter_jit
def system_of(objective: SeparableEnergy, tensor: TensorNetwork, batch: EnergyBatch):
    return objective.system(tensor, batch)


@eqx.filter_jit
def drawn(objective: EnergyObjective, tensor: TensorNetwork, key=KEY) -> EnergyBatch:
    return objective.draw(tensor, key)


def pairs_of(batch: EnergyBatch):
    """Every coordinate with each of its parameters, one after the other."""
    return jnp.repeat(batch.coordinates, SAMPLING.params), batch.parameters.reshape(SAMPLING.pairs, -1)


@every_product
def test_half_the_gradient_is_that_of_the_loss(objective, form, shared):
    """The loss is a mean over pairs, the system of a product a sum of squares over them: 2g over the number of pairs is
    ∂loss/∂θ; of networks of their own, for each of them its part of it."""
    tensor = network_of(objective, form, shared)
    batch = drawn(objective, tensor)
    system, (loss, expected) = system_of(objective, tensor, batch), loss_and_gradient(objective, tensor, batch)
    pairs = SAMPLING.pairs
    if shared:
        close(2.0 * system.gradient[0] / pairs, flat(expected.factors))
    else:
        each = jax.vmap(lambda i: flat(expected.factor(i)))(batch.coordinates)
        close(2.0 * system.gradient / pairs, each)
    close(system.energy, loss)


@every_product
def test_the_metric_is_symmetric_and_has_no_negative_direction(objective, form, shared):
    tensor = network_of(objective, form, shared)
    metric = np.asarray(system_of(objective, tensor, drawn(objective, tensor)).metric)
    groups, weights = (1, weights_of(tensor).size) if shared else (3, weights_of(tensor).size // 5)
    assert metric.shape == (groups, weights, weights)
    for one in metric:
        close(one, one.T, 1e-13)
        assert np.min(np.linalg.eigvalsh(one)) > -1e-13 * np.max(np.abs(one)), "beyond rounding"
        assert np.max(np.abs(one)) > 0.0


def test_the_metric_of_a_product_is_that_of_the_rows_of_residuals():
    """JᵀJ with J = ∂r/∂θ at functions orthonormal at each θ, r over its own size: by nested differentiation of r, less
    what turns the functions among themselves, of which |r|² knows nothing."""
    tensor = network_of(SEPARABLE, Product())
    batch = drawn(SEPARABLE, tensor)
    rule = SEPARABLE.rule(batch.bends[0])

    @jax.jit
    def both():
        weights = flat(tensor.factors)

        def rows(weights, i, mu):
            network = SEPARABLE.put(tensor, batch, weights[None])
            solved = one_coordinate(network.factor(i), network.known(mu, i), FIVE, mu, i, rule)
            return solved.rows.reshape(-1), jnp.sqrt(solved.above_bottom)

        def squared(i, mu):
            jacobian = jax.jacfwd(lambda w: rows(w, i, mu)[0])(weights) / rows(weights, i, mu)[1]
            return jacobian.T @ jacobian

        total = jnp.sum(jax.vmap(squared)(*pairs_of(batch)), axis=0)
        return SEPARABLE.system(tensor, batch).metric[0], total

    found, expected = both()
    close(found, expected)


@pytest.mark.parametrize(("objective", "form", "shared"), mostly_slow(CASES, "product"))
def test_losses_and_gradients_are_the_same_in_blocks_of_any_size(objective, form, shared):
    """To rounding, as in test_levels."""
    tensor = network_of(objective, form, shared)
    batch = drawn(objective, tensor)
    sized = lambda block: type(objective)(objective.potential, replace(SAMPLING, block=block))
    whole, by_weights = loss_and_gradient(sized(5), tensor, batch)
    for block in (1, 3):  # with 1 it is compiled already
        loss, found = loss_and_gradient(sized(block), tensor, batch)
        close(loss, whole, 1e-13)
        close(weights_of(found), weights_of(by_weights), 1e-11)


def test_the_loss_of_a_product_is_a_mean_of_energies_with_the_gradient_of_their_logarithms():
    """Per coordinate and pair; that of the energies above the bottom of the potential, so that stiff coordinates count
    no more than soft ones."""
    tensor = network_of(SEPARABLE, Product())
    batch = drawn(SEPARABLE, tensor)
    rule = SEPARABLE.rule(batch.bends[0])

    @eqx.filter_jit
    def energies(tensor):
        of = lambda i, mu: one_coordinate(tensor.factor(i), tensor.known(mu, i), FIVE, mu, i, rule)
        found, above = jax.vmap(lambda i, mu: (of(i, mu).levels[0], of(i, mu).above_bottom))(*pairs_of(batch))
        return jnp.mean(found), jnp.mean(jnp.log(above))

    loss, found = loss_and_gradient(SEPARABLE, tensor, batch)
    close(loss, energies(tensor)[0])
    by_logarithms = eqx.filter_jit(eqx.filter_grad(lambda tensor: energies(tensor)[1]))(tensor)
    close(weights_of(found), weights_of(by_logarithms))


def test_the_loss_of_a_chain_is_its_level_per_coordinate():
    tensor = network_of(CHAIN, Train(2))
    batch = drawn(CHAIN, tensor)
    level = eqx.filter_jit(lambda mu, rule: levels(tensor, CHAIN.potential, mu, 1, rule, 5)[0] / 5.0)
    found = np.mean([level(mu, CHAIN.rule(batch.bends[0])) for mu in batch.parameters[0]])
    close(loss_and_gradient(CHAIN, tensor, batch)[0], found)


@every_case
def test_a_batch_is_drawn_as_it_is_said(objective, form, shared):
    tensor = network_of(objective, form, shared)
    bends = []
    for key in items(KEY, 4):
        batch = drawn(objective, tensor, key)
        assert batch.coordinates.shape == ((5,) if isinstance(objective, ChainEnergy) else (3,))
        assert batch.parameters.shape == ((1, 2, 2) if isinstance(objective, ChainEnergy) else (3, 2, 2))
        assert np.all((batch.coordinates >= 0) & (batch.coordinates < 5))
        lows, highs = objective.potential.parameters.lows, objective.potential.parameters.highs
        assert np.all((np.asarray(batch.parameters) >= lows) & (np.asarray(batch.parameters) <= highs))
        assert len(np.unique(np.asarray(batch.parameters))) == batch.parameters.size
        assert shared or len(np.unique(np.asarray(batch.coordinates))) == 3
        bends += list(np.asarray(batch.bends))
    assert len(set(bends)) == 8
    assert np.max(np.abs(bends)) <= MOST_BEND


def test_more_coordinates_than_there_are_are_drawn_again():
    """Of a shared network; networks of their own are moved once in a step."""
    objective = SeparableEnergy(FIVE, EnergySampling(coordinates=12, params=1, nodes=12))
    assert drawn(objective, network_of(objective, Product())).coordinates.shape == (12,)


@pytest.mark.parametrize("objective", [SEPARABLE, CHAIN], ids=["product", "chain"])
def test_at_one_mu_all_draws_are_of_it(objective):
    held = type(objective)(objective.potential, SAMPLING, MU)
    form = Product() if objective is SEPARABLE else Train(2)
    batch = drawn(held, network_of(held, form))
    assert np.array_equal(batch.parameters.reshape(-1, 2), np.broadcast_to(MU, (batch.parameters.size // 2, 2)))


@pytest.mark.parametrize("shared", [True, False])
def test_weights_are_put_back_where_they_were_taken(shared):
    tensor = network_of(SEPARABLE, Product(), shared)
    batch = drawn(SEPARABLE, tensor)
    weights = SEPARABLE.weights(tensor, batch)
    assert np.array_equal(weights_of(SEPARABLE.put(tensor, batch, weights)), weights_of(tensor))
    moved = SEPARABLE.put(tensor, batch, weights + 1.0)
    close(SEPARABLE.weights(moved, batch), weights + 1.0)


class Broken(Wells):
    """Not finite above a = 0.75."""

    def single(self, y, i, mu):
        return jnp.where(mu.a > 0.75, jnp.nan, 1.0) * y * y


def test_a_failing_step_names_the_first_parameter():
    potential: Potential = Broken(3)
    objective = SeparableEnergy(potential, EnergySampling(3, 1, nodes=12))
    tensor = random_network(potential, Product())
    batch = drawn(objective, tensor)
    at = lambda *values: eqx.tree_at(lambda b: b.parameters, batch, jnp.asarray(values).reshape(3, 1, 1))
    assert objective.first_failure(tensor, at(0.6, 0.8, 0.5)) == "the energy of Broken is not finite at a = 0.8"
    assert objective.first_failure(tensor, at(0.6, 0.6, 0.6)) is None


@pytest.mark.parametrize("wrong", [{"coordinates": 0}, {"params": -1}, {"nodes": 0}, {"block": 0}])
def test_a_sampling_of_nothing_is_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        EnergySampling(**wrong)


def test_a_sampling_says_itself_as_it_is_given():
    assert SAMPLING.argument == "sampling=EnergySampling(coordinates=3, params=2, nodes=12, block=1)"
    assert SAMPLING.pairs == 6


def test_objectives_are_of_the_potential_that_they_say():
    assert MODES.is_separable
    assert not BRAIDED.is_separable
