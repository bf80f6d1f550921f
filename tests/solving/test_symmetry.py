"""Which equations in time are solved by a network of norms, seen before training."""

import jax.numpy as jnp
import pytest
from helpers import KEY, mostly_slow

import prism
from prism.families import AllenCahnTime, ConvectionDiffusion, Heat, HJBRosenbrock, SineGordon
from prism.networks.lifts.parts import Norm, Time
from prism.solving.settings import Settings
from prism.solving.symmetry import is_radial, norm_lift, with_norms


class Typed(prism.Family):
    """u_t = κΔu + v·∇u in all of space, from exp(−|x|²/d), as a user types it."""

    domain: prism.TimeCylinder
    drift: float
    tilt: float
    parameters = prism.Uniform(kappa=(0.2, 1.0))

    @property
    def terms(self):
        drift = lambda x, mu: jnp.ones_like(x).at[-1].set(0.0)
        return {"t": prism.TimeDerivative(), "lap": prism.Laplacian(), "drift": prism.Directional(drift)}

    def residual(self, u, x, mu):
        return u.t - mu.kappa * u.lap - self.drift * u.drift

    def constraint(self):
        return prism.HardConstraint(
            factor=lambda x, mu: x[-1],
            offset=lambda x, mu: jnp.exp(-jnp.sum(x[:-1] ** 2) / 9.0) + self.tilt * x[0] ** 3,
        )


CYLINDER = prism.TimeCylinder(prism.WholeSpace(9), 1.0)
EQUATIONS = {
    "heat": (Heat.create(9, KEY), True),
    "typed": (Typed(CYLINDER, 0.0, 0.0), True),
    "drift": (Typed(CYLINDER, 0.1, 0.0), False),
    "cubic state": (Typed(CYLINDER, 0.0, 0.1), False),
    "maximum": (AllenCahnTime.create(9, KEY), False),
    "turning": (ConvectionDiffusion.create(9, KEY), False),
}


@pytest.mark.parametrize(("family", "radial"), mostly_slow(EQUATIONS, "typed", "drift"))
def test_what_is_radial(family, radial):
    assert is_radial(family, 0) == radial
    told = []
    chosen = with_norms(family, Settings.choose(family), told.append)
    assert (chosen is not None) == (radial or bool(family.norms)) == bool(told)
    if chosen is not None:
        assert chosen.estimator == prism.Gram()
        assert chosen.architecture.lift == norm_lift(family)
        assert chosen.architecture.linear_lift


def test_an_estimator_that_was_given_is_kept():
    family = Heat.create(9, KEY)
    settings = Settings.choose(family, estimator=prism.Coordinates(3))
    chosen = with_norms(family, settings, keep_estimator=True)
    assert chosen is not None
    assert chosen.estimator == prism.Coordinates(3)


def test_without_time_trials_decide():
    family = SineGordon.create(9, KEY, pairs="none")
    assert with_norms(family, Settings.choose(family)) is None


def test_norms_of_a_familys_own():
    family = HJBRosenbrock.create(5, KEY)
    lift = norm_lift(family)
    assert [type(part) for part in lift.parts] == [Norm, Norm, Time]
    assert lift.parts[0].neighbours == tuple((-2.0 * family.first_weights).tolist())
