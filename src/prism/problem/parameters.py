"""Where physical parameters come from: boxes with named sides, uniform or log-uniform.

People read and type names (`mu.mu1`); inside, μ is one array in the order of the names.
"""

import abc
import keyword
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.numerics.arguments import real, shown
from prism.numerics.keys import Purpose, child
from prism.shapes import Key, Named, Parameter

TAKEN = ("self", "seconds", "parts", "seed")
"""Names that methods of a solution have for themselves: the object, and what `fine_tune` takes beside parameters."""


class RefusesCls(type(eqx.Module)):
    """A parameter called `cls` would collide with an argument of equinox's own metaclass before its name is checked."""

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        if "cls" in named:
            raise InputError("a parameter cannot be called cls, as Python's own classes are; give another name")
        return super().__call__(*arguments, **named)


class ParameterSpace(eqx.Module, metaclass=RefusesCls):
    """A box of named physical parameters, uniform in some coordinate t(μ) of each."""

    logarithmic: ClassVar[bool] = False
    """Whether the coordinate t is log μ."""

    names: tuple[str, ...] = eqx.field(static=True)
    lows: tuple[float, ...] = eqx.field(static=True)
    highs: tuple[float, ...] = eqx.field(static=True)

    def __check_init__(self):
        for name in self.names:
            check_name(name)
        for name, low, high in zip(self.names, self.lows, self.highs, strict=True):
            if not math.isfinite(low) or not math.isfinite(high):
                raise InputError(f"the bounds of {name} are ({low:g}, {high:g}); give finite numbers")
            if low == high:
                raise InputError(f"the bounds of {name} are ({low:g}, {high:g}), one value; give an interval")
            if low > high:
                raise InputError(
                    f"the bounds of {name} are ({low:g}, {high:g}); give the lower one first, ({high:g}, {low:g})"
                )
            _check_single_precision(name, low, high, self.logarithmic)

    @abc.abstractmethod
    def uniform_coordinate(self, mu: Array) -> Array:
        """t(μ), the coordinate in which the law is uniform."""

    @abc.abstractmethod
    def from_uniform_coordinate(self, t: Array) -> Array:
        """μ(t), its inverse."""

    @property
    def size(self) -> int:
        return len(self.names)

    def bounds(self) -> dict[str, tuple[float, float]]:
        return dict(zip(self.names, zip(self.lows, self.highs, strict=True), strict=True))

    def uniform_box(self) -> tuple[Parameter, Parameter]:
        """Both ends in the coordinate t."""
        ends = self.uniform_coordinate(jnp.asarray([self.lows, self.highs], dtype=float))
        return ends[0], ends[1]

    def middle(self) -> Parameter:
        low, high = self.uniform_box()
        return self.from_uniform_coordinate((low + high) / 2)

    def sample(self, key: Key) -> Parameter:
        low, high = self.uniform_box()
        uniform = jax.random.uniform(child(key, Purpose.PARAMETER), (self.size,))
        return self.from_uniform_coordinate(low + (high - low) * uniform)

    def standardise(self, mu: Parameter) -> Parameter:
        """(t(μ) − mean) / deviation: what the generator reads."""
        low, high = self.uniform_box()
        return (self.uniform_coordinate(mu) - (low + high) / 2) * (math.sqrt(12.0) / (high - low))

    def named(self, mu: Parameter) -> Named:
        return Named({name: mu[index] for index, name in enumerate(self.names)})

    def array(self, /, **values: float) -> Parameter:
        """μ from named values; every name exactly once."""
        missing = [name for name in self.names if name not in values]
        unknown = [name for name in values if name not in self.names]
        if missing or unknown:
            wrong = f"no value for {', '.join(missing)}" if missing else f"unknown {', '.join(unknown)}"
            raise InputError(f"{wrong}; the parameters are {', '.join(self.names)}")
        return jnp.asarray([real(name, values[name]) for name in self.names], dtype=float)

    def quadrature(self, nodes: int = 36) -> tuple[Float[Array, "nodes p"], Float[Array, "nodes"]]:
        """Nodes and weights of E_μ[·]: a Gauss-Legendre grid of about `nodes` nodes at most; for more parameters than
        such a grid has room for, Stroud's 2p nodes, which are exact to the third degree as a grid of 2^p nodes is."""
        grid, weights = _stroud(self.size) if 2**self.size > nodes else _legendre_grid(self.size, nodes)
        low, high = self.uniform_box()
        points = (low + high)[None] / 2 + (high - low)[None] / 2 * jnp.asarray(grid, dtype=low.dtype)
        return self.from_uniform_coordinate(points), jnp.asarray(weights, dtype=low.dtype)


