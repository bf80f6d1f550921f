"""From a potential to an eigensolution: `prism.eigensolve`, with or without a directory that keeps the run."""

import signal
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from prism.eigen.artifacts import NetworkDescription
from prism.eigen.eigensolution import Eigensolution, LevelTraining, load_eigensolution
from prism.eigen.evaluation import QuickLevels, evaluate_levels
from prism.eigen.fingerprint import fingerprint
from prism.eigen.forms import Form
from prism.eigen.network import FactorArchitecture, TensorNetwork
from prism.eigen.objective import EnergySampling
from prism.eigen.settings import EigenSettings
from prism.errors import FailedRun, InputError, NotSolved
from prism.files.reading import blaming, converted
from prism.files.storage import write_file
from prism.numerics.ahead import TracedFunction, trace
from prism.numerics.arguments import check_kind
from prism.numerics.compilation import RUNS_ONCE, keep_programs
from prism.numerics.keys import Purpose, child, stream
from prism.numerics.memory import peak_rss_megabytes
from prism.problem.fingerprint import same_equation
from prism.problem.potential import Potential
from prism.reporting.plots import png
from prism.reporting.records import RunDirectory
from prism.shapes import Key
from prism.solution.quick_evaluation import QuickError
from prism.solving.callbacks import Callback, Function, callbacks_of
from prism.solving.following import NOTHING
from prism.solving.preparation import Prepared
from prism.solving.results import Standing, finished_report, warn_of
from prism.solving.sessions import Record, train_session
from prism.solving.solve import check_budget, run_directory
from prism.training.advance import TrainingState
from prism.training.loop import Budget
from prism.training.optimisers import Optimiser
from prism.training.program import Program, refuse_too_large

EIGENSOLVED = "prism.eigensolve"
QUICK_WORK = 4e6
"""How many nodes of all coordinates the error shown while training may take."""


@dataclass(frozen=True)
class _Budgeted:
    """What config.json says of the budget."""

    steps: int | None
    minutes: float | None


@dataclass(frozen=True)
class EigenOutcome:
    """What a run ended with."""

    solution: Eigensolution
    steps: int
    seconds: float
    compile_seconds: float
    skipped: int
    loss: float | None
    pairs: int
    interrupted_by: int | None

    def report(self) -> dict[str, object]:
        """The figures of the run under the names that scripts read."""
        running, found = max(self.seconds, 1e-9), self.solution.training.evaluation
        return {
            "steps": self.steps,
            "seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
            "seconds_per_step": running / max(1, self.steps),
            "pairs_per_second": self.pairs * self.steps / running,
            "peak_rss_mb": peak_rss_megabytes(),
            "skipped_steps": self.skipped,
            "loss": self.loss,
            **(found.as_json() if found else {}),
            "doubts": list(self.solution.training.doubts),
        }

    def describe(self) -> list[str]:
        """What was done and how good the levels are, for a reader."""
        found = self.solution.training.evaluation
        done = (
            f"{self.steps:,} steps in {self.seconds:.1f} s of training "
            f"({1e3 * self.seconds / max(1, self.steps):.3g} ms per step, peak {peak_rss_megabytes():,.0f} MB), after "
            f"{self.compile_seconds:.1f} s of preparation"
        )
        return [done, *(found.describe() if found else [])]

    def warn(self, stacklevel: int = 2) -> None:
        """One warning for each reason to doubt the levels."""
        for doubt in self.solution.training.doubts:
            warnings.warn(doubt, NotSolved, stacklevel=stacklevel)


def first_state(potential: Potential, settings: EigenSettings) -> TracedFunction:
    """A network before the first step, traced; call it with what it was traced for."""
    return trace(_state, *state_arguments(potential, settings), options=RUNS_ONCE)


def state_arguments(potential: Potential, settings: EigenSettings) -> tuple[Potential, EigenSettings, Key, Key]:
    """Of the first state: the seed enters through the keys alone."""
    keys = (stream(settings.seed, purpose) for purpose in (Purpose.MODEL, Purpose.TRAINING))
    model_key, training_key = keys
    return potential, replace(settings, seed=0), model_key, training_key


def _state(potential: Potential, settings: EigenSettings, model_key: Key, training_key: Key) -> TrainingState:
    network = TensorNetwork.create(settings.architecture, settings.form, potential, model_key)
    return TrainingState.create(network, settings.optimiser, settings.objective(potential), training_key)


