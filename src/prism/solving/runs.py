"""One run from a family to a Solution: check, compile, train, evaluate, and write it all down."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

from prism.errors import InputError, NotSolved
from prism.networks.model import Model
from prism.numerics.compilation import keep_programs
from prism.numerics.keys import Purpose, stream
from prism.numerics.memory import peak_rss_megabytes
from prism.problem.checks.family import check_family
from prism.problem.family import Family
from prism.solution.evaluation import evaluate
from prism.solution.held_out import HeldOutResidual, held_out_residual
from prism.solution.history import Training
from prism.solution.known_evaluation import evaluate_known
from prism.solution.solution import Solution
from prism.solving.callbacks import Callback
from prism.solving.following import NOTHING, Spent
from prism.solving.preparation import first_state, prepare
from prism.solving.sessions import Record, Session, train_session
from prism.solving.settings import Settings
from prism.solving.verdict import Judgement, doubts, refuse_diverged
from prism.training.loop import Budget


@dataclass(frozen=True)
class Outcome:
    """What a run ended with. `seconds` are of training, trials of lifts included."""

    solution: Solution
    steps: int
    seconds: float
    compile_seconds: float
    trial_seconds: float
    skipped: int
    loss: float | None
    pairs: int
    interrupted_by: int | None
    unmeasured: str | None = None
    """Why its errors could not be measured, where the exact solution is to blame."""

    def report(self) -> dict[str, object]:
        """The figures of the run under the names that scripts read."""
        running, judged = max(self.seconds - self.trial_seconds, 1e-9), self.solution.training.judgement
        return {
            "steps": self.steps,
            "seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
            "trial_seconds": self.trial_seconds,
            "seconds_per_step": running / max(1, self.steps),
            "pairs_per_second": self.pairs * self.steps / running,
            "peak_rss_mb": peak_rss_megabytes(),
            "skipped_steps": self.skipped,
            "loss": self.loss,
            **(judged.as_json() if judged else {}),
            "doubts": list(self.solution.training.doubts),
        }

    def judged_at(self, points: int) -> "Outcome":
        """The same with its errors measured at so many points."""
        return self.with_training(evaluation=self.solution.evaluate(points=points))

    def with_training(self, **changes: Any) -> "Outcome":
        """The same with more known of how it came about."""
        training = replace(self.solution.training, **changes)
        return replace(self, solution=replace(self.solution, training=training))

    def end_if_interrupted(self) -> None:
        """Of a run that is part of another piece of work: the signal that interrupted it ends that too."""
        if self.interrupted_by is not None:
            raise KeyboardInterrupt(self.interrupted_by)

    def describe(self) -> list[str]:
        """What was done and how good the solution is, for a reader."""
        running, judged = max(self.seconds - self.trial_seconds, 1e-9), self.solution.training.judgement
        tried = f" with {self.trial_seconds:.1f} s of trials" if self.trial_seconds else ""
        done = (
            f"{self.steps:,} steps in {self.seconds:.1f} s of training{tried} "
            f"({1e3 * running / max(1, self.steps):.2f} ms per step, {self.pairs * self.steps / running:,.0f} pairs "
            f"per second, peak {peak_rss_megabytes():,.0f} MB), after {self.compile_seconds:.1f} s of preparation"
        )
        return [done, *(judged.describe() if judged else [])]

    def warn(self, stacklevel: int = 2) -> None:
        """One warning for each reason to doubt the solution."""
        for doubt in self.solution.training.doubts:
            warnings.warn(doubt, NotSolved, stacklevel=stacklevel)


def execute(
    family: Family,
    settings: Settings,
    budget: Budget,
    record: Record | None = None,
    show: bool = True,
    check: bool = True,
    judge: bool = True,
    spent: Spent = NOTHING,
    callbacks: tuple[Callback, ...] = (),
) -> Outcome:
    """Train and, where it is to be judged, evaluate; written down, and on from the newest checkpoint, where `record`
    says so.

    `check` tries the family first, for mistakes that a user's own family or parameters may have; the catalogue's are
    tested. `spent` is what trials before it have taken of the budget.
    """
    keep_programs()
    if check:
        check_family(family, stream(settings.seed, Purpose.CHECK))
    prepared = lambda: prepare(family, settings)
    session = train_session(prepared, family, settings.checkpoint_seconds, budget, record, show, spent, callbacks)
    outcome = _outcome(session, settings.sampling.pairs)
    if session.signal is not None or not judge:
        return outcome
    outcome = judged(outcome, settings.seed)
    if outcome.solution.training.judgement is not None:
        before = lambda: _judgement(first_state(family, settings).model, family, settings.seed)
        refuse_diverged(outcome.solution.training.judgement, before)
    return outcome


def judged(outcome: Outcome, seed: int) -> Outcome:
    """With the errors of the final state, or its residual where the truth is not known, and the reasons to doubt it."""
    try:
        found = _judgement(outcome.solution.model, outcome.solution.family, seed)
    except InputError as error:  # the family's; what was trained is kept
        reason = f"how good the solution is is not known: {error}"
        return replace(outcome.with_training(doubts=(reason,)), unmeasured=reason)
    kind = "held_out" if isinstance(found, HeldOutResidual) else "evaluation"
    history = outcome.solution.training.history
    return outcome.with_training(**{kind: found}, doubts=doubts(outcome.steps, found, history))


def _judgement(model: Model, family: Family, seed: int) -> Judgement:
    """The error of a network, or its residual where the truth is not known."""
    key = stream(seed, Purpose.EVALUATION)
    if family.has_exact:
        return evaluate(model, family, key)
    return evaluate_known(model, family, key) if family.has_known_values else held_out_residual(model, family, key)


def _outcome(session: Session, pairs: int) -> Outcome:
    state = session.state
    return Outcome(
        solution=Solution(state.model, state.objective.family, Training(session.history)),
        steps=int(state.step),
        seconds=session.seconds,
        compile_seconds=session.spent.compile_seconds,
        trial_seconds=session.spent.trial_seconds,
        skipped=int(state.skipped),
        loss=session.loss,
        pairs=pairs,
        interrupted_by=session.signal,
    )