class Uniform(ParameterSpace):
    """μ uniform in a box: `Uniform(mu1=(0.5, 1.5), mu2=(0.5, 1.5))`."""

    def __init__(self, /, **bounds: tuple[float, float]):
        self.names, self.lows, self.highs = _sides(bounds)

    def uniform_coordinate(self, mu: Array) -> Array:
        return mu

    def from_uniform_coordinate(self, t: Array) -> Array:
        return t


class LogUniform(ParameterSpace):
    """log μ uniform in a box, for positive parameters that span orders of magnitude."""

    logarithmic: ClassVar[bool] = True

    def __init__(self, /, **bounds: tuple[float, float]):
        self.names, self.lows, self.highs = _sides(bounds)

    def __check_init__(self):
        for name, low in zip(self.names, self.lows, strict=True):
            if not low > 0.0:
                raise InputError(f"{name} is log-uniform from {low:g}; its lower bound must be positive")

    def uniform_coordinate(self, mu: Array) -> Array:
        return jnp.log(mu)

    def from_uniform_coordinate(self, t: Array) -> Array:
        return jnp.exp(t)


def _sides(
    bounds: Mapping[str, tuple[float, float]],
) -> tuple[tuple[str, ...], tuple[float, ...], tuple[float, ...]]:
    """Names, lower ends and upper ends."""
    if not bounds:
        raise InputError("a parameter space needs a parameter; name one, such as Uniform(mu1=(0.5, 1.5))")
    pairs = [_pair(name, given) for name, given in bounds.items()]
    return tuple(bounds), tuple(low for low, _ in pairs), tuple(high for _, high in pairs)


def _pair(name: str, given: Any) -> tuple[float, float]:
    """Both bounds of a parameter as numbers."""
    if not isinstance(given, Sequence | np.ndarray | Array) or isinstance(given, str) or len(given) != 2:
        raise InputError(f"the bounds of {name} are {shown(given)}; give a lower and an upper one, {name}=(0.5, 1.5)")
    low, high = (real(f"a bound of {name}", bound) for bound in given)
    return low, high


def check_name(name: str) -> None:
    """Refuse a name that cannot be read as `mu.name` or given as `solution(x, name=1.0)` everywhere."""
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise InputError(
            f"a parameter cannot be called {name!r}, for it is read as mu.name; give a word without blanks that Python "
            "does not use itself and that does not begin with _"
        )
    if name in TAKEN:
        raise InputError(
            f"a parameter cannot be called {name}: {', '.join(TAKEN)} are arguments that methods of a solution have; "
            "give another name"
        )


def _check_single_precision(name: str, low: float, high: float, logarithmic: bool) -> None:
    """Refuse bounds that are not an interval in single precision, in which runs compute unless told otherwise."""
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        ends = np.asarray([low, high], np.float32)
        smallest = np.finfo(np.float32).tiny
        if not np.all(np.isfinite(ends)) or (logarithmic and ends[0] < smallest):
            raise InputError(
                f"the bounds of {name} are ({low:g}, {high:g}), beyond single precision, in which runs compute; give "
                "numbers between 1e-37 and 1e38 in size, in another unit"
            )
        width = np.diff(np.log(ends) if logarithmic else ends)[0]
    if not smallest * 4.0 <= width < np.inf:
        raise InputError(
            f"the bounds of {name} are ({low!r}, {high!r}), no interval in single precision, in which runs compute; "
            "give bounds that differ by more than 1e-6 of their size and by less than 1e38"
        )


def _legendre_grid(size: int, nodes: int) -> tuple[Float[np.ndarray, "nodes p"], Float[np.ndarray, "nodes"]]:
    """Gauss and Legendre's rule on [−1, 1] in every parameter, with as many nodes per side as `nodes` allow."""
    t, weight = np.polynomial.legendre.leggauss(max(2, round(nodes ** (1.0 / size))))
    grid = np.stack(np.meshgrid(*[t] * size, indexing="ij"), axis=-1).reshape(-1, size)
    return grid, np.prod(np.meshgrid(*[weight / 2] * size, indexing="ij"), axis=0).reshape(-1)


def _stroud(size: int) -> tuple[Float[np.ndarray, "nodes p"], Float[np.ndarray, "nodes"]]:
    """2p nodes of equal weight inside [−1, 1]^p with the first three moments of the uniform law (Stroud 1957):
    √(2/3) cos((2r−1)kπ/p) and √(2/3) sin((2r−1)kπ/p), r = 1 ... p/2; where p is odd, the last is (−1)^k / √3."""
    k, odd = np.arange(1, 2 * size + 1)[:, None], 2 * np.arange(1, size // 2 + 1) - 1
    angles = odd * k * (math.pi / size)
    waves = math.sqrt(2.0 / 3.0) * np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(2 * size, -1)
    last = (-1.0) ** k / math.sqrt(3.0)
    grid = np.concatenate([waves, last], axis=1) if size % 2 else waves
    return grid, np.full(2 * size, 0.5 / size)
