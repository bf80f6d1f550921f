"""Sizes that cannot work, refused before anything is traced, and what fits in their place.

The largest need of a run decides what is proposed. The batch stays of the usual size: fewer points are proposed only
where a quarter of these or more fit.
"""

from collections.abc import Callable
from dataclasses import replace

from prism.errors import InputError, Proposal, TooLarge
from prism.networks.lifts.parts import Local, Norm, parts_of
from prism.networks.sizes import count_text, refuse_endless
from prism.numerics.memory import available_bytes
from prism.problem.family import Family
from prism.solving.memory_needs import Need, needs, number_bytes, total_bytes
from prism.solving.reducible import POINTS, ProblemSize, Reducible
from prism.solving.settings import Settings, default_sampling
from prism.training.memory import SHARE

MARGIN = 16
"""What is compiled was measured to need 2 to 16 times as much as what is counted beforehand."""
POINT_COPIES = 8
"""Arrays as long as a point that exist at once where a problem is made, or computed at one point."""
MOST_ASCENT = 10_000
"""Steps of worst-case training for one batch, which are made one after the other."""
GIBIBYTE = 2**30

Fits = Callable[[ProblemSize, Settings], bool]


def refuse_impossible(
    family: Family, settings: Settings, lift_is_open: bool = False, available: int | None = None
) -> None:
    """Refuse settings that cannot work, whatever the compiler makes of them; `available` memory is in bytes. A lift
    that is still open may become as small as |x|²."""
    refuse_endless(settings.architecture)
    for part in parts_of(settings.architecture.lift).of_kind(Local):
        part.check_places(family.domain.dimension)
    if settings.worst_case is not None and settings.worst_case.steps > MOST_ASCENT:
        steps = count_text(settings.worst_case.steps)
        raise InputError(f"a worst case of {steps} steps per batch takes too long; give {MOST_ASCENT} or less")
    problem, usable = ProblemSize.of(family), SHARE * (available_bytes() if available is None else available)
    least = replace(settings, architecture=replace(settings.architecture, lift=Norm())) if lift_is_open else settings
    found = needs(problem, least)
    if total_bytes(found) <= usable:
        return
    usual = default_sampling(family, settings.optimiser).points
    proposals = fitting_settings(problem, settings, usable / MARGIN, usual)
    raise TooLarge(_complaint(found, settings, proposals, usable), proposals)


def _complaint(found: list[Need], settings: Settings, proposals: tuple[Proposal, ...], usable: float) -> str:
    if [one.name for one in proposals] == [POINTS.name]:
        what = f"a batch of {count_text(settings.sampling.points)} points needs"
        numbers = sum(need.numbers for need in found)
    else:
        largest = max(found, key=lambda need: need.numbers)
        what, numbers = largest.what, largest.numbers
    needed = numbers * number_bytes() // GIBIBYTE
    return f"{what} at least {count_text(needed)} GiB and {usable / GIBIBYTE:.1f} GiB may be used"


def advice(family: Family, settings: Settings, share: float) -> tuple[Proposal, ...]:
    """Settings that need no more than a share of what these need; the batch stays."""
    problem, points = ProblemSize.of(family), settings.sampling.points
    return fitting_settings(problem, settings, share * total_bytes(needs(problem, settings)), 8 * points)


def refuse_long_points(dimension: int, points: int = POINT_COPIES) -> None:
    """Refuse a dimension in which so many points do not fit: before the coefficients of a problem are drawn, which are
    as long. One point alone is computed with in several copies."""
    room = SHARE * available_bytes()
    if dimension * points * number_bytes() > room:
        fitting = int(room / (points * number_bytes()))
        needed = count_text(dimension * points * number_bytes() // GIBIBYTE)
        raise TooLarge(
            f"{points} points of {count_text(dimension)} coordinates need {needed} GiB and {room / GIBIBYTE:.1f} GiB "
            "may be used",
            [Proposal("dim", fitting, f"a dimension of {fitting}")],
        )


def fitting_settings(
    problem: ProblemSize, settings: Settings, usable: float, usual_points: int
) -> tuple[Proposal, ...]:
    """Settings that fit: fewer points, where a quarter of the usual batch or more does; else the usual batch, and less
    of what is largest."""
    fits = lambda problem, settings: total_bytes(needs(problem, settings)) <= usable
    fewer = _reduced(POINTS, problem, settings, fits)
    if fewer is not None and POINTS.asked(*fewer) >= max(1, usual_points // 4):
        return (POINTS.proposal(*fewer),)
    changed: tuple[Reducible, ...] = ()
    if settings.sampling.points > usual_points:
        settings, changed = settings.with_points(usual_points), (POINTS,)
    for one in _worst_first(needs(problem, settings)):
        smaller = _reduced(one, problem, settings, fits)
        if smaller is not None:
            return tuple(each.proposal(*smaller) for each in (one, *changed))
    return ()


def _worst_first(found: list[Need]) -> list[Reducible]:
    """The settings that make the largest needs smaller, each once; never the batch, which stays."""
    ordered = sorted(found, key=lambda need: -need.numbers)
    every = dict.fromkeys(one for need in ordered for one in need.reduced_by)
    return [one for one in every if one is not POINTS]


def _reduced(
    one: Reducible, problem: ProblemSize, settings: Settings, fits: Fits
) -> tuple[ProblemSize, Settings] | None:
    """The problem and settings with the largest smaller value of one setting that fits; None where none does."""
    found = _largest(lambda count: fits(*one.changed(problem, settings, count)), one.asked(problem, settings))
    return None if found is None else one.changed(problem, settings, found)


def _largest(fits: Callable[[int], bool], asked: int) -> int | None:
    """The largest count below the one asked for that fits; None where none does."""
    if asked <= 1 or not fits(1):
        return None
    low, high = 1, asked
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
