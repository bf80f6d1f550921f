"""The lift: its jets, and where it starts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import BALL, KEY, D, close, samples, small_model

from prism.derivatives.directions import Dense
from prism.networks.lift import Lift


def test_the_lift_starts_with_unit_gain():
    """Var z = E|x|²/d: unit vectors are lifted to values of variance 1/d."""
    lift = Lift.create(200, 400, KEY)
    spread = jnp.var(lift(jnp.zeros(200).at[0].set(1.0)))
    assert 0.7 < 200 * spread < 1.3  # 1 within 4 standard errors of 400 normals, ≈ 0.07 each


def test_what_leaves_the_lift():
    """z = xW + b, and v_j W along every direction."""
    lift, x = small_model(BALL).lift, samples(BALL, 1)[0]
    bundles = [Dense(jax.random.normal(KEY, (count, D))) for count in (1, 3)]
    lifted = lift.lifted(x, bundles)
    close(lift(x), x @ lift.weight + lift.bias)
    close(lifted.value, lift(x))
    for first, bundle in zip(lifted.firsts, bundles, strict=True):
        close(first, bundle.vectors @ lift.weight)


def test_clocks_see_time_alone_and_the_others_space_alone():
    lift = Lift.create(5, 8_000, KEY, affine=1, bias_deviation=1.0, clock_deviation=30.0)
    clocks, others = lift.weight[:, :2_000], lift.weight[:, 2_000:-1]
    assert not np.any(clocks[:-1])
    assert not np.any(lift.bias[:2_000])
    assert not np.any(others[-1])
    assert float(jnp.std(clocks[-1])) == pytest.approx(30.0, rel=0.07)  # 4 standard errors of 2,000 draws
    assert float(jnp.std(others[:-1])) == pytest.approx(5**-0.5, rel=0.03)
