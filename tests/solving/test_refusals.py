"""Sizes that cannot work are refused, and what is proposed in their place can be written in Python."""

from dataclasses import replace

import pytest
from helpers import KEY, LIFTS
from training.states import SMALL

import prism
from prism.derivatives.estimators import Coordinates, Exact, Gaussian, Gram, Rademacher
from prism.errors import InputError, TooLarge
from prism.families import AllenCahn
from prism.networks.lifts.parts import Affine, Dense, Quadratic, parts_of
from prism.objective.batches import Sampling
from prism.objective.rows import Slopes
from prism.solving.refusals import refuse_impossible, refuse_long_points
from prism.solving.settings import Settings

FAMILY = AllenCahn.create(7, KEY)
PLAIN = Settings.choose(FAMILY, architecture=SMALL, sampling=Sampling(20, 20))


MEMORY = 50 * 2**20
LARGE: dict[str, tuple[Settings, str, str]] = {
    "points": (replace(PLAIN, sampling=Sampling(10**5, 10**5)), "points", r"sampling=prism\.Sampling\((\d+), \1\)"),
    "params": (
        replace(PLAIN, sampling=Sampling(2, 10**5, crossed=True)),
        "params",
        r"sampling=prism\.Sampling\(2, \d+, crossed=True\)",
    ),
    "width": (
        replace(PLAIN, architecture=replace(SMALL, width=10**5, depth=3)),
        "width",
        r"an architecture of width=\d+",
    ),
    "generator": (
        replace(PLAIN, architecture=replace(SMALL, generator_width=10**6)),
        "generator_width",
        r"an architecture of generator_width=\d+",
    ),
    "lift": (
        replace(PLAIN, architecture=replace(SMALL, lift=Dense(10**7, bias=0.5) + Affine(4))),
        "lift",
        r"an architecture of lift=prism\.Dense\(\d+, bias=0\.5\) \+ prism\.Affine\(4\)",
    ),
    "estimator": (replace(PLAIN, estimator=Rademacher(10**8)), "estimator", r"estimator=prism\.Rademacher\(\d+\)"),
    "slopes": (replace(PLAIN, slopes=Slopes(10**6)), "slopes", r"slopes=prism\.Slopes\(\d+\)"),
}


@pytest.mark.parametrize(("settings", "name", "written"), LARGE.values(), ids=LARGE)
def test_what_cannot_fit_is_refused_with_what_does(settings, name, written):
    with pytest.raises(TooLarge, match=rf"needs? at least .* GiB and 0.0 GiB may be used; {written} fits$") as caught:
        refuse_impossible(FAMILY, settings, available=MEMORY)
    assert set(caught.value.proposals) == {name}


def test_the_derivatives_by_all_weights_are_named():
    wide = replace(PLAIN, architecture=replace(SMALL, width=10**5, depth=3))
    with pytest.raises(TooLarge, match=r"^the derivatives of a batch by all weights need at least [\d,]+ GiB"):
        refuse_impossible(FAMILY, wide, available=MEMORY)


def test_points_and_parameters_that_fit_are_one_argument():
    many = replace(PLAIN, sampling=Sampling(10**6, 10**6, crossed=True))
    with pytest.raises(TooLarge, match=r"; sampling=prism\.Sampling\(400, \d+, crossed=True\) fits$") as caught:
        refuse_impossible(FAMILY, many, available=100 * MEMORY)
    assert set(caught.value.proposals) == {"params", "points"}


def test_a_dimension_is_proposed_where_nothing_else_fits(monkeypatch):
    monkeypatch.setattr("prism.solving.refusals.available_bytes", lambda: MEMORY)
    with pytest.raises(TooLarge, match=r"; a dimension of \d+ fits$") as caught:
        refuse_long_points(10**9)
    refuse_long_points(caught.value.proposals["dim"])


def test_a_batch_far_below_the_usual_is_not_proposed():
    wide = replace(PLAIN, sampling=Sampling(400, 400), architecture=replace(SMALL, width=2_000, depth=3))
    with pytest.raises(TooLarge) as caught:
        refuse_impossible(FAMILY, wide, available=MEMORY)
    assert set(caught.value.proposals) == {"width"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (replace(PLAIN, architecture=replace(SMALL, depth=10**400)), r"10\^400 layers take too long"),
        (replace(PLAIN, worst_case=prism.WorstCase(10**9)), "a worst case of 1,000,000,000 steps"),
        (replace(PLAIN, sampling=Sampling(10**400, 10**400)), r"a batch of 10\^400 points needs at least 10\^"),
    ],
    ids=["layers", "ascents", "points"],
)
def test_what_never_ends_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        refuse_impossible(FAMILY, settings)


def test_the_library_refuses_before_anything_is_traced(monkeypatch):
    monkeypatch.setattr("prism.solving.tasks.check_family", lambda *_: pytest.fail("something was traced"))
    with pytest.raises(TooLarge, match=r"sampling=prism\.Sampling\((\d+), \1\) fits$"):
        prism.solve(FAMILY, steps=1, sampling=Sampling(10**9, 10**9), progress=False)


# What can be smaller


@pytest.mark.parametrize("estimator", [Coordinates(3), Rademacher(9, shared=True), Gaussian(4), Gram(2)], ids=str)
def test_an_estimator_with_a_number_of_directions_takes_another(estimator):
    fewer = estimator.with_count(1)
    assert (type(fewer), fewer.given_count, fewer.shared) == (type(estimator), 1, estimator.shared)


def test_an_estimator_of_all_directions_has_no_number_of_them():
    assert Exact().given_count is None
    assert Gram().given_count is None
    with pytest.raises(InputError, match=r"Exact takes every direction there is, not 3"):
        Exact().with_count(3)


@pytest.mark.parametrize("lift", LIFTS.values(), ids=LIFTS)
def test_every_size_of_a_part_can_be_one(lift):
    for part in parts_of(lift).parts:
        for name in part.sizes:
            assert part.with_size(name, 1).sizes == {**part.sizes, name: 1}


def test_the_window_of_groups_is_no_size():
    assert set(Quadratic(2).sizes) == {"window", "channels"}
    assert set(Quadratic(2, groups=((0, 1),)).sizes) == {"channels"}
