"""What `prism.solve` is to train: chosen anew, or as the run that it resumes was begun."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from prism.errors import InputError
from prism.files.reading import blaming, converted
from prism.numerics.keys import Purpose, stream
from prism.problem.checks.family import check_family
from prism.problem.family import Family
from prism.problem.fingerprint import fingerprint, same_equation
from prism.reporting.records import RunDirectory
from prism.solution.descriptions import ArchitectureDescription, build_architecture, describe_architecture
from prism.solving.following import NOTHING, Spent
from prism.solving.lift_choice import has_room_for_trials, with_decided_lift
from prism.solving.refusals import refuse_impossible
from prism.solving.results import Standing
from prism.solving.settings import Settings
from prism.solving.symmetry import with_norms
from prism.training.loop import Budget

MADE_BY = "prism.solve"
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """A family and settings, and whether estimator and architecture were given or may be chosen otherwise."""

    family: Family
    settings: Settings
    estimator_given: bool
    architecture_given: bool


@dataclass(frozen=True)
class Config:
    """The config.json of a run from Python."""

    family: str
    dim: int
    equation: str | None
    steps: int | None
    minutes: float | None
    settings: dict[str, str]
    architecture: ArchitectureDescription


@dataclass(frozen=True)
class Task:
    """What is to be trained."""

    family: Family
    settings: Settings
    budget: Budget
    spent: Spent = NOTHING

    def config(self) -> dict[str, object]:
        """What config.json keeps, to compare with when the run is resumed."""
        return {
            "made_by": MADE_BY,
            "family": type(self.family).__name__,
            "dim": self.family.domain.dimension,
            "equation": fingerprint(self.family),
            "steps": self.budget.steps,
            "minutes": self.budget.minutes,
            "settings": _described(self.settings),
            "architecture": describe_architecture(self.settings.architecture),
        }

    def head(self) -> dict[str, object]:
        """The first entries of the report."""
        names = ("estimator", "optimiser", "modulation")
        settings = self.settings
        shown = (settings.estimator, settings.optimiser, settings.architecture.modulation)
        described = {name: str(value) for name, value in zip(names, shown, strict=True)}
        family = {"family": type(self.family).__name__, "dim": self.family.domain.dimension}
        return {**family, "seed": settings.seed, **described, "lift": str(settings.architecture.lift)}


def new_task(request: Request, budget: Budget, tell: Tell) -> Task:
    """The lift made of norms where the equation allows it, or chosen by trials where there is time."""
    family, settings = request.family, request.settings
    refuse_impossible(family, settings, lift_is_open=not request.architecture_given)
    check_family(family, stream(settings.seed, Purpose.CHECK))
    normed = None if request.architecture_given else with_norms(family, settings, tell, request.estimator_given)
    if normed is not None:
        return Task(family, normed, budget)
    if request.architecture_given or not has_room_for_trials(family, settings, budget):
        return Task(family, settings, budget)
    decision = with_decided_lift(family, settings, budget, tell, check=False)
    return Task(family, decision.settings, decision.budget, decision.spent)


def resumed_task(
    request: Request,
    directory: RunDirectory,
    steps: int | None,
    minutes: float | None,
    more_minutes: float | None,
    tell: Tell,
) -> Task:
    """The run's own settings, if those that were given are the same; only its budget may be another."""
    saved, standing = directory.read_json("config.json"), Standing.of(directory)
    if saved.get("made_by") != MADE_BY:
        raise InputError(f"{directory.path} was made by the command; go on with: prism solve --resume {directory.path}")
    standing.identity.check_config(saved, directory.path)
    with blaming(directory.path / "config.json", InputError):
        config = converted(saved, Config)
        kept = build_architecture(config.architecture)
    family = request.family
    _check_family(family, config, standing, directory)
    settings = request.settings
    if not request.architecture_given:
        normed = with_norms(family, settings, tell, request.estimator_given)
        settings = replace(normed or settings, architecture=kept)
    for name, value in _described(settings).items():
        if config.settings.get(name) != value:
            was = config.settings.get(name)
            raise InputError(f"{name} is {value} here and {was} in the run; give what it was begun with")
    if request.architecture_given and describe_architecture(settings.architecture) != describe_architecture(kept):
        raise InputError("the architecture is not that of the run; leave it out to take the run's own")
    if more_minutes is not None:
        return Task(family, settings, standing.total(None, more_minutes))
    if steps is None and minutes is None:
        steps, minutes = config.steps, config.minutes
    budget = Budget(steps, minutes)
    standing.check(budget)
    return Task(family, settings, budget)


def _check_family(family: Family, config: Config, standing: Standing, directory: RunDirectory) -> None:
    """Refuse another family than that of the run."""
    if config.family != type(family).__name__:
        raise InputError(f"{directory.path} is a run of {config.family}, not of {type(family).__name__}")
    if config.dim != family.domain.dimension:
        raise InputError(
            f"{directory.path} is a run in {config.dim:,} dimensions, the family has {family.domain.dimension:,}"
        )
    standing.identity.check_family(family)
    if not same_equation(config.equation, fingerprint(family)):
        raise InputError(f"{directory.path} is a run of another equation; give the family as it was, or another out")


def _described(settings: Settings) -> dict[str, Any]:
    """Everything that decides the steps but the architecture, in words."""
    names = ("estimator", "optimiser", "sampling", "independent", "slopes", "worst_case", "seed")
    return {name: repr(getattr(settings, name)) for name in names}
