"""What is chosen where nothing is said, and what does not go together."""

from typing import Any

import pytest
from eigen.cases import BRAIDED, MODES, PLAIN, Wells
from helpers import KEY

from prism import Adam
from prism.eigen import settings
from prism.eigen.chain_objective import ChainEnergy
from prism.eigen.forms import Product, Sum, Train
from prism.eigen.natural import EnergyGradient
from prism.eigen.network import FactorArchitecture
from prism.eigen.objective import EnergySampling
from prism.eigen.separable_objective import SeparableEnergy
from prism.eigen.settings import ADAM_RATE, MOST_EXCITED, USUAL_BOND, EigenSettings
from prism.errors import InputError, TooLarge
from prism.families.coupled_oscillator import CoupledOscillator, PlainCoupledOscillator

OWN = FactorArchitecture(shared=False)


def test_a_product_is_chosen_where_there_is_one_and_else_a_train():
    choose = EigenSettings.choose
    assert choose(MODES).form == Product()
    assert choose(MODES, levels=3).form == Product(2)
    assert choose(MODES, levels=8).form == Product(MOST_EXCITED)
    assert choose(Wells(1)).form == Product()
    assert choose(PLAIN).form == choose(BRAIDED).form == Train(USUAL_BOND)
    assert choose(PlainCoupledOscillator.create(1)).form == Sum(1), "one coordinate has no neighbour"


def test_what_is_minimised_follows_from_the_form():
    assert type(EigenSettings.choose(MODES).objective(MODES)) is SeparableEnergy
    assert type(EigenSettings.choose(MODES, Sum(2)).objective(MODES)) is ChainEnergy
    assert type(EigenSettings.choose(PLAIN).objective(PLAIN)) is ChainEnergy


def test_the_natural_gradient_and_a_shared_network_are_usual():
    chosen = EigenSettings.choose(MODES)
    assert isinstance(chosen.optimiser, EnergyGradient)
    assert chosen.architecture == FactorArchitecture()
    assert chosen.architecture.shared
    assert (chosen.levels, chosen.seed) == (1, 0)


def test_what_is_given_is_taken():
    architecture, sampling, adam = FactorArchitecture(width=5), EnergySampling(7, 3), Adam()
    chosen = EigenSettings.choose(MODES, Product(2), architecture, adam, sampling, levels=4, seed=9)
    assert chosen == EigenSettings(Product(2), architecture, adam, sampling, 4, 9)


def test_a_step_sees_no_more_networks_of_their_own_than_there_are():
    """Adam's, the usual ones, move all; natural steps some, each of them once at most."""
    assert EigenSettings.choose(MODES, architecture=OWN) == EigenSettings.choose(MODES, None, OWN, Adam(ADAM_RATE))
    assert EigenSettings.choose(MODES, architecture=OWN).sampling.coordinates == 3
    many, natural = CoupledOscillator.create(1000), EnergyGradient()
    assert EigenSettings.choose(MODES, architecture=OWN, optimiser=natural).sampling.coordinates == 3
    assert EigenSettings.choose(many, architecture=OWN, optimiser=natural).sampling.coordinates <= 16


REFUSED = {
    "a product of what interacts": (PLAIN, {"form": Product()}, "which a product cannot carry; take a train"),
    "levels of what interacts": (PLAIN, {"levels": 2}, "2 levels: those above the lowest are of a product"),
    "levels without functions": (MODES, {"form": Product(), "levels": 2}, "2 levels: those above the lowest"),
    "more levels than functions": (MODES, {"form": Product(1), "levels": 9}, "9 levels of 3 coordinates.*8 or fewer"),
    "no levels": (MODES, {"levels": 0}, "levels"),
    "a natural step of what interacts": (PLAIN, {"optimiser": EnergyGradient()}, "a sum or a train is trained by Adam"),
    "a natural step of a sum": (MODES, {"form": Sum(2), "optimiser": EnergyGradient()}, "is trained by Adam"),
    "some coordinates of a chain": (PLAIN, {"sampling": EnergySampling(2)}, "takes all 3 of them"),
}


@pytest.mark.parametrize(("potential", "choices", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_go_together_is_refused_in_one_line(potential, choices, message):
    with pytest.raises(InputError, match=message) as error:
        EigenSettings.choose(potential, **choices)
    assert "\n" not in str(error.value)


def test_as_many_levels_as_there_are_functions_are_allowed():
    assert EigenSettings.choose(MODES, Product(1), levels=8).levels == 8
    assert EigenSettings.choose(MODES, Product(2), levels=27).levels == 27


@pytest.mark.parametrize("architecture", [FactorArchitecture(), OWN], ids=["shared", "own"])
def test_what_interacts_is_trained_by_adam(architecture):
    chosen = EigenSettings.choose(PLAIN, architecture=architecture)
    assert chosen.optimiser == Adam(ADAM_RATE)
    assert chosen.sampling.coordinates == 3, "all of them in every step"


def test_more_networks_than_memory_has_room_for_are_refused(monkeypatch):
    """A shared network is one, however many coordinates there are."""
    monkeypatch.setattr(settings, "available_bytes", lambda: 2**20)
    many = CoupledOscillator.create(1000)
    with pytest.raises(TooLarge, match="1,000 networks") as error:
        EigenSettings.choose(many, architecture=OWN)
    assert not error.value.proposals, "no width fits"
    assert EigenSettings.choose(many).architecture.shared


def test_a_proposed_width_fits(monkeypatch):
    monkeypatch.setattr(settings, "available_bytes", lambda: 2**24)
    many = CoupledOscillator.create(1000)
    with pytest.raises(TooLarge) as error:
        EigenSettings.choose(many, architecture=OWN)
    width: Any = error.value.proposals["width"]
    EigenSettings.choose(many, architecture=FactorArchitecture(width, shared=False))


def test_nothing_of_an_oscillator_is_random():
    assert CoupledOscillator.create(3, KEY) == MODES
