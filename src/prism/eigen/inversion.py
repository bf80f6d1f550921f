"""From measured levels to μ, with 95 % intervals: the same searches and conclusions as from values of u.

    y_n = λ_n(μ) + ε_n

The levels of the network are tabulated once over the box, at Chebyshev's nodes, and interpolated: a search asks for
them some thousand times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Array, Float, Int

from prism.eigen.network import TensorNetwork
from prism.eigen.precise import doubled, levels_at
from prism.errors import InputError
from prism.inversion.conclusions import conclude
from prism.inversion.estimate import Estimate
from prism.inversion.fitting import spread
from prism.inversion.inference import search
from prism.inversion.misfit import Misfit
from prism.inversion.surrogate import from_unit_box
from prism.numerics.arguments import check_kind, check_positive, check_whole, real
from prism.problem.parameters import ParameterSpace
from prism.problem.potential import Potential

MOST_TABULATED = 400
"""μ at which levels are computed, in all."""
MOST_PARAMETERS = 3
"""Beyond which so few nodes are left for each that a table says little."""
STARTS = 16
ROUNDING = 1e-8
"""Relative to the level."""
PROBES = 8
"""Random μ at which a table is compared with what it is of."""


def _placed(space: ParameterSpace, places: Float[Array, "n p"]) -> Float[Array, "n p"]:
    return jax.vmap(lambda one: from_unit_box(space, one))(places)


@dataclass(frozen=True)
class LevelTable:
    """Levels over the unit box, as coefficients of products of Chebyshev's polynomials."""

    coefficients: Float[np.ndarray, "..."]
    """One axis for each parameter, the last for the levels."""

    @staticmethod
    def of(tensor: TensorNetwork, potential: Potential, count: int) -> "LevelTable":
        """Of the network's levels over the trained box."""
        size = potential.parameters.size
        if size > MOST_PARAMETERS:
            raise InputError(f"levels of {size} parameters are too many to tabulate; give {MOST_PARAMETERS} or fewer")
        per_side = int(np.clip(round(MOST_TABULATED ** (1.0 / size)), 3, 16))
        nodes = (1.0 + np.cos(np.pi * (np.arange(per_side) + 0.5) / per_side)) / 2.0
        grid = np.stack(np.meshgrid(*[nodes] * size, indexing="ij"), axis=-1).reshape(-1, size)
        mus = doubled(_placed, potential.parameters, grid)
        found = levels_at(tensor, potential, mus, count)
        values = found.reshape(*[per_side] * size, count)
        inverse = np.linalg.inv(np.polynomial.chebyshev.chebvander(2.0 * nodes - 1.0, per_side - 1))
        for axis in range(size):
            values = np.moveaxis(np.tensordot(inverse, values, axes=(1, axis)), 0, axis)
        return LevelTable(values)

    def relative_error(self, tensor: TensorNetwork, potential: Potential) -> float:
        """The largest at some random μ: levels that cross have kinks, which no polynomial follows."""
        places = np.random.default_rng(0).uniform(size=(PROBES, potential.parameters.size))
        mus = doubled(_placed, potential.parameters, places)
        truth = levels_at(tensor, potential, mus, self.coefficients.shape[-1])
        return float(np.max(np.abs(self.linearised(places)[0] - truth) / np.abs(truth)))

    def linearised(self, s: Float[np.ndarray, "m p"]) -> tuple[np.ndarray, np.ndarray]:
        """λ and ∂λ/∂s."""
        degree, size = self.coefficients.shape[0] - 1, self.coefficients.ndim - 1
        values = np.polynomial.chebyshev.chebvander(2.0 * s - 1.0, degree)
        differentiated = np.polynomial.chebyshev.chebder(np.eye(degree + 1), axis=0)
        changes = 2.0 * np.polynomial.chebyshev.chebvander(2.0 * s - 1.0, degree - 1) @ differentiated
        of = lambda bases: np.stack([self._contracted([bases[a][m] for a in range(size)]) for m in range(len(s))])
        sides = [values[:, a] for a in range(size)]
        changed = lambda axis: [changes[:, a] if a == axis else values[:, a] for a in range(size)]
        return of(sides), np.stack([of(changed(axis)) for axis in range(size)], axis=-1)

    def _contracted(self, bases: Sequence[Float[np.ndarray, "n"]]) -> Float[np.ndarray, "levels"]:
        found = self.coefficients
        for basis in bases:
            found = np.tensordot(basis, found, axes=(0, 0))
        return found


@dataclass(frozen=True)
class LevelMisfit(Misfit):
    """e(s) = λ_n(μ(s)) − y_n for every measurement n, of the level `numbers[n]`."""

    table: LevelTable
    numbers: Int[np.ndarray, "n"]
    values: Float[np.ndarray, "n"]

    @property
    def observations(self) -> int:
        return len(self.values)

    @property
    def count(self) -> int:
        return len(self.values)

    def linearised(self, s: Float[np.ndarray, "m p"]) -> tuple[np.ndarray, np.ndarray]:
        found, changes = self.table.linearised(s)
        return found[:, self.numbers] - self.values, changes[:, self.numbers]


def invert_levels(
    tensor: TensorNetwork,
    potential: Potential,
    levels: int,
    measured: Mapping[int, float | Sequence[float]],
    noise: float | None = None,
    model_error: float = 0.0,
) -> Estimate:
    """μ from measured levels: {0: 71.3, 1: 71.9}, each one number or several; `noise` is their standard deviation."""
    numbers, values = _checked(measured, levels)
    space = potential.parameters
    if noise is not None:
        check_positive("noise", noise)
    elif len(values) <= space.size:
        raise InputError(
            f"{len(values)} measurements of {space.size} parameters do not show their own noise; give noise, the "
            "standard deviation of the levels"
        )
    if not 0.0 <= real("model_error", model_error) < np.inf:
        raise InputError(f"model_error is {model_error:g}; give 0 or a positive number")
    table = LevelTable.of(tensor, potential, levels)
    errors = np.hypot(model_error, np.hypot(ROUNDING, table.relative_error(tensor, potential)))
    misfit = LevelMisfit(table, numbers, values)
    deviation = float(np.mean(np.abs(values)) * errors)
    estimate = conclude(search(misfit, space, spread(STARTS, space.size), noise, deviation))
    estimate.check_finite()
    return estimate


def _checked(measured: Mapping[int, float | Sequence[float]], levels: int) -> tuple[np.ndarray, Float[np.ndarray, "n"]]:
    """Numbers of levels and their values, one row for each measurement."""
    check_kind("what was measured", measured, Mapping, "levels by number, such as {0: 71.3}")
    if not measured:
        raise InputError("no levels were measured; give them by number, such as {0: 71.3}")
    numbers, values = [], []
    for number, given in measured.items():
        check_whole("the number of a level", number, 0)
        if number >= levels:
            raise InputError(
                f"level {number} was measured and the solution has {levels} (0 to {levels - 1}); solve for more"
            )
        several = given if isinstance(given, Sequence | np.ndarray) else [given]
        numbers += [int(number)] * len(several)
        values += [real(f"level {number}", value) for value in several]
    if not np.all(np.isfinite(values)):
        raise InputError("a measured level is not finite; give numbers")
    return np.asarray(numbers, int), np.asarray(values, float)
