"""Which lift an equation suggests, and that trials decide by the held-out residual."""

from types import SimpleNamespace

import pytest
from helpers import KEY

from prism.errors import FailedRun
from prism.families import SineGordon
from prism.networks.lifts.parts import Affine, Dense, Norm, Quadratic, Sites, parts_of
from prism.problem.structure import Kind, Structure, UnknownStructure
from prism.solving import lift_choice
from prism.solving.lift_choice import (
    Trial,
    candidates,
    choose_lift,
    groups_of,
    has_room_for_trials,
    suggested_lift,
    with_decided_lift,
)
from prism.solving.settings import Settings, architecture_for
from prism.training.loop import Budget
from prism.training.natural.spring import Spring
from prism.training.optimisers import Adam

TIMELESS = SineGordon.create(5, KEY)
SUGGESTED = {
    "norm": (Structure(Kind.NORM, 50, 50), [Norm()]),
    "sum": (Structure(Kind.SUM, 50, 50), [Sites(1, 16)]),
    "chain": (Structure(Kind.CHAIN, 500, 500, 3), [Sites(3, 4)]),
    "long chain": (Structure(Kind.CHAIN, 5_000, 5_000, 2), [Affine(4), Quadratic(2)]),
    "pairs": (Structure(Kind.PAIRS, 4, 4, 2, pairs=((0, 2),)), [Sites(2, 16, groups=((0, 2), (1, 2), (2, 3)))]),
}


@pytest.mark.parametrize(("structure", "parts"), SUGGESTED.values(), ids=SUGGESTED)
def test_what_is_suggested(structure, parts):
    found = suggested_lift(structure, TIMELESS)
    assert found is not None
    assert list(found.parts) == parts


def test_nothing_is_suggested_without_structure():
    assert suggested_lift(Structure(Kind.NONE, 50, 50), TIMELESS) is None
    assert suggested_lift(Structure(Kind.PAIRS, 50_000, 256, 2, pairs=((0, 2),)), TIMELESS) is None


def test_every_coordinate_is_in_a_group():
    groups = groups_of(Structure(Kind.PAIRS, 6, 6, 2, pairs=((1, 4),)))
    assert {coordinate for group in groups for coordinate in group} == set(range(6))


def test_nothing_behind_a_lift_that_is_read_out_but_a_constant():
    usual = Settings.choose(SineGordon.create(5, KEY)).architecture
    assert architecture_for(Sites(2) + Affine(2), usual).depth == 2
    assert architecture_for(Sites(1, shared=True), usual).depth == usual.depth
    assert architecture_for(Dense(8), usual).depth == usual.depth


def test_each_candidate_once():
    family = SineGordon.create(6, KEY, pairs="none")
    lifts = candidates(Structure(Kind.NORM, 6, 6), family, Settings.choose(family))
    assert list(lifts) == ["the equation's (norm)", "usual", "neighbours"]
    assert list(candidates(Structure(Kind.NONE, 6, 6), family, Settings.choose(family))) == ["usual", "neighbours"]


def test_sites_and_quadratic_forms_are_tried():
    family, chain = SineGordon.create(6, KEY), Structure(Kind.CHAIN, 6, 6, 3)
    lifts = candidates(chain, family, Settings.choose(family))
    assert list(lifts) == ["the equation's (chain)", "the equation's (chain), quadratic", "usual", "neighbours"]
    assert list(lifts["the equation's (chain), quadratic"].parts) == [Affine(4), Quadratic(3)]


def test_in_many_dimensions_an_affine_part_is_tried_alone():
    family = SineGordon.create(30_000, KEY)
    lifts = candidates(Structure(Kind.CHAIN, 30_000, 100, 2), family, Settings.choose(family))
    assert list(lifts) == ["the equation's (chain)", "usual", "affine"]
    assert lifts["the equation's (chain)"].follows_slopes


def test_what_follows_slopes_is_not_tried_by_an_optimiser_without_them():
    family, chain = SineGordon.create(6, KEY), Structure(Kind.CHAIN, 6, 6, 3)
    settings = Settings.choose(family, optimiser=Spring(lift_in_kernel=True, lift_by_slopes=False))
    assert not any(lift.follows_slopes for lift in candidates(chain, family, settings).values())


def finished(family) -> SimpleNamespace:
    """A trial that was not interrupted."""
    solution = SimpleNamespace(model=None, family=family)
    return SimpleNamespace(end_if_interrupted=lambda: None, steps=7, seconds=5.0, solution=solution)


def test_a_lift_that_fails_or_does_not_fit_is_passed_over(monkeypatch):
    """And the error is told; where all fail it is raised."""
    told, outcomes = [], iter([FailedRun("training failed"), None, FailedRun("again")])

    def execute(family, *_, **__):
        if (outcome := next(outcomes)) is not None:
            raise outcome
        return finished(family)

    monkeypatch.setattr(lift_choice, "execute", execute)
    monkeypatch.setattr(lift_choice, "held_out_residual", lambda *_: SimpleNamespace(scaled_residual=0.5))
    family = SineGordon.create(6, KEY)
    lifts = {"a": Norm() + Dense(3), "b": Dense(4) + Affine(1)}
    assert [trial.name for trial in choose_lift(family, Settings.choose(family), lifts, 1.0, told.append).trials] == [
        "b"
    ]
    assert "  training failed" in told
    with pytest.raises(FailedRun, match="again"):
        choose_lift(family, Settings.choose(family), {"a": lifts["a"]}, 1.0)


