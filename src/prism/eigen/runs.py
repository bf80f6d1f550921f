"""One run from a potential to an eigensolution: compile, train, evaluate, and write it all down."""

import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from prism.eigen.eigensolution import Eigensolution, LevelTraining
from prism.eigen.evaluation import QuickLevels, evaluate_levels
from prism.eigen.network import TensorNetwork
from prism.eigen.settings import EigenSettings
from prism.errors import FailedRun, NotSolved
from prism.files.storage import write_file
from prism.numerics.ahead import TracedFunction, trace
from prism.numerics.compilation import RUNS_ONCE, keep_programs
from prism.numerics.keys import Purpose, child, stream
from prism.numerics.memory import peak_rss_megabytes
from prism.problem.potential import Potential
from prism.reporting.records import RunDirectory
from prism.shapes import Key
from prism.solution.canvas import png
from prism.solution.quick_evaluation import QuickError
from prism.solving.callbacks import Callback
from prism.solving.following import NOTHING
from prism.solving.preparation import Prepared
from prism.solving.sessions import Record, train_session
from prism.training.advance import TrainingState
from prism.training.loop import Budget
from prism.training.program import Program, refuse_too_large

QUICK_WORK = 4e6
"""How many nodes of all coordinates the error shown while training may take."""


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
        solution=Eigensolution(state.model, state.objective.potential, settings, LevelTraining(session.history)),
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
