"""Pictures of a solution: how it converged, where in μ it errs, how its errors are distributed."""

from typing import TYPE_CHECKING, Any

import numpy as np

from prism.solution.canvas import BLUE, GREEN, GREY, RED, canvas
from prism.solution.evaluation import Answers, Evaluation
from prism.solution.history import History, errors_over_time, losses_over_time

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BASELINES = (("trivial_error", "trivial", GREY, ":"), ("mu_blind_error", "μ-blind", RED, "--"))
MOST_SHOWN = 4_000
"""Points of a scatter plot."""


def convergence(history: History, evaluation: Evaluation | None) -> "Figure":
    """Loss and, where it is known, held-out error against training time, with the baselines as the lines to get
    below."""
    errors = errors_over_time(history)
    if not errors and evaluation is None:
        figure, left = canvas(1, 1, (5.0, 3.8))
    else:
        figure, (left, right) = canvas(1, 2, (10.0, 3.8))
        _errors_over_time(right, history, errors, evaluation)
    _over_time(left, losses_over_time(history), None)
    left.set(title="loss (1 = predicting nothing)")
    return figure


def _errors_over_time(
    panel: Any, history: History, errors: list[tuple[float, float]], evaluation: Evaluation | None
) -> None:
    _over_time(panel, errors, "held-out error, small sample")
    if evaluation is not None:
        for attribute, label, colour, style in BASELINES:
            panel.axhline(getattr(evaluation, attribute), color=colour, ls=style, label=label)
        if evaluation.affine_error is not None:
            panel.axhline(evaluation.affine_error, color=GREEN, ls="-.", label="affine in x")
        last = [record.seconds for record in history[-1:]]
        panel.plot(last, [evaluation.relative_l2] * len(last), "o", color=BLUE, label="final, full sample")
    panel.set(title="relative L2 error")
    panel.legend(fontsize=8)


def _over_time(panel: Any, curve: list[tuple[float, float]], label: str | None) -> None:
    """A curve on a logarithmic scale over seconds of training, from zero."""
    if curve:
        panel.plot(*zip(*curve, strict=True), color=BLUE, label=label, marker="." if len(curve) < 3 else None)
    panel.set(xlabel="seconds of training", yscale="log")
    panel.set_xlim(left=0.0)


def error_over_parameters(evaluation: Evaluation) -> "Figure":
    """Relative L2 error at each held-out μ against each of its coordinates, with both baselines at the same μ."""
    names = list(evaluation.by_parameter[0].mu)
    figure, panels = canvas(1, len(names), (5.0 * len(names), 3.8))
    for panel, name in zip(np.atleast_1d(panels), names, strict=True):
        rows = sorted(evaluation.by_parameter, key=lambda row: row.mu[name])
        values = [row.mu[name] for row in rows]
        for attribute, label, colour, _ in BASELINES:
            panel.plot(values, [getattr(row, attribute) for row in rows], ".", ms=4, color=colour, label=label)
        panel.plot(values, [row.relative_l2 for row in rows], "o", ms=4, color=BLUE, label="this run")
        panel.set(xlabel=name, yscale="log", title=f"relative L2 error over {name}")
        if min(values) > 0 and max(values) / min(values) > 30:
            panel.set_xscale("log")
        panel.legend(fontsize=8)
    return figure


def error_quantiles(answers: Answers) -> "Figure":
    """Below which error how many of the held-out points lie, beside the same of the baselines."""
    size = float(np.sqrt(np.mean(answers.truth**2)))
    curves = {
        "this solution": (answers.predicted, BLUE, "-"),
        "trivial": (answers.trivial, GREY, ":"),
        "μ-blind": (answers.blind, RED, "--"),
    }
    figure, panel = canvas(1, 1, (5.6, 4.0))
    for label, (answer, colour, style) in curves.items():
        _quantiles(panel, np.abs(answer - answers.truth) / size, label, colour, style)
    panel.set(title="errors of held-out points", xlabel="|û − u| over the root mean square of u")
    panel.legend(fontsize=8)
    return figure


def residual_quantiles(residuals: np.ndarray) -> "Figure":
    """Below which residual how many of the held-out points lie."""
    figure, panel = canvas(1, 1, (5.6, 4.0))
    _quantiles(panel, np.abs(residuals), "this solution", BLUE, "-")
    panel.set(title="residuals of held-out points", xlabel="|r| over that of predicting nothing")
    panel.legend(fontsize=8)
    return figure


def _quantiles(panel: Any, sizes: np.ndarray, label: str, colour: str, style: str) -> None:
    """The share of sizes below each."""
    ordered = np.sort(sizes)
    panel.plot(ordered, np.arange(1, len(ordered) + 1) / len(ordered), color=colour, ls=style, label=label)
    panel.plot(ordered[len(ordered) // 2], 0.5, "o", color=colour, ms=4)
    panel.set(ylabel="share of points below", ylim=(0.0, 1.0), xscale="log")


def predicted_against_exact(answers: Answers) -> "Figure":
    """Every held-out point: on the diagonal where the prediction is exact."""
    shown = slice(0, MOST_SHOWN)
    truth, predicted = answers.truth[shown], answers.predicted[shown]
    figure, panel = canvas(1, 1, (4.6, 4.4))
    ends = [float(np.min(truth)), float(np.max(truth))]
    panel.plot(ends, ends, color=GREY, lw=1, label="exact")
    panel.plot(truth, predicted, ".", ms=3, color=BLUE, label="held-out points")
    panel.set(xlabel="exact u", ylabel="predicted u", title="predicted against exact", aspect="equal")
    panel.legend(fontsize=8)
    return figure
