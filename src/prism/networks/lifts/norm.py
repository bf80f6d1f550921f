"""|x|² and its kin, quadratic forms s of a problem, in closed form:  s(x + t v) = s(x) + t v·∇s + t² s(v)."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.derivatives.taylor import Jet, Log
from prism.errors import InputError
from prism.networks.lifts.groups import Along, Coefficients, Group, Recipe, common_interval, of_polynomial
from prism.networks.lifts.parts import Norm
from prism.networks.modulation import Modulation
from prism.problem.domains import Domain
from prism.problem.forms import QuadraticForm
from prism.shapes import Hidden, Point


class SquaredNorm(Group):
    """z = (s(x) − mean) / spread,  s(x) = Σ_i w_i x_i² + Σ_i c_i x_i x_{i+1}  over the space coordinates; or the same
    of log(ε + s)."""

    part: Norm = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    mean: float = eqx.field(static=True)
    spread: float = eqx.field(static=True)
    smallest: float = eqx.field(static=True)
    """ε of a logarithmic channel."""

    @staticmethod
    def create(part: Norm, domain: Domain) -> "SquaredNorm":
        weights = _checked("weights", part.weights, domain.dimension)
        neighbours = _checked("neighbours", part.neighbours, domain.dimension - 1)
        weights = np.ones(domain.dimension) if weights is None else weights
        _refuse_impossible(part, domain, weights)
        low, high = common_interval(part, domain)
        pairs, variance = 0.0 if neighbours is None else neighbours.sum(), domain.spread**2
        mean = float((low + high) ** 2 / 4 * (weights.sum() + pairs) + variance * weights.sum())
        smallest = float(variance * np.abs(weights).mean())
        if not part.logarithmic:
            spread = domain.norm_spread * smallest * domain.dimension
            return SquaredNorm(part, domain.dimension, mean, spread, smallest)
        spread = math.log(1.0 + domain.dimension) / 12.0**0.5
        return SquaredNorm(part, domain.dimension, math.log(smallest + abs(mean)), spread, smallest)

    @property
    def channels(self) -> int:
        return 1

    @property
    def modulated(self) -> tuple[int, ...]:
        return ()

    @property
    def workspace(self) -> int:
        return self.dimension

    @property
    def form(self) -> QuadraticForm:
        """s."""
        weights, neighbours = self.part.weights, self.part.neighbours
        diagonal = jnp.ones(self.dimension) if weights is None else jnp.asarray(np.asarray(weights), float)
        return QuadraticForm(diagonal, None if neighbours is None else jnp.asarray(np.asarray(neighbours), float))

    @property
    def spans_point(self) -> bool:
        """Of other forms than |x|² too: theirs lies as near to it as need be assumed."""
        return True

    @property
    def recipe(self) -> Recipe:
        none, epsilon = jnp.zeros(self.dimension - 1), self.smallest if self.part.logarithmic else None
        sizes = {"dimension": self.dimension, "mean": self.mean, "spread": self.spread}
        arrays = {
            "diagonal": self.form.diagonal,
            "neighbours": none if self.form.neighbours is None else self.form.neighbours,
        }
        return Recipe("norm", {**sizes, "epsilon_of_logarithm": epsilon}, arrays)

    def __call__(self, x: Point, modulations: Sequence[Modulation]) -> Hidden:
        s = self.form(x)[None]
        return ((jnp.log(self.smallest + s) if self.part.logarithmic else s) - self.mean) / self.spread

    def along(self, x: Point, modulations: Sequence[Modulation], along: Along) -> Coefficients:
        directions, form, coordinates = along.decomposition.directions, self.form, x.shape[0]
        first = form.firsts(x, directions)[:, None]
        if along.order == 1:
            return self._coefficients(x, of_polynomial(along, first), along)
        if along.has_top and along.order == 2:
            second = form.trace(directions, along.decomposition.weights, coordinates)
            return self._coefficients(x, Coefficients((first,), second[None]), along)
        seconds = form.seconds(directions, coordinates)[:, None]
        return self._coefficients(x, of_polynomial(along, first, seconds), along)

    def _coefficients(self, x: Point, of_form: Coefficients, along: Along) -> Coefficients:
        """Those of z from those of s."""
        jet = Jet(self.form(x)[None], of_form.lower, of_form.top, along.decomposition.weights)
        if self.part.logarithmic:
            jet = Log().push(jet.shift(jnp.asarray([self.smallest])))
        jet = jet.map_linear(lambda value: value / self.spread)
        return Coefficients(jet.lower, jet.top)

    def jacobian(self, x: Point, modulations: Sequence[Modulation]) -> Float[Array, "coordinates channels"]:
        by_form = 1.0 / (self.smallest + self.form(x)) if self.part.logarithmic else 1.0
        return by_form * self.form.gradient(x)[:, None] / self.spread


def _refuse_impossible(part: Norm, domain: Domain, weights: Float[np.ndarray, "d"]) -> None:
    if not np.any(weights):
        raise InputError(f"weights of a norm: give {domain.dimension} finite numbers, not all zero")
    if part.logarithmic and (np.any(weights < 0) or part.neighbours is not None):
        raise InputError("a logarithmic norm needs weights that are not negative, and no neighbours")


def _checked(name: str, numbers: tuple[float, ...] | None, count: int) -> Float[np.ndarray, "count"] | None:
    if numbers is None:
        return None
    array = np.asarray(numbers, dtype=float)
    if array.shape != (count,) or not np.all(np.isfinite(array)):
        raise InputError(f"{name} of a norm: give {count} finite numbers, one for each coordinate (or neighbours)")
    return array
