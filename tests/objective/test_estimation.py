"""The estimator that suits a family: by what its operators and its constraint can do, not by their classes."""

import jax.numpy as jnp
import pytest
from helpers import LIFTS, Terms, name_of, small_model

from prism import Ball, Biharmonic, GradientNormSquared, Laplacian, TimeCylinder, TimeDerivative, WeightedTrace
from prism.derivatives.estimators import Coordinates, Exact, Gram
from prism.derivatives.operators import Isotropic
from prism.networks.lifts.parts import Norm, Time
from prism.objective.estimation import judging_estimator, suited_estimator


class Own(Isotropic):
    """An operator of the user's own, Δu/2."""

    isotropic_order = 2

    @property
    def order(self) -> int:
        return 2

    def read(self, u):
        return u.collapsed(2)


TRACE = WeightedTrace(lambda x, mu: jnp.ones(x.shape[0]))
CASES = [
    (Ball(100), {"lap": Laplacian(), "slope": GradientNormSquared()}, Gram(), Coordinates(16)),
    (Ball(1_000), {"trace": TRACE}, Gram(16), Coordinates(16)),
    (Ball(10_000), {"own": Own()}, Gram(), Coordinates(16)),
    (Ball(10), {"lap": Laplacian(), "bi": Biharmonic()}, Gram(), Exact()),
    (Ball(1_000), {"bi": Biharmonic()}, Gram(), Coordinates(16)),
    (TimeCylinder(Ball(32)), {"bi": Biharmonic()}, Exact(), Coordinates(16)),  # a constraint of one's own
    (TimeCylinder(Ball(33)), {"bi": Biharmonic()}, Coordinates(16), Coordinates(16)),
    (TimeCylinder(Ball(100)), {"lap": Laplacian()}, Exact(), Coordinates(16)),  # a constraint of one's own
    (TimeCylinder(Ball(1_000)), {"lap": Laplacian(), "dt": TimeDerivative()}, Coordinates(16), Coordinates(16)),
]


@pytest.mark.parametrize(("domain", "terms", "natural", "first_order"), CASES, ids=name_of)
def test_the_estimator_suits_the_family(domain, terms, natural, first_order):
    family = Terms(domain, terms)
    assert suited_estimator(family) == natural
    assert suited_estimator(family, natural=False) == first_order


def test_a_network_of_norms_is_judged_along_these():
    """Under a constraint of one's own, where the family alone would be judged by random coordinates."""
    cylinder = TimeCylinder(Ball(1_000))
    family = Terms(cylinder, {"lap": Laplacian(), "dt": TimeDerivative()})
    assert judging_estimator(small_model(cylinder, lift=Norm() + Time()), family) == Gram()
    assert judging_estimator(small_model(cylinder, lift=LIFTS["affine"]), family) == Coordinates(16)


def test_order_four_is_judged_by_a_direction_of_each_pair():
    family = Terms(Ball(10), {"bi": Biharmonic()})
    assert judging_estimator(small_model(family.domain), family) == Gram(shared=False)
