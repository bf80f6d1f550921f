"""The picture of an estimate: the likelihood ratio over each parameter, and the interval it makes."""

import numpy as np
from matplotlib.figure import Figure

from prism.inversion.estimate import Estimate, ParameterEstimate
from prism.solution.canvas import BLUE, GREY, RED


def likelihoods(estimate: Estimate) -> Figure:
    """One panel per parameter: Λ with the others re-fitted, its threshold, and the interval shaded."""
    figure = Figure(figsize=(5.0 * len(estimate.parameters), 3.8), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(estimate.parameters)))
    for panel, (name, parameter) in zip(panels, estimate.parameters.items(), strict=True):
        low, high = parameter.interval
        panel.axvspan(low, high, color=BLUE if parameter.identifiable else GREY, alpha=0.15, lw=0)
        panel.plot(parameter.curve.positions, parameter.curve.ratios, ".-", color=BLUE)
        panel.axhline(estimate.threshold, color=RED, ls="--", label="95 % threshold")
        for bound in parameter.bounds:
            panel.axvline(bound, color=GREY, ls=":")
        panel.set(
            title=_title(name, parameter), xlabel=name, ylabel="likelihood ratio Λ", ylim=(0, 3 * estimate.threshold)
        )
        margin = 0.3 * (high - low)
        panel.set_xlim(low - margin, high + margin)
        panel.legend(fontsize=8)
    return figure


def _title(name: str, parameter: ParameterEstimate) -> str:
    if not parameter.identifiable:
        return f"{name}: not identifiable"
    return f"{name} = {parameter.value:.4g} in [{parameter.interval[0]:.4g}, {parameter.interval[1]:.4g}]"