def prepare(potential: Potential, settings: EigenSettings) -> Prepared:
    """Everything compiled; the first state is made only if the program of the steps fits into memory."""
    traced = first_state(potential, settings)
    program = Program.trace(traced.shapes, settings.optimiser)
    program.lower()
    with ThreadPoolExecutor(1) as executor:
        compiling = executor.submit(program.compile)
        traced.compile()
        compiling.result()
    resized = lambda count: replace(settings, sampling=replace(settings.sampling, coordinates=count))
    shapes = lambda count: first_state(potential, resized(count)).shapes
    refuse_too_large(program, settings.sampling.coordinates, shapes, lambda share: ())
    quick = None
    if potential.has_exact:
        key = child(stream(settings.seed, Purpose.EVALUATION), Purpose.QUICK)
        quick = _shown(QuickLevels(potential, settings.sampling.nodes, QUICK_WORK, key))
    return Prepared(program, traced(*state_arguments(potential, settings)), quick)


def _shown(levels: QuickLevels) -> Callable[[TensorNetwork], QuickError]:
    """The error that is shown while training."""

    def error(network: TensorNetwork) -> QuickError:
        found = levels.relative_errors(network)
        spread = float(np.std(np.abs(found)) / max(1, len(found)) ** 0.5)
        return QuickError(float(np.sqrt(np.mean(found**2))), spread)

    return error


def execute_levels(
    potential: Potential,
    settings: EigenSettings,
    budget: Budget,
    record: Record | None = None,
    show: bool = True,
    callbacks: tuple[Callback, ...] = (),
) -> EigenOutcome:
    """Train and evaluate; written down, and on from the newest checkpoint, where `record` says so."""
    keep_programs()
    prepared = lambda: prepare(potential, settings)
    seconds = settings.checkpoint_seconds
    session = train_session(prepared, potential, seconds, budget, record, show, NOTHING, callbacks)
    state = session.state
    outcome = EigenOutcome(
        solution=Eigensolution(state.model, potential, settings, LevelTraining(session.history)),
        steps=int(state.step),
        seconds=session.seconds,
        compile_seconds=session.spent.compile_seconds,
        skipped=int(state.skipped),
        loss=session.loss,
        pairs=settings.sampling.pairs,
        interrupted_by=session.signal,
    )
    return outcome if session.signal is not None else judged(outcome, settings.seed)


def judged(outcome: EigenOutcome, seed: int) -> EigenOutcome:
    """With the errors of the final state, and the reasons to doubt it."""
    solution = outcome.solution
    key = stream(seed, Purpose.EVALUATION)
    found = evaluate_levels(solution.network, solution.potential, solution.settings.levels, key)
    if not np.isfinite(found.relative_deviation):
        raise FailedRun("training diverged: the level of its network is not finite; train it again at a lower rate")
    untrained = ("no step was made: this network is not trained; give it more minutes or steps",)
    doubts = found.doubts if outcome.steps else untrained
    training = LevelTraining(solution.history, found, doubts)
    return replace(outcome, solution=replace(solution, training=training))


def finish_levels(
    directory: RunDirectory, outcome: EigenOutcome, head: Mapping[str, object], problem: Mapping[str, object] | None
) -> dict[str, object]:
    """Write model/, plots/ and report.json; returns the report. `head` says what was solved, and how."""
    solution = outcome.solution
    report = {**head, **outcome.report(), "out": str(directory.path)}
    solution.save(directory.model, problem)
    figures = {"levels": solution.plot.levels(), "densities": solution.plot.densities()}
    if solution.history:
        figures["convergence"] = solution.plot.convergence()
    found = solution.training.evaluation
    if found is not None and found.by_parameter:
        figures["error_over_parameters"] = solution.plot.error_over_parameters()
    for name, figure in figures.items():
        write_file(directory.plots / f"{name}.png", png(figure))
    rows = [] if found is None else [vars(row) for row in found.by_parameter]
    directory.write_json("report.json", {**report, "by_parameter": rows})
    return report


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
            return _interrupted(outcome, directory)
        if directory is not None:
            finish_levels(directory, outcome, _head(potential, settings), None)
    for line in outcome.describe():
        tell(line)
    outcome.warn(stacklevel=3)
    return outcome.solution


def _interrupted(outcome: EigenOutcome, directory: RunDirectory | None) -> Eigensolution:
    """Ctrl-C ends the training, and what was learned is given back; other signals end the program."""
    if outcome.interrupted_by != signal.SIGINT:
        raise SystemExit(128 + (outcome.interrupted_by or 0))
    if outcome.steps == 0:
        raise KeyboardInterrupt
    on = "" if directory is None else f"; the state is saved, go on with resume={str(directory.path)!r}"
    warnings.warn(f"interrupted after {outcome.steps:,} steps, nothing was measured{on}", NotSolved, stacklevel=3)
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
