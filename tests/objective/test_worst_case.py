"""Points that climb: the residual becomes larger, they stay in the domain, and optimisers train with them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import DOMAINS, KEY, mostly_slow, samples

import prism
from prism.families import HJBLog, SineGordon
from prism.objective.worst_case import WorstCase
from prism.solving.preparation import first_state
from prism.solving.settings import Settings
from prism.training.advance import advance

FAMILIES = {"ball": SineGordon.create(6, KEY), "time": HJBLog.create(6, KEY)}


def state_of(family, **choices):
    architecture = prism.Architecture(prism.Dense(4) + prism.Affine(1), 4, 2, 4, 1)
    settings = Settings.choose(family, architecture=architecture, sampling=prism.Sampling(8, 8), **choices)
    return first_state(family, settings), settings


@pytest.mark.parametrize("family", mostly_slow(FAMILIES, "ball"))
def test_the_residual_becomes_larger(family):
    """At the same parameters and along the same directions, in the root mean square."""
    rows = lambda state: jax.jit(lambda: state.objective.equations(state.model, *_with_draws(state)))()
    still, climbed = (state_of(family, worst_case=worst)[0] for worst in (None, WorstCase(10)))
    assert np.mean(np.asarray(rows(climbed)) ** 2) > 1.2 * np.mean(np.asarray(rows(still)) ** 2)


def _with_draws(state):
    batch = state.objective.draw(state.model, KEY)
    return batch, batch.draws


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_points_of_a_domain_stay(domain):
    points = samples(domain, 5)
    same = jax.vmap(domain.clipped)(points)
    np.testing.assert_allclose(same, points, rtol=1e-12)
    far = jax.vmap(domain.clipped)(10.0 * points + 7.0)
    if domain.ball_radius is not None:
        assert np.all(np.linalg.norm(far, axis=1) <= domain.ball_radius * (1 + 1e-12))
    if domain.time_horizon is not None:
        assert np.all((far[:, -1] >= 0.0) & (far[:, -1] <= domain.time_horizon))


@pytest.mark.parametrize("optimiser", mostly_slow({"spring": prism.Spring(), "adam": prism.Adam()}, "adam"))
def test_steps_are_finite_and_no_batch_is_seen_twice(optimiser):
    state, settings = state_of(
        FAMILIES["ball"], optimiser=optimiser, worst_case=WorstCase(2, 0.1, prism.Coordinates(3))
    )
    after, loss = jax.jit(lambda s: advance(s, settings.optimiser, jnp.asarray(3), jnp.asarray(10.0)))(state)
    assert int(after.step) == 3
    assert int(after.skipped) == 0
    assert np.isfinite(loss)
    assert int(after.next_batch(optimiser).number) == 3


@pytest.mark.parametrize("wrong", [(0,), (True,), (2, 0.0), (2, -1.0)])
def test_what_climbs_nowhere_is_refused(wrong):
    with pytest.raises(prism.InputError, match="give"):
        WorstCase(*wrong)
