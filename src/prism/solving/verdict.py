"""Whether what a training ended with is a solution: one line for each reason to doubt it.

    no step was made · no better than the trivial answer, or than one that ignores μ · a residual that means nothing ·
    still falling fast

Doubts change nothing in the result. They are said by the command line, by `prism.solve` as warnings, and in
report.json. What diverged has no result: `refuse_diverged` ends the run, whose checkpoints stay.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from prism.errors import FailedRun
from prism.solution.evaluation import Evaluation
from prism.solution.held_out import HeldOutResidual
from prism.solution.history import History, errors_over_time, losses_over_time

DIVERGED = 1e3
"""Times as wrong as predicting nothing, and as the network before training."""
Judgement = Evaluation | HeldOutResidual
MEANINGLESS = 0.1
"""A residual above this part of that of predicting nothing says little about the solution."""
FALLING = 4.0
"""How many times smaller the error of the end is than that of the middle where a training is cut off too early: a rate
that decays to zero makes a settled one about twice as good in its second half."""
SETTLED = 0.01
"""Of the trivial answer's error: below it a solution is one, though more minutes would make it better."""
FEWEST_RECORDS = 8
MIDDLE, END = (0.4, 0.6), (0.9, 1.0)
"""Parts of the training over which an error is averaged."""


def refuse_diverged(judged: Judgement, untrained: Callable[[], Judgement]) -> None:
    """Raise a FailedRun where the error, or the residual where the truth is not known, is large and DIVERGED times that
    of the network before training, which is judged only where it matters."""
    if judged.size <= DIVERGED or judged.size <= DIVERGED * untrained().size:
        return
    raise FailedRun(
        f"training diverged: it ended {judged.size:.2g} times as wrong as predicting nothing, more than {DIVERGED:g} "
        "times as wrong as it began; train it again at a lower rate"
    )


def doubts(steps: int, judged: Evaluation | HeldOutResidual | None, history: History) -> tuple[str, ...]:
    """Every reason to doubt that the training ended with a solution, worst first."""
    if steps == 0:
        return ("no step was made: this network is not trained; give it more minutes or steps",)
    found = [] if judged is None else [_above_trivial(judged) or _ignores_parameter(judged), _meaningless(judged)]
    settled = judged is not None and judged.size <= SETTLED * judged.trivial_size
    found.append(None if settled else _still_falling(history))
    return tuple(doubt for doubt in found if doubt is not None)


def _above_trivial(judged: Evaluation | HeldOutResidual) -> str | None:
    if judged.is_better_than_trivial:
        return None
    return (
        f"no better than the trivial answer ({judged.size:.2g} against {judged.trivial_size:.2g}): "
        "train longer, or try another lift or estimator"
    )


def _ignores_parameter(judged: Evaluation | HeldOutResidual) -> str | None:
    if judged.skill is None or judged.skill < 1.0 or judged.is_as_good_as_can_be_told:
        return None
    return f"no better than the best answer that ignores the parameters (skill {judged.skill:.2g}): train longer"


def _meaningless(judged: Evaluation | HeldOutResidual) -> str | None:
    if judged.residual is None or judged.residual <= MEANINGLESS:  # one that is not a number is neither
        return None
    return (
        f"the residual is still {100 * judged.residual:.2g} % of that of predicting nothing, which says little about "
        "u: train longer, or look at the constraint and at where points are drawn"
    )


def _still_falling(history: History) -> str | None:
    """By the error where it is known, else by the root of the loss, which is of the residual's size."""
    curve = [(seconds, error) for seconds, error in errors_over_time(history) if error > 0.0]
    if len(curve) < FEWEST_RECORDS:
        curve = [(seconds, math.sqrt(loss)) for seconds, loss in losses_over_time(history) if loss > 0.0]
    fall = fall_in_the_second_half(curve)
    if fall is None or fall < FALLING:
        return None
    return f"still falling fast, {fall:.1f} times in the second half of the training: more minutes would help"


def fall_in_the_second_half(curve: Sequence[tuple[float, float]]) -> float | None:
    """The size in the middle of a curve over time, divided by that at its end; None where it is too short to tell."""
    if len(curve) < FEWEST_RECORDS:
        return None
    seconds, sizes = np.asarray(curve, float).T
    parts = (seconds - seconds[0]) / max(seconds[-1] - seconds[0], np.finfo(float).tiny)
    middle, end = (np.log(sizes[(low <= parts) & (parts <= high)]) for low, high in (MIDDLE, END))
    return float(np.exp(middle.mean() - end.mean())) if len(middle) and len(end) else None
