"""Levels exported by PRISM, with NumPy alone.

    from levels import levels, derivatives        this file, beside levels.npz
    levels(mu1=1.0, mu2=0.5)                      from below; refused outside the trained box
    derivatives(mu1=1.0, mu2=0.5)                 their derivatives, by the name of each parameter

A table over the box, as coefficients of products of Chebyshev's polynomials, in double precision.
"""

import functools
import hashlib
import io
import json
from pathlib import Path

import numpy as np
from numpy.polynomial import chebyshev

FORMAT = 1
TABLE = "levels.npz"


class Levels:
    """The table from the content of levels.npz, refused where it is not what was exported."""

    def __init__(self, content: bytes):
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                self.coefficients = np.asarray(arrays["coefficients"], float)
                told = json.loads(arrays["description"].tobytes())
            if told["format"] != FORMAT:
                raise ValueError(f"its format is {told['format']!r}, this file reads {FORMAT}")
            self.names = tuple(told["parameters"])
            self.lows, self.highs = np.asarray([*told["parameters"].values()], float).T
            self.coordinate = np.log if told["logarithmic"] else np.asarray
            expected = told["sha256"]
        except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
            raise ValueError(f"{TABLE} is no exported table of levels ({type(error).__name__}: {error})") from error
        if hashlib.sha256(np.ascontiguousarray(self.coefficients).tobytes()).hexdigest() != expected:
            raise ValueError(f"{TABLE} is not what was exported (its SHA-256 differs); export it again")

    def levels(self, **parameters: float) -> np.ndarray:
        """The levels from below."""
        place = self._place(parameters)
        return self._contracted([self._basis(x) for x in place])

    def derivatives(self, **parameters: float) -> dict[str, np.ndarray]:
        """∂λ/∂μ of every level, by the name of each parameter."""
        place, found = self._place(parameters), {}
        for axis, name in enumerate(self.names):
            bases = [self._basis(x) for x in place]
            bases[axis] = self._basis_derivative(place[axis]) * self._rate(axis, float(parameters[name]))
            found[name] = self._contracted(bases)
        return found

    def _place(self, parameters: dict[str, float]) -> np.ndarray:
        """μ in [−1, 1] of each parameter's own coordinate."""
        if set(parameters) != set(self.names):
            raise ValueError(f"give {', '.join(self.names)}, each once")
        mu = np.asarray([float(parameters[name]) for name in self.names])
        if np.any(mu < self.lows) or np.any(mu > self.highs) or not np.all(np.isfinite(mu)):
            raise ValueError(
                f"the table is of {self.names} between {self.lows.tolist()} and {self.highs.tolist()} alone"
            )
        low, high = self.coordinate(self.lows), self.coordinate(self.highs)
        return 2.0 * (self.coordinate(mu) - low) / (high - low) - 1.0

    def _rate(self, axis: int, value: float) -> float:
        """How fast that coordinate changes with μ."""
        low, high = self.coordinate(self.lows)[axis], self.coordinate(self.highs)[axis]
        return float(2.0 / (high - low) / (value if self.coordinate is np.log else 1.0))

    def _basis(self, x: float) -> np.ndarray:
        return chebyshev.chebvander(np.asarray([x]), self.coefficients.shape[0] - 1)[0]

    def _basis_derivative(self, x: float) -> np.ndarray:
        degree = self.coefficients.shape[0] - 1
        return chebyshev.chebvander(np.asarray([x]), degree - 1)[0] @ chebyshev.chebder(np.eye(degree + 1), axis=0)

    def _contracted(self, bases: list[np.ndarray]) -> np.ndarray:
        found = self.coefficients
        for basis in bases:
            found = np.tensordot(basis, found, axes=(0, 0))
        return found


@functools.cache
def _beside() -> Levels:
    """The table beside this file, read when it is first asked for."""
    return Levels((Path(__file__).parent / TABLE).read_bytes())


def levels(**parameters: float) -> np.ndarray:
    """The levels from below: `levels(mu1=1.0, mu2=0.5)`."""
    return _beside().levels(**parameters)


def derivatives(**parameters: float) -> dict[str, np.ndarray]:
    """Their derivatives, by the name of each parameter."""
    return _beside().derivatives(**parameters)
