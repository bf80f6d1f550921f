"""From a potential to an eigensolution: `prism.eigensolve`, with or without a directory that keeps the run."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prism.eigen.artifacts import NetworkDescription
from prism.eigen.eigensolution import Eigensolution, load_eigensolution
from prism.eigen.fingerprint import fingerprint
from prism.eigen.forms import Form
from prism.eigen.network import FactorArchitecture
from prism.eigen.objective import EnergySampling
from prism.eigen.runs import execute_levels, finish_levels
from prism.eigen.settings import EigenSettings
from prism.errors import InputError
from prism.files.reading import blaming, converted
from prism.numerics.arguments import check_kind
from prism.problem.checks.potential import check_potential
from prism.problem.fingerprint import same_equation
from prism.problem.potential import Potential
from prism.reporting.records import RunDirectory
from prism.solving.callbacks import Callback, Function, callbacks_of
from prism.solving.results import Standing, finished_report, tell_interrupted, warn_of
from prism.solving.sessions import Record
from prism.solving.solve import check_budget, run_directory
from prism.training.loop import Budget
from prism.training.optimisers import Optimiser

EIGENSOLVED = "prism.eigensolve"


@dataclass(frozen=True)
class _Budgeted:
    """What config.json says of the budget."""

    steps: int | None
    minutes: float | None


def eigensolve(
    potential: Potential,
    *,
    steps: int | None = None,
    minutes: float | None = None,
    levels: int = 1,
    form: Form | None = None,
    architecture: FactorArchitecture | None = None,
    optimiser: Optimiser | None = None,
    sampling: EnergySampling | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    more_minutes: float | None = None,
    force: bool = False,
    callback: Function | Callback | Sequence[Function | Callback] | None = None,
    progress: bool = True,
) -> Eigensolution:
    """The lowest levels of −Δ + v for every μ: `prism.eigensolve(MyPotential(100), minutes=1)`.

    Train for `steps` or for `minutes` (1 unless given). `levels` asks for more than the lowest one, which a separable
    potential has. What is not given of `form` (`Product`, `Sum`, `Train`), `architecture`, `optimiser` and `sampling`
    is chosen for the potential (docs/eigenvalues.md). `out`, `resume`, `more_minutes`, `force`, `callback` and
    `progress` are those of `prism.solve`.
    """
    check_kind("the potential", potential, Potential, "one, such as MyPotential(100)")
    check_potential(potential)
    callbacks = callbacks_of(callback)
    check_budget(steps, minutes, more_minutes, out, resume)
    settings = EigenSettings.choose(potential, form, architecture, optimiser, sampling, levels, seed)
    tell = (lambda line: print(line, file=sys.stderr)) if progress else (lambda line: None)
    budget = Budget(steps, 1.0 if steps is None and minutes is None else minutes)
    with run_directory(out, resume, force) as directory:
        config, standing = _config(potential, settings, budget), None
        if resume is not None and directory is not None:
            budget, standing = _resumed(potential, config, directory, steps, minutes, more_minutes)
            report = finished_report(directory, standing.step)
            if standing.has_spent(budget) and report is not None:
                tell(f"{standing.describe(budget)}; the run's solution is loaded")
                warn_of(report, stacklevel=2)
                return load_eigensolution(directory.path, potential)
            config = _config(potential, settings, budget)
        record = None if directory is None else Record(directory, config, resume is not None)
        outcome = execute_levels(potential, settings, budget, record, progress, callbacks)
        if outcome.interrupted_by is not None:
            tell_interrupted(outcome.interrupted_by, outcome.steps, directory, stacklevel=3)
            return outcome.solution
        if directory is not None:
            finish_levels(directory, outcome, _head(potential, settings), None)
    for line in outcome.describe():
        tell(line)
    outcome.warn(stacklevel=3)
    return outcome.solution


def _config(potential: Potential, settings: EigenSettings, budget: Budget) -> dict[str, object]:
    """What config.json keeps of a run from Python, to compare with when it is resumed."""
    return {
        "made_by": EIGENSOLVED,
        "family": type(potential).__name__,
        "dim": potential.dimension,
        "equation": fingerprint(potential),
        "steps": budget.steps,
        "minutes": budget.minutes,
        "levels": settings.levels,
        "seed": settings.seed,
        "optimiser": repr(settings.optimiser),
        "sampling": repr(settings.sampling),
        "network": vars(NetworkDescription.of(settings.form, settings.architecture)),
    }


def _head(potential: Potential, settings: EigenSettings) -> dict[str, object]:
    """The first entries of the report."""
    return {
        "family": type(potential).__name__,
        "dim": potential.dimension,
        "seed": settings.seed,
        "optimiser": repr(settings.optimiser),
        "estimator": f"gauss:{settings.sampling.nodes}",
        "modulation": repr(settings.architecture.modulation),
        "form": repr(settings.form),
    }


def _resumed(
    potential: Potential,
    config: Mapping[str, object],
    directory: RunDirectory,
    steps: int | None,
    minutes: float | None,
    more_minutes: float | None,
) -> tuple[Budget, Standing]:
    """The budget of a run that goes on under the settings that it was begun with."""
    saved, standing = directory.read_json("config.json"), Standing.of(directory)
    if saved.get("made_by") != EIGENSOLVED:
        raise InputError(f"{directory.path} was not made by prism.eigensolve; go on with it where it was begun")
    standing.identity.check_config(saved, directory.path)
    standing.identity.check_family(potential)
    if not same_equation(str(saved.get("equation")), str(config["equation"])):
        raise InputError(f"{directory.path} is a run of another potential; give it as it was, or another out")
    for name in ("family", "dim", "levels", "seed", "optimiser", "sampling", "network"):
        if saved.get(name) != config[name]:
            raise InputError(
                f"{name} is {config[name]} here and {saved.get(name)} in the run; give what it was begun with"
            )
    if more_minutes is not None:
        return standing.total(None, more_minutes), standing
    if steps is None and minutes is None:
        with blaming(directory.path / "config.json", InputError):
            told = converted({"steps": saved.get("steps"), "minutes": saved.get("minutes")}, _Budgeted)
        steps, minutes = told.steps, told.minutes
    budget = Budget(steps, minutes)
    standing.check(budget)
    return budget, standing
