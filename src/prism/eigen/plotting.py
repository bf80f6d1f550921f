"""`solution.plot` of an eigensolution: how it converged, where it errs, its levels over μ, and its functions."""

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.eigen.chain import densities
from prism.eigen.evaluation import LevelEvaluation
from prism.eigen.forms import Product
from prism.eigen.network import TensorNetwork
from prism.eigen.precise import doubled, exact_levels, levels_at
from prism.eigen.quadrature import BLOCK, gauss
from prism.eigen.separable import one_coordinate
from prism.errors import InputError
from prism.problem.potential import Index, Potential
from prism.shapes import Parameter
from prism.solution.canvas import BLUE, GREEN, GREY, RED, canvas
from prism.solution.history import History, errors_over_time, losses_over_time

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN, VANISHED = 400, 1e-4
"""Nodes of a density that is drawn, and the part of its largest value that is not."""
SCANNED = 17
"""μ along one parameter."""


class LevelPlots:
    """Figures of matplotlib: `solution.plot.levels().savefig("levels.png")`."""

    def __init__(
        self,
        network: TensorNetwork,
        potential: Potential,
        count: int,
        history: History,
        evaluation: LevelEvaluation | None,
    ):
        self._network, self._potential, self._count = network, potential, count
        self._history, self._evaluation = history, evaluation

    def __call__(self) -> "Figure":
        return self.convergence() if self._history else self.levels()

    def convergence(self) -> "Figure":
        """The energy per coordinate and the relative error of λ over the seconds of training."""
        if not self._history:
            raise InputError("a solution that was loaded or tuned has no history; its run has plots/convergence.png")
        errors = errors_over_time(self._history)
        figure, panels = canvas(1, 2 if errors else 1, (10.0 if errors else 5.0, 3.8))
        left = np.atleast_1d(panels)[0]
        left.plot(*zip(*losses_over_time(self._history), strict=True), color=BLUE)
        left.set(title="energy per coordinate", xlabel="seconds of training")
        if errors:
            self._errors(panels[1], errors)
        return figure

    def _errors(self, panel: Any, errors: list[tuple[float, float]]) -> None:
        panel.plot(*zip(*errors, strict=True), color=BLUE, label="at a few held-out μ, single precision")
        found = self._evaluation
        if found is not None and found.relative_l2 is not None:
            panel.plot(
                [self._history[-1].seconds], [found.relative_l2], "o", color=BLUE, label="final, double precision"
            )
            for value, label, colour, style in (
                (found.trivial_error, "trivial", GREY, ":"),
                (found.mu_blind_error, "μ-blind", RED, "--"),
            ):
                if value:
                    panel.axhline(value, color=colour, ls=style, label=label)
        panel.set(title="relative error of λ", xlabel="seconds of training", yscale="log")
        panel.legend(fontsize=8)

    def error_over_parameters(self) -> "Figure":
        """The relative error of the lowest level at held-out μ over each parameter."""
        if self._evaluation is None or not self._evaluation.by_parameter:
            raise InputError("errors at held-out parameters are not known; solution.evaluate() measures them")
        rows = self._evaluation.by_parameter
        names = self._potential.parameters.names
        figure, panels = canvas(1, len(names), (5.0 * len(names), 3.8))
        for panel, name in zip(np.atleast_1d(panels), names, strict=True):
            values = [row.mu[name] for row in rows]
            panel.plot(values, [abs(row.relative_error) for row in rows], "o", ms=4, color=BLUE)
            panel.set(xlabel=name, yscale="log", title=f"relative error of λ over {name}")
        return figure

    def levels(self) -> "Figure":
        """λ over each parameter, the others in the middle of the box; dots are the exact levels."""
        space = self._potential.parameters
        figure, panels = canvas(1, space.size, (5.0 * space.size, 3.8))
        for axis, panel in enumerate(np.atleast_1d(panels)):
            mus = np.tile(np.asarray(space.middle(), np.float64), (SCANNED, 1))
            mus[:, axis] = np.linspace(space.lows[axis], space.highs[axis], SCANNED)
            found = levels_at(self._network, self._potential, mus, self._count)
            panel.plot(mus[:, axis], found, color=BLUE, label=["levels", *[None] * (self._count - 1)])
            if self._potential.has_exact:
                exact = exact_levels(self._potential, jnp.asarray(mus, float), self._count)
                panel.plot(mus[:, axis], exact, ".", color=RED, label=["exact", *[None] * (exact.shape[1] - 1)])
            panel.set(xlabel=space.names[axis], title=f"λ over {space.names[axis]}")
            panel.legend(fontsize=8)
        return figure

    def densities(self) -> "Figure":
        """The density of the first coordinate, a middle and the last one, at both ends of the box and between."""
        d, space = self._potential.dimension, self._potential.parameters
        chosen = np.unique([0, d // 2, d - 1])
        figure, panels = canvas(1, len(chosen), (4.2 * len(chosen), 3.6))
        rows = {"lowest μ": space.lows, "middle μ": np.asarray(space.middle()), "highest μ": space.highs}
        for panel, i in zip(np.atleast_1d(panels), chosen, strict=True):
            reach = 0.0
            for (label, mu), colour in zip(rows.items(), (BLUE, GREEN, RED), strict=True):
                at = (np.asarray(mu, np.float64), np.asarray(i))
                positions, density = doubled(_density, self._network, self._potential, *at)
                panel.plot(positions, density, color=colour, label=label)
                reach = max(reach, float(np.max(np.abs(positions[density > VANISHED * density.max()]))))
            panel.set(title=f"density of coordinate {i + 1}", xlabel=f"y{i + 1}", xlim=(-reach, reach))
            panel.legend(fontsize=8)
        return figure


def _density(
    network: TensorNetwork, potential: Potential, mu: Parameter, i: Index
) -> tuple[Float[Array, "q"], Float[Array, "q"]]:
    """∫Ψ² over all other coordinates, at the nodes of one."""
    rule = gauss(DRAWN)
    if not isinstance(network.form, Product):
        return densities(network, potential, mu, i, rule, BLOCK)
    solved = one_coordinate(network.factor(i), network.known(mu, i), potential, mu, i, rule)
    lowest = jnp.linalg.eigh(solved.energies)[1][:, 0]
    return solved.functions.positions, (solved.functions.values @ lowest) ** 2
