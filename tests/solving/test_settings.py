"""The rule that chooses what nobody chose."""

from dataclasses import replace

import jax.numpy as jnp
import pytest
from helpers import KEY, Terms, linear

import prism
from prism.derivatives.operators import Isotropic
from prism.derivatives.taylor import Sin
from prism.families import AllenCahn, Convection, KdV2D
from prism.networks.lifts.parts import Dense, parts_of
from prism.objective.rows import Slopes
from prism.solving.settings import Settings, fastest_rate


class Conditioned(Terms):
    @property
    def conditions(self):
        return {"boundary": prism.Prescribed(prism.Sphere(self.domain.dimension), lambda x, mu: x[0])}


class Unbound(Terms):
    def constraint(self) -> prism.Constraint:
        return prism.Free()


LAPLACIAN = {"lap": prism.Laplacian()}
TRACE = {"trace": prism.WeightedTrace(lambda x, mu: jnp.ones(x.shape[0]))}
HEAT = {"lap": prism.Laplacian(), "rate": prism.TimeDerivative()}
SLOPES, KERNEL = prism.Spring(), prism.Spring(lift_in_kernel=True, lift_by_slopes=False)


@pytest.mark.parametrize(
    ("family", "optimiser", "estimator"),
    [
        (Terms(prism.Ball(10_000), LAPLACIAN), prism.Spring(), prism.Gram()),
        (Terms(prism.Ball(1000), LAPLACIAN), SLOPES, prism.Gram(16)),
        (Terms(prism.Ball(1000), TRACE), SLOPES, prism.Gram(16)),
        (Terms(prism.Ball(1000), {"bi": prism.Biharmonic()}), SLOPES, prism.Gram()),
        (Terms(prism.Ball(20), {"bi": prism.Biharmonic()}), SLOPES, prism.Gram()),
        (Terms(prism.TimeCylinder(prism.Ball(20)), HEAT), KERNEL, prism.Exact()),
        (Terms(prism.TimeCylinder(prism.Ball(200)), HEAT), KERNEL, prism.Coordinates(16)),
        (Conditioned(prism.Ball(50), LAPLACIAN), KERNEL, prism.Gram()),
        (Unbound(prism.Ball(50), LAPLACIAN), KERNEL, prism.Gram()),
    ],
    ids=str,
)
def test_optimiser_and_estimator_suit_the_family(family, optimiser, estimator):
    found = Settings.choose(family)
    assert (found.optimiser, found.estimator) == (optimiser, estimator)


def dense_part(settings: Settings) -> Dense:
    """Of the lift."""
    (part,) = parts_of(settings.architecture.lift).of_kind(Dense)
    return part


def test_order_four_has_a_narrow_lift():
    """Whose channels are taken in pairs."""
    assert dense_part(Settings.choose(Terms(prism.Ball(1000), {"bi": prism.Biharmonic()}))).width == 16


def test_time_has_a_linear_lift_and_the_frequencies_of_the_fastest_parameter():
    found = Settings.choose(Convection.create(50, KEY))
    assert (found.optimiser, found.estimator) == (KERNEL, prism.Exact())
    assert found.architecture.linear_lift
    assert dense_part(found).clocks == 30.0
    assert isinstance(found.architecture.activation, Sin)
    assert dense_part(Settings.choose(Terms(prism.TimeCylinder(prism.Ball(20)), HEAT))).clocks == 1.0


def test_the_fastest_rate_may_be_at_any_corner():
    """That of a kink: |ω| is 3.4 at (0.5, 1.5), below 1.2 where both parameters are equal."""
    family = KdV2D.create(wave=(0.5, 0.15))
    at = lambda *mu: float(family.rate(family.parameters.named(jnp.asarray(mu))))
    assert (
        fastest_rate(family) == max(at(a, b) for a in (0.5, 1.5) for b in (0.5, 1.5)) > max(at(0.5, 0.5), at(1.5, 1.5))
    )


def test_adam_keeps_the_sizes_of_the_paper():
    found = Settings.choose(AllenCahn.create(1000, KEY), optimiser=prism.Adam())
    assert found.architecture == prism.Architecture()
    assert (found.estimator, found.sampling) == (prism.Coordinates(16), prism.Sampling(100, 100))


@pytest.mark.parametrize(
    ("dimension", "width", "points"), [(100, 256, 400), (1_000, 512, 400), (10_000, 64, 200), (10**6, 64, 32)]
)
def test_sizes_follow_the_dimension(dimension, width, points):
    found = Settings.choose(Terms(prism.Ball(dimension), LAPLACIAN))
    assert (dense_part(found).width, found.sampling.points) == (width, points)


def test_what_is_chosen_stays():
    chosen = {
        "estimator": prism.Exact(),
        "optimiser": prism.Adam(0.1),
        "architecture": prism.Architecture(linear(5)),
        "sampling": prism.Sampling(7, 7),
        "independent": True,
        "slopes": Slopes(2),
        "seed": 3,
        "checkpoint_seconds": 7.0,
        "worst_case": prism.WorstCase(3),
    }
    found = Settings.choose(AllenCahn.create(100, KEY), **chosen)
    assert vars(found) == chosen
    assert found.with_points(5) == replace(found, sampling=prism.Sampling(5, 5))


def test_slopes_in_the_loss_leave_the_step_of_the_lift_as_it_is():
    family = Terms(prism.TimeCylinder(prism.Ball(20)), HEAT)
    assert Settings.choose(family, slopes=Slopes(1)).optimiser == Settings.choose(family).optimiser == KERNEL


class Curvature(Isotropic):
    """An operator of the user's own."""

    isotropic_order = 2

    @property
    def order(self) -> int:
        return 2


def test_an_operator_of_ones_own_is_known_by_what_it_can_do():
    found = Settings.choose(Terms(prism.Ball(1000), {"own": Curvature()}))
    assert (found.optimiser, found.estimator) == (SLOPES, prism.Gram(16))
