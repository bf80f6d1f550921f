"""Which lift: what the equation tells, and what a short, equal trial of each candidate shows.

    suggested_lift(find_structure(family), family)   from the equation alone
    choose_lift(family, settings, lifts, ...)        the candidates, tried; the smallest held-out residual is taken
    with_decided_lift(family, settings, budget)      both, within a budget: what is done where no lift is named

No exact solution is needed. Nothing is assumed in silence: the table of the trials is what the choice was made from.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from prism.errors import FailedRun, TooLarge
from prism.networks.lifts.parts import Affine, Norm, Parts, Places, Quadratic, Sites, parts_of
from prism.numerics.keys import Purpose, child, stream
from prism.problem.checks.family import check_family
from prism.problem.family import Family
from prism.problem.structure import Kind, Structure, UnknownStructure, find_structure
from prism.shapes import Key
from prism.solution.held_out import held_out_residual
from prism.solving.following import NOTHING, Spent
from prism.solving.runs import execute
from prism.solving.settings import Settings, architecture_for
from prism.solving.symmetry import norm_lift
from prism.training.loop import Budget

MANY_FEATURES_UP_TO, FEW_FEATURES = 300, 4
"""Dimensions up to which sites have 16 features. Each feature of a place is an unknown, of which a batch says little
where there are many."""
SITES_UP_TO = 2_000
"""Dimensions up to which the coefficients of places can be learned from residuals. Beyond, quadratic forms, which
follow slopes, carry what is not affine."""
FEWEST_MINUTES = 2.0
"""The shortest budget in which a lift is chosen by trials where none is named."""
LEAST_LEFT = 1 / 3
"""Of the minutes, always kept for the run itself: trials that take longer extend it."""
TRIAL_SHARE, SHORTEST_TRIAL, LONGEST_TRIAL = 0.08, 5.0, 60.0
"""The part of the minutes that the trial of one lift takes, and its bounds in seconds."""
AFFINE_BEYOND = 20_000
"""Dimensions beyond which an affine lift alone is worth a trial: curvature fades against slopes as 1/√d."""


def suggested_lift(structure: Structure, family: Family) -> Parts | None:
    """What carries a solution of this structure; None where there is none to speak of."""
    match structure.kind:
        case Kind.NORM:
            return parts_of(Norm()) if family.domain.time_horizon is None else norm_lift(family)
        case Kind.EXCHANGEABLE:
            return Sites(1, features=8, channels=4, shared=True) + Norm()
        case Kind.CHAIN if structure.invariant:
            return parts_of(Sites(structure.window, features=8, channels=4, shared=True, periodic=True))
    return quadratic_lift(structure) if structure.dimension > SITES_UP_TO else sites_lift(structure)


def sites_lift(structure: Structure) -> Parts | None:
    """Sites over the coordinates that interact, each place with coefficients of its own."""
    found = interacting(structure)
    return None if found is None else parts_of(replace(usual_sites(2, structure.dimension), **found))


def quadratic_lift(structure: Structure) -> Parts | None:
    """An affine part, and quadratic forms of the coordinates that interact."""
    found = interacting(structure)
    return None if found is None else Affine() + replace(Quadratic(), **found)


def interacting(structure: Structure) -> dict[str, Any] | None:
    """Window, periodic and groups of a part over the coordinates that interact."""
    match structure.kind:
        case Kind.SUM:
            return {"window": 1}
        case Kind.CHAIN:
            return {"window": structure.window, "periodic": structure.periodic}
        case Kind.PAIRS if structure.probed == structure.dimension:
            return {"window": 2, "groups": groups_of(structure)}
    return None


def usual_sites(window: int, dimension: int) -> Sites:
    """Sites whose places have coefficients of their own."""
    return Sites(window, 16 if dimension <= MANY_FEATURES_UP_TO else FEW_FEATURES)


def groups_of(structure: Structure) -> Places:
    """The pairs that interact, and every coordinate that is in none of them with its neighbour: what is weak was not
    seen, and is not to be lost."""
    seen = {coordinate for pair in structure.pairs for coordinate in pair}
    last = structure.dimension - 1
    alone = [(i, i + 1) if i < last else (i - 1, i) for i in range(structure.dimension) if i not in seen]
    return tuple(sorted({*structure.pairs, *alone}))


@dataclass(frozen=True)
class Trial:
    """One candidate after its trial."""

    name: str
    lift: Parts
    steps: int
    scaled_residual: float
    seconds: float = 0.0
    """Of its training."""


@dataclass(frozen=True)
class LiftChoice:
    """The trials, best first."""

    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        return self.trials[0]

    def describe(self) -> list[str]:
        """The table that the choice was made from."""
        width = max(len(trial.name) for trial in self.trials)
        rows = [f"  {trial.name:{width}}  {trial.scaled_residual:10.3e}  {trial.steps:6,}" for trial in self.trials]
        return [f"  {'lift':{width}}  {'residual':>10}  {'steps':>6}", *rows, f"taken: {self.best.name}"]


def candidates(structure: Structure, family: Family, settings: Settings) -> dict[str, Parts]:
    """What the equation suggests, an affine part with quadratic forms, the usual lift, and sites of neighbours, each
    once; in many dimensions an affine part alone."""
    dimension, kind = structure.dimension, structure.kind.value
    named = {
        f"the equation's ({kind})": suggested_lift(structure, family),
        f"the equation's ({kind}), quadratic": quadratic_lift(structure),
        "usual": parts_of(settings.architecture.lift),
        "neighbours": parts_of(usual_sites(min(2, dimension), dimension)) if dimension <= SITES_UP_TO else None,
        "affine": parts_of(Affine()) if dimension > AFFINE_BEYOND else None,
    }
    different: dict[str, Parts] = {}
    for name, parts in named.items():
        if parts is None or parts in different.values():
            continue
        if settings.optimiser.trains_followers or not parts.follows_slopes:
            different[name] = parts
    return different


def choose_lift(
    family: Family,
    settings: Settings,
    lifts: Mapping[str, Parts],
    seconds: float,
    tell: Callable[[str], None] = lambda line: None,
    longest: float = math.inf,
) -> LiftChoice:
    """Train each lift for so many seconds, and compare the residuals on pairs that none was trained on. One that fails
    or does not fit is told and passed over; no trial begins that would take more than the `longest` time for all."""
    key, trials, failed = child(stream(settings.seed, Purpose.EVALUATION), Purpose.QUERIES), [], None
    for name, lift in lifts.items():
        if trials and sum(trial.seconds for trial in trials) + seconds > longest:
            tell(f"no time is left for a trial of the lift {name}")
            continue
        tell(f"trying the lift {name} for {seconds:.0f} s")
        try:
            trials.append(_tried(family, settings, name, lift, seconds, key))
        except (FailedRun, TooLarge) as error:
            tell(f"  {error}")
            failed = error
    if failed is not None and not trials:
        raise failed
    worse = lambda trial: trial.scaled_residual if math.isfinite(trial.scaled_residual) else math.inf
    return LiftChoice(tuple(sorted(trials, key=worse)))


def _tried(family: Family, settings: Settings, name: str, lift: Parts, seconds: float, key: Key) -> Trial:
    chosen = replace(settings, architecture=architecture_for(lift, settings.architecture))
    outcome = execute(family, chosen, Budget(minutes=seconds / 60.0), show=False, check=False, judge=False)
    outcome.end_if_interrupted()
    residual = held_out_residual(outcome.solution.model, outcome.solution.family, key)
    return Trial(name, lift, outcome.steps, residual.scaled_residual, outcome.seconds)


@dataclass(frozen=True)
class LiftDecision:
    """The lift that was taken, settings with it, the budget, longer where trials took most of it, and what is spent."""

    lift: Parts
    settings: Settings
    budget: Budget
    spent: Spent = NOTHING


def has_room_for_trials(family: Family, settings: Settings, budget: Budget) -> bool:
    """Whether a lift is chosen by trials where none is named: by a natural gradient that takes slopes, in some minutes,
    of an equation that alone decides u. A run of so many steps shall not depend on how fast the machine is, and neither
    shall its lift."""
    enough = budget.minutes is not None and budget.minutes >= FEWEST_MINUTES
    return enough and settings.optimiser.natural and settings.optimiser.trains_followers and not family.conditions


def with_decided_lift(
    family: Family,
    settings: Settings,
    budget: Budget,
    tell: Callable[[str], None] = lambda line: None,
    check: bool = True,
) -> LiftDecision:
    """What the equation tells and a trial of each candidate, told as it goes; a single one is taken untried. Their
    training is part of the minutes, what they compile is preparation. `check` as in `execute`."""
    begun, minutes = time.perf_counter(), budget.minutes
    if check:
        check_family(family, stream(settings.seed, Purpose.CHECK))
    lifts = candidates(_told_structure(family, settings.seed, tell), family, settings)
    if len(lifts) == 1:
        return _taken(next(iter(lifts.values())), settings, budget, NOTHING, tell)
    share = SHORTEST_TRIAL if minutes is None else 60.0 * minutes * TRIAL_SHARE
    seconds = min(max(share, SHORTEST_TRIAL), LONGEST_TRIAL)
    longest = math.inf if minutes is None else 60.0 * minutes * (1.0 - LEAST_LEFT)
    choice = choose_lift(family, settings, lifts, seconds, tell, longest)
    for line in choice.describe():
        tell(line)
    trained = sum(trial.seconds for trial in choice.trials)
    spent = Spent(trained, time.perf_counter() - begun - trained, trial_seconds=trained)
    return _taken(choice.best.lift, settings, budget, spent, tell)


def _told_structure(family: Family, seed: int, tell: Callable[[str], None]) -> Structure:
    """What the equation tells; nothing where its residual has no second derivatives."""
    try:
        structure = find_structure(family, seed)
    except UnknownStructure as error:
        tell(f"the equation's structure is not known, for {error}")
        return Structure(Kind.NONE, family.domain.dimension, 0)
    for line in structure.describe():
        tell(line)
    return structure


def _taken(lift: Parts, settings: Settings, budget: Budget, spent: Spent, tell: Callable[[str], None]) -> LiftDecision:
    """The decision for a lift, after what its trials have spent."""
    settings = replace(settings, architecture=architecture_for(lift, settings.architecture))
    if budget.minutes is None:
        return LiftDecision(lift, settings, budget)  # steps are those of the run itself
    total = max(budget.minutes, spent.seconds / 60.0 + budget.minutes * LEAST_LEFT)
    over = "" if total == budget.minutes else "; the trials took more than there was, a named lift needs none"
    if spent.seconds:
        tell(f"{total - spent.seconds / 60.0:.1f} of {budget.minutes:g} minutes are left for training{over}")
    return LiftDecision(lift, settings, Budget(minutes=total), spent)
