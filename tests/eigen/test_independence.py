"""No two things of an eigenvalue problem are drawn with one key: coordinates, parameters, bends, weights, held-out μ.

In the manner of tests/test_independence.py, which has the places of everything else.
"""

from collections.abc import Callable
from pathlib import Path

import jax
import pytest
from eigen.cases import FOUR, PLAIN, SMALL, random_network
from helpers import mostly_slow
from ledger import ledger

import prism
from prism.eigen.chain_objective import ChainEnergy
from prism.eigen.evaluation import QuickLevels, evaluate_levels
from prism.eigen.forms import Form, Product, Train
from prism.eigen.network import FactorArchitecture, TensorNetwork
from prism.eigen.objective import EnergySampling
from prism.eigen.runs import first_state, state_arguments
from prism.eigen.separable_objective import SeparableEnergy
from prism.eigen.settings import EigenSettings
from prism.eigen.tuning import at_one
from prism.numerics import ahead, random
from prism.numerics.keys import Purpose, child, item, root, stream
from prism.problem.potential import Potential

SOURCE = Path(prism.__file__).parent
KEY = root(7)
SAMPLING = EnergySampling(coordinates=3, params=2, nodes=8, block=2)


def of_batch(potential: Potential, form: Form, shared: bool = True) -> Callable[[], object]:
    """Some batches of one run, each by its number."""
    kind = SeparableEnergy if isinstance(form, Product) else ChainEnergy
    objective, tensor = kind(potential, SAMPLING), random_network(potential, form, shared=shared)
    return lambda: [objective.draw(tensor, item(KEY, number)) for number in range(3)]


def of_run(potential: Potential = FOUR) -> Callable[[], object]:
    """All that one seed is for: the weights, two steps' batches, what is shown while training, and the judgement."""
    settings = EigenSettings.choose(potential, architecture=SMALL, sampling=SAMPLING)

    def run():
        state = first_state(potential, settings)(*state_arguments(potential, settings))
        batch = state.next_batch(settings.optimiser)
        key = stream(settings.seed, Purpose.EVALUATION)
        quick = QuickLevels(potential, SAMPLING.nodes, 1e3, child(key, Purpose.QUICK))
        held = at_one(state.objective, potential.parameters.middle())
        tuned = held.draw(state.model, item(stream(settings.seed, Purpose.TUNING), 0))
        errors = evaluate_levels(state.model, potential, 1, key)
        return state.model, batch, tuned, quick.relative_errors(state.model), errors.relative_l1

    return run


def of_network(shared: bool) -> Callable[[], object]:
    architecture = FactorArchitecture(3, 3, 3, 2, shared=shared)
    return lambda: TensorNetwork.create(architecture, Product(1), FOUR, KEY)


PLACES: dict[str, Callable[[], object]] = {
    "a shared network": of_network(shared=True),
    "networks of their own": of_network(shared=False),
    "a batch of a product": of_batch(FOUR, Product()),
    "a batch of networks of their own": of_batch(FOUR, Product(), shared=False),
    "a batch of a chain": of_batch(PLAIN, Train(2)),
    "a run": of_run(),
}


FEW = ("a batch of a chain",)


@pytest.fixture(scope="module")
def book():
    with ledger(SOURCE, random, forget) as book:
        yield book


def forget() -> None:
    """Everything that was traced."""
    jax.clear_caches()
    ahead._traced.cache_clear()


@pytest.mark.parametrize("place", mostly_slow({name: name for name in PLACES}, *FEW))
def test_no_two_things_are_drawn_with_one_key(book, place):
    page = book.page(PLACES[place])
    assert page.functions(), "nothing was drawn: the place no longer reaches a draw"
    assert not page.collisions()


@pytest.mark.slow
def test_every_part_of_a_batch_is_a_draw_of_its_own(book):
    """Coordinates, the bends of the nodes, and the parameters: three functions that draw."""
    found = book.page(PLACES["a batch of a product"]).functions()
    drawing = {name.split(":")[0] for name in found}
    assert any("SeparableEnergy.draw" in name for name in drawing)
    assert any("random_bend" in name for name in drawing)
    assert any("sample" in name for name in drawing)
    assert len(drawing) == 3


@pytest.mark.slow
def test_the_ledger_would_find_bends_drawn_with_the_key_of_the_coordinates(book):
    """The mistake that the purposes of keys exclude, made by hand."""

    class Careless(SeparableEnergy):
        def bends(self, key):
            return jax.random.uniform(child(key, Purpose.POINTS), (2,))

    tensor = random_network(FOUR, Product())
    assert book.page(lambda: Careless(FOUR, SAMPLING).draw(tensor, KEY)).collisions()
