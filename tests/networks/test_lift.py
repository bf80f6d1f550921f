"""The lift: what leaves it, where it starts, what its parts promise, and what they refuse."""

import math
import re
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import (
    BALL,
    KEY,
    LIFTS,
    MODULATIONS,
    SITES,
    WIDER,
    D,
    Terms,
    close,
    mostly_slow,
    network_formula,
    samples,
    small_model,
    value_of,
)

from prism.derivatives import directions
from prism.derivatives.directions import Decomposition
from prism.errors import InputError
from prism.networks.lifts.groups import Along
from prism.networks.lifts.lift import Lift
from prism.networks.lifts.parts import Affine, Dense, Norm, Part, Parts, Quadratic, Sites, parts_of
from prism.problem.domains import Ball, Cube, Domain, WholeSpace
from prism.problem.time_domains import TimeCylinder

MU = samples(Terms.parameters, 1)[0]


def test_the_lift_starts_with_unit_gain():
    """Var z = E|x|²/d: unit vectors are lifted to values of variance 1/d."""
    lift = Lift.create(parts_of(Dense(400)), Ball(200), KEY)
    spread = jnp.var(lift(jnp.zeros(200).at[0].set(1.0)))
    assert 0.7 < 200 * spread < 1.3  # 1 within 4 standard errors of 400 normals, ≈ 0.07 each


def test_what_leaves_the_lift():
    """z = xW + b, and v_j W along every direction."""
    lift, x = small_model(BALL).lift, samples(BALL, 1)[0]
    bundles = [directions.Dense(jax.random.normal(KEY, (count, D))) for count in (1, 3)]
    lifted = lift.lifted(x, (), [Along(Decomposition(b, jnp.ones(len(b.vectors))), 2, True) for b in bundles])
    close(lift(x), x @ lift.weight + lift.bias)
    close(lifted.value, lift(x))
    for frame, bundle in zip(lifted.frames, bundles, strict=True):
        (first,) = frame.lower
        close(first, bundle.vectors @ lift.weight)
        assert frame.top is None


def test_clocks_see_time_alone_and_the_others_space_alone():
    lift = Lift.create(Dense(8_000, bias=1.0, clocks=30.0) + Affine(1), TimeCylinder(Ball(4)), KEY)
    clocks, others = lift.weight[:, :2_000], lift.weight[:, 2_000:-1]
    assert not np.any(clocks[:-1])
    assert not np.any(lift.bias[:2_000])
    assert not np.any(others[-1])
    assert float(jnp.std(clocks[-1])) == pytest.approx(30.0, rel=0.07)  # 4 standard errors of 2,000 draws
    assert float(jnp.std(others[:-1])) == pytest.approx(5**-0.5, rel=0.03)


PLACES = {
    "ball": (Ball(WIDER, 1.2), MODULATIONS["film"]),
    "off the centre": (Cube(WIDER, -1.0, 3.0), MODULATIONS["scale"]),
    "in time": (TimeCylinder(Ball(WIDER), 2.0), MODULATIONS["shift"]),
    "blind": (WholeSpace(WIDER, 0.5), MODULATIONS["none"]),
}


@pytest.mark.parametrize(("domain", "modulation"), mostly_slow(PLACES, "off the centre", "in time"))
def test_networks_with_every_lift_are_those_of_the_formula(domain, modulation):
    models = {name: small_model(domain, modulation, lift=lift) for name, lift in LIFTS.items()}
    points = samples(domain, 2)

    @jax.jit
    @jax.vmap
    def values(x):
        return {name: (value_of(model, x, MU), network_formula(model, x, MU)) for name, model in models.items()}

    for name, (found, expected) in values(points).items():
        close(found, expected, name=name)


@pytest.mark.parametrize("asked", LIFTS.values(), ids=LIFTS)
def test_a_lift_knows_its_parts(asked):
    lift = eqx.filter_eval_shape(Lift.create, parts_of(asked), Ball(WIDER), KEY)
    assert lift.parts == parts_of(asked)
    assert eqx.filter_eval_shape(Lift.create, lift.parts, Ball(WIDER), KEY) == lift


def test_linear_parts_come_first_and_how_they_began_is_not_kept():
    asked = SITES + Norm() + Affine(2) + Dense(3, bias=1.0)
    assert eqx.filter_eval_shape(Lift.create, asked, BALL, KEY).parts == Dense(3) + Affine(2) + SITES + Norm()


def lifted(part: Part, domain: Domain, points):
    """z of a lift with random weights and no others."""
    model = small_model(domain, lift=part)
    return jax.jit(jax.vmap(lambda x: model.lift_point(x, MU)))(points)


def test_single_coordinates_that_share_their_coefficients_are_exchangeable():
    x = samples(Ball(WIDER), 1)[0]
    permuted = jnp.stack([x, x[::-1], x[np.random.default_rng(0).permutation(WIDER)]])
    shared, own = (
        lifted(Sites(1, shared=shared, features=2, hidden=3), Ball(WIDER), permuted) for shared in (True, False)
    )
    close(shared, jnp.broadcast_to(shared[0], shared.shape))
    assert jnp.ptp(own) > 1e-3 * jnp.max(jnp.abs(own))


