"""u on a grid of coordinates and parameters, as an xarray.Dataset whose plots carry their labels."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

import prism
from prism.errors import InputError
from prism.networks.model import Model
from prism.numerics.arguments import shown
from prism.numerics.extras import extra_module
from prism.numerics.texts import shortened
from prism.problem.docstrings import docstring
from prism.problem.family import Family
from prism.solution.limits import Limits
from prism.solution.prediction import PairFunction, at_places, exact, value
from prism.solution.slices import axis_of

if TYPE_CHECKING:
    from xarray import Dataset

MOST_POINTS, MOST_DIMENSIONS = 20_000_000, 32
"""Of a grid."""
CHUNK_COORDINATES = 20_000_000
"""Coordinates of the points that are made at once to tell where they lie."""
CHUNK_POINTS = 100_000
LONGEST_TEXT = 200
"""Characters of an attribute."""
MEANINGS = {"u": "û, prediction", "exact": "u, exact", "error": "û − u, error", "outside": "beyond training"}


def dataset(
    model: Model, family: Family, limits: Limits, coordinates: Mapping[str, Any], strict: bool = False
) -> "Dataset":
    """u on a grid of named coordinates and parameters, beside the exact solution, the error and what lies beyond
    training, which is refused where `strict`."""
    xarray, grid = extra_module("xarray", "explore"), Grid.of(family, coordinates)
    outside = grid.outside(limits)
    if strict and (count := int(outside.sum())):
        raise InputError(f"{count:,} of {outside.size:,} points of the grid lie beyond what was trained")
    found: dict[str, np.ndarray] = {"u": grid.values(eqx.Partial(value, model, family))}
    if family.has_exact:
        found |= {"exact": grid.values(eqx.Partial(exact, family))}
        found |= {"error": found["u"] - found["exact"]}
    found["outside"] = outside
    named = lambda name, array: (grid.dimensions, array, {"long_name": MEANINGS[name]})
    sides = {name: ((name,) if side.ndim else (), side, grid.label(name)) for name, side in grid.sides.items()}
    variables = {name: named(name, array) for name, array in found.items()}
    return xarray.Dataset(variables, sides, _provenance(family, limits, grid))


@dataclass(frozen=True)
class Grid:
    """Coordinates of points and parameters by name, each a number or some of them: a dimension."""

    family: Family
    sides: Mapping[str, np.ndarray]

    @staticmethod
    def of(family: Family, given: Mapping[str, Any]) -> "Grid":
        """What was given, if it fits the family."""
        space, domain = family.parameters, family.domain
        _check_names(family)
        for name in given:
            if name not in space.names:
                axis_of(domain, name)  # refuses what is no coordinate
        missing = [name for name in space.names if name not in given]
        missing += ["t"] if domain.time_horizon is not None and "t" not in given else []
        if missing:
            told = "; coordinates of space that are not named are at the centre"
            raise InputError(f"no values for {', '.join(missing)}; give a number or an array of each{told}")
        grid = Grid(family, {name: _side(name, values) for name, values in given.items()})
        if (dimensions := len(grid.dimensions)) > MOST_DIMENSIONS:
            raise InputError(f"the grid has {dimensions} dimensions; vary {MOST_DIMENSIONS} names at most")
        if (count := math.prod(grid.shape)) > MOST_POINTS:
            raise InputError(f"the grid has {float(count):.3g} points; give {MOST_POINTS:,} at most")
        return grid

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of what varies, in the order in which it was given."""
        return tuple(name for name, side in self.sides.items() if side.ndim)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.sides[name].size for name in self.dimensions)

    @property
    def _indices(self) -> np.ndarray:
        """Which coordinates of a point are named."""
        names = [name for name in self.sides if name not in self.family.parameters.names]
        return np.asarray([axis_of(self.family.domain, name).index for name in names], int)

    def values(self, function: PairFunction) -> Float[np.ndarray, "..."]:
        """The function at every point of the grid."""

        def at(values: np.ndarray, mu: np.ndarray) -> np.ndarray:
            indices = np.broadcast_to(self._indices, values.shape)
            return at_places(function, self.family.domain, indices, values, mu)

        return self._chunks(at, CHUNK_POINTS)

    def outside(self, limits: Limits) -> Bool[np.ndarray, "..."]:
        """Of every point whether it, or its μ, lies beyond what was trained."""
        centre = np.asarray(self.family.domain.centre())

        def at(values: np.ndarray, mu: np.ndarray) -> np.ndarray:
            points = np.tile(centre, (len(values), 1))
            points[:, self._indices] = values
            return limits.outside(jnp.asarray(points), jnp.asarray(mu, centre.dtype))

        return self._chunks(at, max(1, CHUNK_COORDINATES // len(centre)))

    def _chunks(self, at: Callable[[np.ndarray, np.ndarray], np.ndarray], size: int) -> np.ndarray:
        """The function of named coordinates and parameters in rows, so many at a time."""
        count, found = int(np.prod(self.shape, dtype=int)), []
        for first in range(0, count, size):
            numbers = np.arange(first, min(first + size, count))
            varied = np.unravel_index(numbers, self.shape) if self.shape else ()
            places = dict(zip(self.dimensions, varied, strict=True))
            rows = {
                name: side[places[name]] if name in places else np.full(len(numbers), side)
                for name, side in self.sides.items()
            }
            mu = np.stack([rows.pop(name) for name in self.family.parameters.names], axis=1)
            found.append(at(np.stack([*rows.values()], axis=1) if rows else np.zeros((len(mu), 0)), mu))
        return np.concatenate(found).reshape(self.shape)

    def label(self, name: str) -> dict[str, str]:
        """What a plot writes beside an axis."""
        if name in self.family.parameters.names:
            low, high = self.family.parameters.bounds()[name]
            return {"long_name": name, "description": f"parameter, trained from {low:g} to {high:g}"}
        return {"long_name": axis_of(self.family.domain, name).label}


def _check_names(family: Family) -> None:
    """Refuse parameters whose names mean something else on a grid."""
    coordinates = re.compile(r"x[1-9]\d*" if family.domain.time_horizon is None else r"x[1-9]\d*|t")
    for name in family.parameters.names:
        if name in MEANINGS or coordinates.fullmatch(name):
            raise InputError(f"a grid cannot have the parameter {name}, which is the name of another of its parts")


def _side(name: str, given: Any) -> np.ndarray:
    """A number or some of them, all finite and none twice."""
    try:
        side = np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name}: {shown(given)} is not made of real numbers; give one, or an array of them"
        ) from error
    if side.ndim > 1 or side.size == 0 or not np.all(np.isfinite(side)):
        raise InputError(f"{name} has shape {side.shape}, or is not finite; give a finite number or a list of them")
    if not np.all(np.isfinite(side.astype(jnp.zeros(()).dtype))):
        raise InputError(f"{name} is beyond the precision of the solution; give numbers of a usual size")
    if len(np.unique(side)) < side.size:
        raise InputError(f"{name} has a value twice; a dimension of a grid has each once")
    return side


def _provenance(family: Family, limits: Limits, grid: Grid) -> dict[str, str | int]:
    """Where the values come from, in words that every format keeps."""
    bounds = ", ".join(f"{name} in [{low:g}, {high:g}]" for name, (low, high) in family.parameters.bounds().items())
    named = sum(name not in family.parameters.names and name != "t" for name in grid.sides)
    told: dict[str, str | int] = {
        "title": f"{type(family).__name__} in {family.domain.dimension} dimensions",
        "equation": docstring(type(family))[0],
        "dimension": family.domain.dimension,
        "trained": bounds,
        "domain": shortened(family.domain.description, LONGEST_TEXT),
        "source": f"prism-pde {prism.__version__}",
    }
    if others := family.domain.dimension - named:
        told["other_coordinates"] = f"{others} coordinates of space are at the centre"
    if limits.tuned_at is not None:
        told["tuned_at"] = ", ".join(f"{name} = {value:g}" for name, value in limits.tuned_at.items())
    return told
