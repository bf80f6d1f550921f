"""The trained artifact of an eigenvalue problem: levels and wave functions at any parameter."""

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from prism.eigen import artifacts
from prism.eigen.evaluation import LevelEvaluation, evaluate_levels
from prism.eigen.export import export
from prism.eigen.inversion import invert_levels
from prism.eigen.levels import log_wave
from prism.eigen.network import TensorNetwork
from prism.eigen.plotting import LevelPlots
from prism.eigen.precise import NODES, derivatives_at, doubled, levels_at
from prism.eigen.quadrature import BLOCK, gauss
from prism.eigen.settings import EigenSettings, usual_optimiser, usual_sampling
from prism.eigen.trust import LevelTrust, judge_levels
from prism.eigen.tuning import TunedLevels, tune_levels
from prism.errors import BeyondTraining, InputError, NotImproved
from prism.inversion.estimate import Estimate
from prism.numerics.keys import Purpose, stream
from prism.problem.parameters import ParameterSpace
from prism.problem.potential import Potential
from prism.shapes import Named, Parameter
from prism.solution.artifacts import model_directory
from prism.solution.history import History
from prism.solution.limits import SAME, asking_level


@dataclass(frozen=True, eq=False)
class LevelTraining:
    """How an eigensolution came about; of a loaded one nothing is known."""

    history: History = ()
    evaluation: LevelEvaluation | None = None
    doubts: tuple[str, ...] = ()


class Eigensolution(eqx.Module):
    """λ_0(μ), λ_1(μ), ... and Ψ(y; μ): call it with named parameters.

    `solution(mu1=1.0, mu2=0.5)` gives the levels, from below, in double precision. Asked outside the trained box it
    answers with a `BeyondTraining` warning.
    """

    network: TensorNetwork
    potential: Potential
    settings: EigenSettings = eqx.field(static=True)
    training: LevelTraining = eqx.field(static=True, default=LevelTraining())
    tuned_at: tuple[float, ...] | None = eqx.field(static=True, default=None)
    """The one μ that it was tuned for."""

    def __call__(self, /, **parameters: float) -> Float[np.ndarray, "levels"]:
        return levels_at(self.network, self.potential, self._asked(parameters)[None], self.settings.levels)[0]

    def derivative(self, /, **parameters: float) -> dict[str, Float[np.ndarray, "levels"]]:
        """∂λ/∂μ of every level by Hellmann and Feynman's formula, by the name of each parameter."""
        found = derivatives_at(self.network, self.potential, self._asked(parameters), self.settings.levels)[0]
        return {name: found[:, index] for index, name in enumerate(self.potential.parameters.names)}

    def wave(
        self, y: Array | np.ndarray, /, *, level: int = 0, **parameters: float
    ) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
        """sign Ψ and log |Ψ| at one point or at rows of them, for Ψ of norm 1: in many dimensions Ψ itself has no
        number. `level` chooses the wave function."""
        if level not in range(self.settings.levels):
            raise InputError(f"level {level} of {self.settings.levels}; give 0 to {self.settings.levels - 1}")
        points = np.atleast_2d(np.asarray(y, float))
        if points.ndim != 2 or points.shape[1] != self.potential.dimension:
            raise InputError(
                f"the points are of shape {np.shape(y)}; give {self.potential.dimension:,} coordinates in each row"
            )
        sign, log = doubled(_waves, self.network, self.potential, self._asked(parameters), points, level=level)
        shape = np.shape(y)[:-1]
        return sign.reshape(shape), log.reshape(shape)

    def trust(self, /, **parameters: float) -> LevelTrust:
        """Bounds of the lowest level, the deviation of its local energy, and checks, at one μ."""
        mu = self._asked(parameters, warn=False)
        return judge_levels(self.network, self.potential, mu, tuple(self.outside(**parameters)))

    def fine_tune(self, /, *, seconds: float = 20.0, seed: int = 0, **parameters: float) -> "Eigensolution":
        """A solution for one μ, inside or outside the trained box; `NotImproved` warns where nothing was gained."""
        tuned = self.tuned(self._asked(parameters, warn=False), seconds, seed)
        if not tuned.gained:
            warnings.warn(tuned.advice, NotImproved, stacklevel=asking_level(sys._getframe()))
        return self.at(tuned, parameters)

    def tuned(self, mu: Float[np.ndarray, "p"], seconds: float, seed: int = 0) -> TunedLevels:
        """What tuning found, with the levels before and after."""
        return tune_levels(self.network, self.potential, self.settings, mu, seconds, seed)

    def at(self, tuned: TunedLevels, parameters: Mapping[str, float]) -> "Eigensolution":
        """This solution with a network that was tuned for these parameters."""
        names = self.potential.parameters.names
        return Eigensolution(
            tuned.network, self.potential, self.settings, tuned_at=tuple(float(parameters[name]) for name in names)
        )

    def invert(
        self,
        measured: Mapping[int, float | Sequence[float]],
        *,
        noise: float | None = None,
        model_error: float = 0.0,
    ) -> Estimate:
        """μ from measured levels, `{0: 71.3, 1: 71.9}`, with 95 % intervals and what the data leave open; `noise` is
        their standard deviation, `model_error` the relative error of the solution's levels."""
        self._refuse_tuned("inverted")
        return invert_levels(self.network, self.potential, self.settings.levels, measured, noise, model_error)

    def named(self, /, **parameters: float) -> Named:
        """μ as `Potential.single` and `prism.ground_level` read it."""
        mu = self._asked(parameters, warn=False)
        return Named(dict(zip(self.potential.parameters.names, map(float, mu), strict=True)))

    def evaluate(self, seed: int = 0) -> LevelEvaluation:
        """Errors and baselines at held-out parameters."""
        key = stream(seed, Purpose.EVALUATION)
        return evaluate_levels(self.network, self.potential, self.settings.levels, key)

    def outside(self, /, **parameters: float) -> list[str]:
        """The parameters that lie outside the trained box, or differ from what it was tuned for."""
        space, mu = self.potential.parameters, self._asked(parameters, warn=False)
        lows, highs = np.asarray(space.lows), np.asarray(space.highs)
        margin = SAME * np.maximum(highs - lows, np.maximum(np.abs(lows), np.abs(highs)))
        if self.tuned_at is not None:
            lows = highs = np.asarray(self.tuned_at)
        beyond = (mu < lows - margin) | (mu > highs + margin)
        return [name for name, far in zip(space.names, beyond, strict=True) if far]

    @property
    def history(self) -> History:
        """What was recorded while it was trained."""
        return self.training.history

    @property
    def plot(self) -> LevelPlots:
        """Its pictures: `solution.plot.levels()`, `solution.plot.densities()`, ..."""
        return LevelPlots(
            self.network, self.potential, self.settings.levels, self.training.history, self.training.evaluation
        )

    def save(self, path: str | Path, problem: Mapping[str, object] | None = None) -> None:
        """Write it as a directory, for `prism.load_eigensolution`."""
        names, settings = self.potential.parameters.names, self.settings
        tuned = None if self.tuned_at is None else dict(zip(names, self.tuned_at, strict=True))
        artifacts.save(self.network, settings.architecture, self.potential, settings.levels, Path(path), problem, tuned)

    def export(self, path: str | Path, force: bool = False) -> dict[str, object]:
        """Write it for NumPy alone and as StableHLO, for where PRISM is not; returns how well both agree with it."""
        self._refuse_tuned("exported")
        return export(self.network, self.potential, self.settings.levels, Path(path), force)

    def _refuse_tuned(self, what: str) -> None:
        """Refuse what takes the whole box of parameters."""
        if self.tuned_at is not None:
            raise InputError(f"a solution that was tuned for one μ is not {what} over all; take the one it came from")

    def _asked(self, parameters: Mapping[str, float], warn: bool = True) -> Float[np.ndarray, "p"]:
        """μ in double precision."""
        mu = double_parameter(self.potential.parameters, parameters)
        if warn and (names := self.outside(**parameters)):
            warnings.warn(
                f"levels are asked for {', '.join(names)} outside what was trained; `trust` tells how far they hold",
                BeyondTraining,
                stacklevel=asking_level(sys._getframe()),
            )
        return mu

    def __repr__(self) -> str:
        bounds = ", ".join(
            f"{name} in [{low:g}, {high:g}]" for name, (low, high) in self.potential.parameters.bounds().items()
        )
        return f"Eigensolution of {type(self.potential).__name__} in {self.potential.dimension:,} dimensions, {bounds}"


