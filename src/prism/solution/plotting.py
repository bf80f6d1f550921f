"""`solution.plot`: the pictures of a solution, each by its name."""

from typing import TYPE_CHECKING

import numpy as np

from prism.errors import InputError
from prism.networks.model import Model
from prism.numerics.keys import Purpose, child, stream
from prism.problem.family import Family
from prism.solution import pictures
from prism.solution.evaluation import Answers, Evaluation, affordable_points, answers_of, evaluate, held_out_sample
from prism.solution.held_out import residuals_at_pairs
from prism.solution.history import History
from prism.solution.slices import axis_of, slice_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 4_000
"""Held-out points of a distribution, fewer where they are long."""
RESIDUALS = 1_000


class Plots:
    """Pictures of a solution, as figures of matplotlib: `solution.plot.slice("x1", "t", beta=3.0).savefig("u.png")`.

    `solution.plot()` is the first one to look at: how it converged, or, where that is not known, a slice.
    """

    def __init__(self, model: Model, family: Family, history: History, evaluation: Evaluation | None):
        self._model, self._family = model, family
        self._history, self._evaluation = history, evaluation

    def __call__(self) -> "Figure":
        return self.convergence() if self._history else self.slice()

    def convergence(self) -> "Figure":
        """Loss and held-out error over the seconds of training, with the baselines as the lines to get below."""
        if not self._history:
            raise InputError("a solution that was loaded or tuned has no history; its run has plots/convergence.png")
        return pictures.convergence(self._history, self._evaluation)

    def error_over_parameters(self) -> "Figure":
        """The relative L2 error at held-out μ over each of the parameters."""
        if self._evaluation is not None:
            return pictures.error_over_parameters(self._evaluation)
        self._check_exact()
        return pictures.error_over_parameters(evaluate(self._model, self._family, stream(0, Purpose.EVALUATION)))

    def slice(self, across: str | None = None, up: str | None = None, /, **parameters: float) -> "Figure":
        """u over any two coordinates, `x1`, `x2`, ... or `t`, at any μ, the others at the centre; beside the exact
        solution where that is known. Without a μ at the middle of the box, with time also at its ends."""
        domain, space = self._family.domain, self._family.parameters
        first = axis_of(domain, across or "x1")
        second = axis_of(domain, up or ("x2" if domain.time_horizon is None else "t"))
        if first.index == second.index:
            raise InputError(f"a slice needs two different coordinates, not {first.label} twice")
        rows = [space.array(**parameters)] if parameters else None
        return slice_figure(self._model, self._family, first, second, rows)

    def quantiles(self) -> "Figure":
        """How the errors at held-out points are distributed; the residuals, where the truth is not known."""
        if self._family.has_exact:
            return pictures.error_quantiles(self._answers())
        key = child(stream(0, Purpose.EVALUATION), Purpose.QUERIES)
        pairs = int(np.clip(2e7 / self._family.domain.coordinates, 32, RESIDUALS))
        return pictures.residual_quantiles(np.asarray(residuals_at_pairs(self._model, self._family, pairs, key)))

    def predicted_against_exact(self) -> "Figure":
        """Predicted over exact values at held-out points and parameters."""
        self._check_exact()
        return pictures.predicted_against_exact(self._answers())

    def _answers(self) -> Answers:
        count = min(POINTS, affordable_points(self._family.domain.dimension))
        return answers_of(held_out_sample(self._model, self._family, stream(0, Purpose.EVALUATION), count)[0])

    def _check_exact(self) -> None:
        if not self._family.has_exact:
            raise InputError(f"{type(self._family).__name__} has no exact solution to compare with")
