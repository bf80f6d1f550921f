"""The trained artifact: u(x; μ) for any point and any parameter of the family."""

import functools
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float

from prism.errors import BeyondTraining, InputError, NotImproved
from prism.networks.model import Model
from prism.networks.tunable import Tunable
from prism.numerics.keys import Purpose, stream
from prism.numerics.texts import counted
from prism.problem.family import Family
from prism.problem.laws import evaluated_by
from prism.problem.points import Draw, Law
from prism.shapes import Parameter
from prism.solution import artifacts, prediction
from prism.solution.canvas import png
from prism.solution.cards import card
from prism.solution.evaluation import Evaluation, evaluate
from prism.solution.explorer.content import explored
from prism.solution.explorer.page import Page
from prism.solution.explorer.subject import Subject
from prism.solution.export import export
from prism.solution.gridded import dataset
from prism.solution.history import UNKNOWN, History, Training
from prism.solution.known_evaluation import evaluate_known
from prism.solution.limits import Limits, as_rows, asking_level, is_traced
from prism.solution.plotting import Plots
from prism.solution.slices import thumbnail
from prism.solution.trust import Calibration, Trust, calibrate, judge, scaled_residuals
from prism.solution.tuning import DEFAULT_TUNABLES, fine_tune

if TYPE_CHECKING:
    from xarray import Dataset