def test_periodic_windows_that_share_their_coefficients_are_invariant_under_translations():
    x = samples(Ball(WIDER), 1)[0]
    moved = jnp.stack([jnp.roll(x, shift) for shift in range(WIDER)])
    windows = replace(SITES, window=3, shared=True)
    line, ring = (lifted(part, Ball(WIDER), moved) for part in (windows, replace(windows, periodic=True)))
    close(ring, jnp.broadcast_to(ring[0], ring.shape))
    assert jnp.ptp(line) > 1e-3 * jnp.max(jnp.abs(line))
    reflected = lifted(replace(windows, periodic=True), Ball(WIDER), moved[:, ::-1])
    assert jnp.abs(ring - reflected)[0] > 1e-3 * jnp.abs(ring)[0], "a window has an order"


def test_sums_over_places_begin_at_zero_in_the_middle_of_the_domain():
    """Whatever μ: else every change of a coefficient would move the constant part of the network."""
    for domain in (Ball(WIDER), Cube(WIDER, -1.0, 3.0)):
        assert jnp.abs(lifted(SITES, domain, domain.centre()[None])) < 1e-14


def test_the_norm_is_measured_in_its_own_spread():
    """Of points to train on, of which half of the second domain's are drawn inwards: deviation 1, within 4 standard
    errors of 4,000 draws; of points that errors are measured at, mean 0."""
    for domain in (Ball(50, 2.0), WholeSpace(50, 0.5), WholeSpace(50, 0.5, inwards=0.0)):
        lift, keys = Lift.create(parts_of(Norm()), domain, KEY), jax.random.split(KEY, 4_000)
        training = jax.jit(jax.vmap(lambda key, domain=domain: domain.training_point(key, jnp.zeros(()))))(keys)
        assert np.asarray(jax.vmap(lift)(training)).std() == pytest.approx(1.0, rel=0.06)
        z = np.asarray(jax.vmap(lift)(jax.jit(jax.vmap(domain.sample))(keys)))
        assert abs(z.mean()) < 4 / math.sqrt(4_000)


def test_time_is_no_part_of_the_norm():
    domain = TimeCylinder(Ball(4), 2.0)
    x = samples(domain, 1)[0]
    early, late = (Lift.create(parts_of(Norm()), domain, KEY)(x.at[-1].set(t)) for t in (0.1, 1.9))
    assert early == late


REFUSED = {
    "two dense parts": (lambda: Dense(2) + Affine(1) + Dense(3), "at most; add their channels"),
    "two affine parts": (lambda: Affine(1) + Affine(1), "at most; add their channels"),
    "no width": (lambda: Dense(0), "the width of a dense lift is 0; give a whole number of 1 or more"),
    "no affine channels": (lambda: Affine(0), "the number of affine channels is 0"),
    "no window": (lambda: Sites(0), "the window of Sites is 0"),
    "a window that is true": (lambda: Sites(True), "the window of Sites is True"),
    "no features": (lambda: Sites(features=-1), "the number of features of Sites is -1"),
    "no channels": (lambda: Sites(channels=0), "the number of channels of Sites is 0"),
    "nothing hidden": (lambda: Sites(hidden=0), "the number of hidden of Sites is 0"),
    "no groups": (lambda: Sites(2, groups=()), "give at least one, each of 2 coordinates (the window)"),
    "groups of another size": (lambda: Sites(2, groups=((0, 1), (2,))), "each of 2 coordinates (the window)"),
    "groups around the end": (lambda: Sites(1, groups=((0,),), periodic=True), "leave out one of them"),
    "forms of triples": (lambda: Quadratic(3, groups=((0, 1, 2),)), "groups of Quadratic are pairs of coordinates"),
    "forms without channels": (lambda: Quadratic(2, 0), "the number of channels of Quadratic is 0"),
}
UNFIT = {
    "a window wider than the space": (Sites(6), "a window of 6 coordinates does not fit into 5 dimensions"),
    "a coordinate beyond the space": (Sites(2, groups=((0, 1), (4, 5))), "name coordinate 5; give numbers from 0 to 4"),
    "a negative coordinate": (Sites(1, groups=((-1,),)), "name coordinate -1; give numbers from 0 to 4"),
    "a coordinate twice": (Sites(2, groups=((0, 1), (3, 3))), "the group (3, 3) of Sites names a coordinate twice"),
    "weights of another number": (Norm((1.0, 2.0)), "give 5 finite numbers, one for each"),
    "weights that are not finite": (Norm((1.0, 2.0, math.inf, 0.0, 0.0)), "give 5 finite numbers"),
    "weights of nothing": (Norm((0.0,) * 5), "not all zero"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_part_is_refused(make, message):
    with pytest.raises(InputError, match=re.escape(message)):
        make()


@pytest.mark.parametrize("domain", [BALL, TimeCylinder(Ball(D))], ids=["ball", "in time"])
@pytest.mark.parametrize(("part", "message"), UNFIT.values(), ids=UNFIT)
def test_what_does_not_fit_the_domain_is_refused(part, message, domain):
    with pytest.raises(InputError, match=re.escape(message)):
        Lift.create(parts_of(part), domain, KEY)


def test_parts_are_added_and_exchanged():
    whole = Dense(2) + (Affine(1) + SITES)
    assert whole == Parts((Dense(2), Affine(1), SITES))
    assert whole.of_kind(Sites) == (SITES,)
    assert whole.exchanged(Affine, None) == Dense(2) + SITES
    assert whole.exchanged(Dense, Dense(3)).of_kind(Dense) == (Dense(3),)
    assert SITES.with_groups(((0, 2),)).groups == ((0, 2),)