def test_no_trial_begins_that_would_end_too_late(monkeypatch):
    told = []
    monkeypatch.setattr(lift_choice, "execute", lambda family, *_, **__: finished(family))
    monkeypatch.setattr(lift_choice, "held_out_residual", lambda *_: SimpleNamespace(scaled_residual=0.5))
    family = SineGordon.create(6, KEY)
    lifts = {"a": Norm() + Dense(3), "b": Dense(4) + Affine(1)}
    choice = choose_lift(family, Settings.choose(family), lifts, 5.0, told.append, longest=9.0)
    assert [trial.name for trial in choice.trials] == ["a"]
    assert told[-1] == "no time is left for a trial of the lift b"


def test_the_smallest_held_out_residual_is_taken(monkeypatch):
    """Whatever the order in which they are tried: the residuals are given, nothing is trained."""
    residuals, tried, told = iter([0.3, 0.1, 0.2]), [], []

    def execute(family, settings, budget, **_):
        tried.append((settings.architecture.lift, budget.seconds))
        return finished(family)

    measure = lambda *_: SimpleNamespace(scaled_residual=next(residuals))
    monkeypatch.setattr(lift_choice, "execute", execute)
    monkeypatch.setattr(lift_choice, "held_out_residual", measure)
    family, lifts = (
        SineGordon.create(6, KEY),
        {"a": Norm() + Dense(3), "b": Dense(4) + Affine(1), "c": Norm() + Affine(1)},
    )
    choice = choose_lift(family, Settings.choose(family), lifts, 2.0, told.append)
    assert [trial.name for trial in choice.trials] == ["b", "c", "a"]
    assert tried == [(lift, 2.0) for lift in lifts.values()]
    assert choice.best.lift == lifts["b"]
    assert choice.describe()[-1] == "taken: b"
    assert len(told) == 3


BUDGETS = {
    "minutes": (Budget(minutes=3.0), Spring(), True),
    "a short time": (Budget(minutes=0.5), Spring(), False),
    "steps": (Budget(steps=100), Spring(), False),
    "no slopes": (Budget(minutes=3.0), Spring(lift_in_kernel=True, lift_by_slopes=False), False),
    "adam": (Budget(minutes=3.0), Adam(), False),
}


@pytest.mark.parametrize(("budget", "optimiser", "expected"), BUDGETS.values(), ids=BUDGETS)
def test_when_a_lift_is_chosen_by_trials(budget, optimiser, expected):
    family = SineGordon.create(6, KEY)
    assert has_room_for_trials(family, Settings.choose(family, optimiser=optimiser), budget) == expected


@pytest.mark.parametrize(("trained", "total"), [(24.0, 5.0), (280.0, 280.0 / 60 + 5.0 / 3)])
def test_trials_are_part_of_the_minutes(monkeypatch, trained, total):
    """A twelfth for each lift, and what is left is never less than a third; what they compile is preparation."""
    asked, told = [], []

    def chosen(family, settings, lifts, seconds, tell, longest):
        asked.append(seconds)
        return lift_choice.LiftChoice((Trial("norm", parts_of(Norm()), 3, 0.1, seconds=trained),))

    monkeypatch.setattr(lift_choice, "choose_lift", chosen)
    family = SineGordon.create(6, KEY, pairs="none")
    found = with_decided_lift(family, Settings.choose(family), Budget(minutes=5.0), told.append)
    assert asked == [pytest.approx(24.0)]
    assert found.settings.architecture.lift == parts_of(Norm())
    assert found.budget.minutes == pytest.approx(total)
    assert (found.spent.seconds, found.spent.trial_seconds) == (trained, trained)
    assert told[0] == "the equation depends on |x| alone"
    assert told[-1].startswith(f"{total - trained / 60:.1f} of 5 minutes are left for training")


def test_a_single_candidate_is_taken_untried(monkeypatch):
    monkeypatch.setattr(lift_choice, "candidates", lambda *_: {"norm": parts_of(Norm())})
    monkeypatch.setattr(lift_choice, "execute", lambda *_, **__: pytest.fail("nothing to compare with"))
    family = SineGordon.create(6, KEY, pairs="none")
    assert with_decided_lift(family, Settings.choose(family), Budget(minutes=5.0)).lift == parts_of(Norm())


def test_an_equation_whose_structure_is_not_known_is_solved_with_the_rest(monkeypatch):
    told = []

    def unknown(*_):
        raise UnknownStructure("the residual cannot be differentiated twice in x")

    monkeypatch.setattr(lift_choice, "find_structure", unknown)
    monkeypatch.setattr(lift_choice, "execute", lambda family, *_, **__: finished(family))
    monkeypatch.setattr(lift_choice, "held_out_residual", lambda *_: SimpleNamespace(scaled_residual=0.5))
    family = SineGordon.create(6, KEY)
    found = with_decided_lift(family, Settings.choose(family), Budget(minutes=5.0), told.append)
    assert found.lift == parts_of(Settings.choose(family).architecture.lift)
    assert told[0].startswith("the equation's structure is not known")


def test_a_residual_that_is_no_number_is_never_taken(monkeypatch):
    residuals = iter([float("nan"), 0.5])
    monkeypatch.setattr(lift_choice, "execute", lambda *_, **__: finished(None))
    monkeypatch.setattr(lift_choice, "held_out_residual", lambda *_: SimpleNamespace(scaled_residual=next(residuals)))
    family = SineGordon.create(6, KEY)
    lifts = {"a": Norm() + Dense(3), "b": Dense(4) + Affine(1)}
    assert choose_lift(family, Settings.choose(family), lifts, 1.0).best.name == "b"


@pytest.mark.slow
def test_a_short_trial_for_real():
    family = SineGordon.create(6, KEY, pairs="none")
    choice = choose_lift(family, Settings.choose(family), {"norm": parts_of(Norm())}, 0.3)
    assert choice.best.steps > 0
    assert 0.0 < choice.best.scaled_residual < float("inf")