class Solution(eqx.Module):
    """u(x; μ): call it with points and named parameters.

    `solution(x, mu1=0.7, mu2=1.2)` for one point or a batch of them; each parameter a number or one per point. Asked
    beyond what was trained it answers with a `BeyondTraining` warning; `solution.inside_only()` refuses.
    """

    model: Model
    family: Family
    training: Training = eqx.field(static=True, default=UNKNOWN)
    """How it came about: history, errors and doubts."""
    tuned_at: Parameter | None = None
    """The one μ that it was tuned for."""
    strict: bool = eqx.field(static=True, default=False)
    """Whether it refuses to answer beyond what was trained."""

    def __call__(self, x: Array, /, **parameters: float | Array) -> Float[Array, "..."]:
        return self._ask(prediction.value, x, parameters)

    def gradient(self, x: Array, /, **parameters: float | Array) -> Float[Array, "... coordinates"]:
        """∇ₓu at the points."""
        return self._ask(prediction.gradient, x, parameters)

    def sensitivity(self, x: Array, /, **parameters: float | Array) -> dict[str, Float[Array, "..."]]:
        """∂u/∂μ at the points, by the name of each parameter."""
        found = self._ask(prediction.sensitivity, x, parameters)
        return {name: found[..., index] for index, name in enumerate(self.family.parameters.names)}

    def _ask(self, function: prediction.PointFunction, x: Array, parameters: Mapping[str, float | Array]) -> Array:
        points, mu = prediction.asked_points(self.family, x, parameters)
        traced = is_traced(points, mu, self.tuned_at)
        complaints = [] if traced else self.limits.complaints(*as_rows(points, mu))
        if complaints and self.strict:
            raise InputError(f"{'; '.join(complaints)}. Refused by inside_only(); without it, this is a warning")
        for complaint in complaints:
            warnings.warn(complaint, BeyondTraining, stacklevel=asking_level(sys._getframe()))
        return prediction.at_points(function, self.model, self.family, points, mu)

    @property
    def limits(self) -> Limits:
        """Where it was trained."""
        return Limits(self.family.parameters, self.family.domain.region, self._tuned_parameters)

    @property
    def _tuned_parameters(self) -> dict[str, float] | None:
        """By name."""
        values = None if self.tuned_at is None else [float(value) for value in self.tuned_at]
        return None if values is None else dict(zip(self.family.parameters.names, values, strict=True))

    def inside_only(self) -> "Solution":
        """The same solution, which raises an `InputError` where it is asked beyond what was trained."""
        return replace(self, strict=True)

    def outside(self, /, **parameters: float) -> list[str]:
        """The parameters that lie outside the space that was trained, or differ from what it was tuned for."""
        mu = self.family.parameters.array(**parameters)
        beyond = np.atleast_1d(self.limits.parameters_outside(mu[None])[0])
        return [name for name, far in zip(self.family.parameters.names, beyond, strict=True) if far]

    def is_outside(self, x: Array, /, **parameters: float | Array) -> Bool[np.ndarray, "..."]:
        """For each point whether it, or its μ, lies beyond what was trained."""
        points, mu = prediction.asked_points(self.family, x, parameters)
        return self.limits.outside(*as_rows(points, mu)).reshape(points.shape[:-1])

    def evaluate(self, seed: int = 0, points: int | None = None, law: Law | Draw | None = None) -> Evaluation:
        """Errors and baselines on held-out parameters and points; where the family knows its solution at some points
        alone, at these.

        `law` draws the points in place of the domain: `solution.evaluate(law=prism.Near(jnp.zeros(100), 0.01))`.
        """
        key = stream(seed, Purpose.EVALUATION)
        if self.family.has_known_values and not self.family.has_exact:
            if law is not None:
                raise InputError("the solution is known at some points alone, and measured there; leave out the law")
            return evaluate_known(self.model, self.family, key)
        return evaluate(self.model, self.family if law is None else evaluated_by(self.family, law), key, points)

    @property
    def history(self) -> History:
        """What was recorded while it was trained: step, seconds, loss, error. Of a loaded solution nothing."""
        return self.training.history

    @property
    def plot(self) -> Plots:
        """Its pictures: `solution.plot()`, `solution.plot.slice("x1", "x2", mu1=0.7, mu2=1.2)`, ..."""
        return Plots(self.model, self.family, self.history, self.training.evaluation)

    @functools.cached_property
    def calibration(self) -> Calibration:
        """How error and residual are related over the trained space: measured when it is first asked for."""
        return calibrate(self.model, self.family)

    def trust(self, /, **parameters: float) -> Trust:
        """What speaks for and against it at one μ: `solution.trust(mu1=2.0, mu2=1.2)`. The first call calibrates."""
        return judge(self.model, self.family, self.family.parameters.array(**parameters), self.calibration)

    def fine_tune(
        self,
        /,
        *,
        seconds: float = 20.0,
        parts: Sequence[Tunable] | None = None,
        seed: int = 0,
        **parameters: float,
    ) -> "Solution":
        """A solution for one μ, inside or outside the trained space: `solution.fine_tune(mu1=2.0, mu2=1.2)`.

        `seconds` bounds the time, compilation included; `parts` are the numbers that may change (all of `Diagonals()`,
        `Modulators()` and `LastLayer()` unless given); `seed` draws the points. `prism.solution.tuning.fine_tune` also
        gives the residuals before and after. Where nothing was gained, a `NotImproved` warning says what to do instead.
        """
        mu = self.family.parameters.array(**parameters)
        tuned = fine_tune(self.model, self.family, mu, DEFAULT_TUNABLES if parts is None else parts, seconds, seed)
        if not tuned.gained:
            warnings.warn(tuned.advice, NotImproved, stacklevel=asking_level(sys._getframe()))
        return Solution(tuned.model, self.family, tuned_at=mu, strict=self.strict)

    def save(self, path: str | Path, problem: Mapping[str, object] | None = None) -> None:
        """Write it as a directory, for `prism.load`; `problem` tells how to build its family again."""
        artifacts.save(self.model, self.family, Path(path), problem, self._tuned_parameters)

    def export(self, path: str | Path, force: bool = False) -> dict[str, object]:
        """Write it as StableHLO and for NumPy alone, for where PRISM is not; returns how well both agree with it."""
        return export(self.model, self.family, self.limits, Path(path), force)

    def explore(self, coordinates: Sequence[str] | None = None, progress: bool = True) -> Page:
        """A page with sliders, which a notebook shows: `solution.explore().save("solution.html")` makes it a file.

        `coordinates` are those that can be chosen, such as ("x1", "x17"); time can be chosen wherever there is time.
        The first page calibrates the trust, as `trust` does.
        """
        subject = Subject(self.model, self.family, self.limits)
        return explored(subject, lambda: self.calibration, coordinates, self.describe(), progress)

    def to_xarray(self, /, **coordinates: float | Sequence[float] | np.ndarray | Array) -> "Dataset":
        """u on a grid as an xarray.Dataset: `solution.to_xarray(x1=np.linspace(-1, 1, 101), t=0.3, mu1=[0.7, 1.2])`.

        Coordinates of the point and parameters are numbers or arrays; an array makes a dimension. Coordinates of space
        that are not named are at the centre, parameters and time have to be named. Where the family knows its solution,
        it and the error stand beside u. Needs the extra `prism-pde[explore]`.
        """
        return dataset(self.model, self.family, self.limits, coordinates, self.strict)

    def _repr_html_(self) -> str:
        """What a notebook shows: the same as text with how far to trust it, a small picture, no script."""
        lines = [*self.describe(), self._trusted()]
        return card(lines[0], lines[1:], png(thumbnail(self.model, self.family), 100))

    def _trusted(self) -> str:
        """The error at the middle μ as `trust` estimates it, once it is calibrated; until then the residual there."""
        mu = self.family.parameters.middle()
        if "calibration" in self.__dict__:
            found = judge(self.model, self.family, mu, self.calibration)
            known = f"residual {found.residual:.2g}" if found.error is None else f"estimated error {found.error:.2g}"
            return f"at the middle μ: {known}"
        residual = scaled_residuals(self.model, self.family, mu[None])[0]
        return f"at the middle μ: residual {residual:.2g} (0 is exact, 1 as wrong as predicting nothing)"

    def __repr__(self) -> str:
        return "\n  ".join(self.describe())

    def describe(self) -> list[str]:
        """What it solves, of what it is made, how good it is."""
        space, leaves = self.family.parameters, jax.tree.leaves(eqx.filter(self.model, eqx.is_inexact_array))
        box = ", ".join(f"{name} in [{low:g}, {high:g}]" for name, (low, high) in space.bounds().items())
        domain, weights = self.family.domain, sum(leaf.size for leaf in leaves)
        time = "" if domain.time_horizon is None else f" and time up to {domain.time_horizon:g}"
        lines = [
            f"Solution of {type(self.family).__name__} in {counted(domain.dimension, 'dimension')}{time}, {box}",
            f"{self.model.depth} layers of {self.model.manifold.readout.shape[0]}, {weights:,} weights",
        ]
        if (tuned := self._tuned_parameters) is not None:
            lines.append(f"tuned at {', '.join(f'{name} = {value:g}' for name, value in tuned.items())}")
        if self.history:
            lines.append(f"trained for {self.history[-1].step:,} steps in {self.history[-1].seconds:.0f} s")
        if self.training.judgement is not None:
            lines.append(self.training.judgement.summary())
        return [*lines, *[f"doubtful: {doubt}" for doubt in self.training.doubts]]


def load(path: str | Path, family: Family) -> Solution:
    """The solution saved at `path`, or that of the run there: `prism.load("heat", family=Heat(...))`, the family as it
    was when solved."""
    stored = artifacts.read(artifacts.model_directory(Path(path)))
    return restored(stored, family)


def restored(stored: artifacts.Stored, family: Family) -> Solution:
    """The solution that a directory holds."""
    model, whole = stored.restore(family)
    tuned_at = None if stored.tuned_at is None else family.parameters.array(**stored.tuned_at)
    return Solution(model, whole, tuned_at=tuned_at)
