"""The trained artifact: u(x; μ) for any point and any parameter of the family."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import equinox as eqx
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.networks.model import Model
from prism.networks.tunable import Tunable
from prism.numerics.keys import Purpose, stream
from prism.problem.family import Family
from prism.problem.laws import evaluated_by
from prism.problem.points import Draw, Law
from prism.solution import artifacts, prediction
from prism.solution.evaluation import Evaluation, evaluate
from prism.solution.export import export
from prism.solution.known_evaluation import evaluate_known
from prism.solution.trust import Calibration, Trust, calibrate, judge
from prism.solution.tuning import DEFAULT_TUNABLES, fine_tune


class Solution(eqx.Module):
    """u(x; μ): call it with points and named parameters.

    `solution(x, mu1=0.7, mu2=1.2)` for one point or a batch of them; each parameter a number or one per point.
    """

    model: Model
    family: Family

    def __call__(self, x: Array, **parameters: float | Array) -> Float[Array, "..."]:
        return prediction.at_points(prediction.value, self.model, self.family, x, parameters)

    def gradient(self, x: Array, **parameters: float | Array) -> Float[Array, "... coordinates"]:
        """∇ₓu at the points."""
        return prediction.at_points(prediction.gradient, self.model, self.family, x, parameters)

    def sensitivity(self, x: Array, **parameters: float | Array) -> dict[str, Float[Array, "..."]]:
        """∂u/∂μ at the points, by the name of each parameter."""
        found = prediction.at_points(prediction.sensitivity, self.model, self.family, x, parameters)
        return {name: found[..., index] for index, name in enumerate(self.family.parameters.names)}

    def outside(self, **parameters: float) -> list[str]:
        """The parameters that lie outside the space that was trained."""
        return prediction.outside(self.family, parameters)

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

    @functools.cached_property
    def calibration(self) -> Calibration:
        """How error and residual are related over the trained space: measured when it is first asked for."""
        return calibrate(self.model, self.family)

    def trust(self, **parameters: float) -> Trust:
        """What speaks for and against it at one μ: `solution.trust(mu1=2.0, mu2=1.2)`. The first call calibrates."""
        return judge(self.model, self.family, self.family.parameters.array(**parameters), self.calibration)

    def fine_tune(
        self,
        *,
        seconds: float = 20.0,
        parts: Sequence[Tunable] | None = None,
        seed: int = 0,
        **parameters: float,
    ) -> "Solution":
        """A solution for one μ, inside or outside the trained space: `solution.fine_tune(mu1=2.0, mu2=1.2)`.

        `seconds` bounds the time, compilation included; `parts` are the numbers that may change (all of `Diagonals()`,
        `Modulators()` and `LastLayer()` unless given); `seed` draws the points. `prism.solution.tuning.fine_tune` also
        gives the residuals before and after.
        """
        mu = self.family.parameters.array(**parameters)
        tunables = DEFAULT_TUNABLES if parts is None else parts
        return Solution(fine_tune(self.model, self.family, mu, tunables, seconds, seed).model, self.family)

    def save(self, path: str | Path, problem: Mapping[str, object] | None = None) -> None:
        """Write it as a directory, for `prism.load`; `problem` tells how to build its family again."""
        artifacts.save(self.model, self.family, Path(path), problem)

    def export(self, path: str | Path, force: bool = False) -> dict[str, object]:
        """Write it as StableHLO and for NumPy alone, for where PRISM is not; returns how well both agree with it."""
        return export(self.model, self.family, Path(path), force)


def load(path: str | Path, family: Family) -> Solution:
    """The solution saved at `path`: `prism.load("heat", family=Heat(...))`, the family as it was when solved."""
    return Solution(*artifacts.read(Path(path)).restore(family))