def double_parameter(space: ParameterSpace, parameters: Mapping[str, float]) -> Float[np.ndarray, "p"]:
    """μ of named values as it was given, without rounding to single precision."""
    space.array(**parameters)  # refuses what is not named, or no number
    return np.asarray([float(parameters[name]) for name in space.names], np.float64)


def _waves(
    network: TensorNetwork, potential: Potential, mu: Parameter, points: Array, level: int
) -> tuple[Array, Array]:
    one = lambda y: log_wave(network, potential, mu, y, level, gauss(NODES), BLOCK)
    return jax.lax.map(one, points)


def load_eigensolution(path: str | Path, potential: Potential) -> Eigensolution:
    """An eigensolution that was saved, or that of a finished run, for the potential that was solved."""
    return restored(artifacts.read(model_directory(Path(path))), potential)


def restored(stored: artifacts.StoredLevels, potential: Potential) -> Eigensolution:
    """The solution of what was stored."""
    network, potential = stored.restore(potential)
    told = stored.description
    form, architecture = told.network.build()
    optimiser = usual_optimiser(form, architecture)
    sampling = usual_sampling(potential, form, architecture, optimiser)
    settings = EigenSettings(form, architecture, optimiser, sampling, told.levels)
    names = potential.parameters.names
    tuned = None if told.tuned_at is None else tuple(told.tuned_at[name] for name in names)
    return Eigensolution(network, potential, settings, tuned_at=tuned)
