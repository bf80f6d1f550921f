"""Surrogates whose truth is known: small networks that make their own data, and formulas without any network."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from helpers import KEY, SITES, linear, roughened

import prism
from prism.families import SineGordon
from prism.inversion.conclusions import conclude
from prism.inversion.fitting import spread
from prism.inversion.inference import search
from prism.inversion.misfit import Misfit
from prism.networks.model import Architecture, Model
from prism.solution.solution import Solution

COUNT, STARTS = 200, 4
"""Values of a data set, and searches: the same for every test, so that each network is compiled once."""
DIMENSION = 6
TRUTH = {"mu1": 0.8, "mu2": 1.1}
COMPLEX_STEP = 1e-30
SMALL, TINY = Architecture(linear(5), 4, 2, 6, 2), Architecture(linear(2), 2, 1, 2, 1)


def solution_of(family, architecture=SMALL) -> Solution:
    """A network of random weights that claims to solve the family."""
    shapes = eqx.filter_eval_shape(Model.create, architecture, family.domain, family.parameters, KEY)
    return Solution(roughened(shapes), family)


FAMILY = SineGordon.create(DIMENSION, KEY)
SOLUTION = solution_of(FAMILY)
SITES_SOLUTION = solution_of(FAMILY, Architecture(linear(2) + SITES, 4, 1, 3, 1))
"""With a lift that moves with μ, so that points cannot be lifted once."""


class Analytic(prism.Family):
    """u = g(x, μ) by its constraint, whatever the network is."""

    domain: prism.Cube
    parameters: prism.ParameterSpace
    formula: object = eqx.field(static=True)
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap + 0.0 * u.value

    def constraint(self):
        return prism.HardConstraint(factor=lambda x, mu: 0.0 * x[0], offset=self.formula)


def analytic(formula, parameters) -> Solution:
    """A solution in closed form, through all of the machinery."""
    return solution_of(Analytic(prism.Cube(2), parameters, formula), TINY)


def draw(coordinates: int, seed: int = 0) -> np.ndarray:
    """Points inside the ball, or near the middle of the cube."""
    return np.random.default_rng(seed).uniform(-0.4, 0.4, (COUNT, coordinates))


def noise_of(seed: int) -> np.ndarray:
    return np.random.default_rng(1000 + seed).normal(size=COUNT)


def observe(solution, mu, seed=0, noise=0.01, on_sphere=False) -> prism.Observations:
    """Values at random points of the domain, with noise relative to their rms; absolute where they vanish."""
    points = jnp.asarray(draw(solution.family.domain.coordinates, seed))
    if on_sphere:
        points = points / jnp.linalg.norm(points, axis=1, keepdims=True)
    values = np.asarray(solution(points, **mu))
    size = 1.0 if on_sphere else np.sqrt(np.mean(values**2))
    return prism.Observations(points, values + noise * size * noise_of(seed))


class Formula(Misfit):
    """Errors of u = g(x, μ) written in NumPy; its sensitivities by a complex step, exact to rounding."""

    def __init__(self, formula: Callable, space: prism.ParameterSpace, seed: int = 0):
        self.formula, self.space, self.points = formula, space, draw(2, seed)
        self.values = np.zeros(COUNT)
        ends = np.asarray(space.lows), np.asarray(space.highs)
        self.low, self.high = np.log(ends) if space.logarithmic else ends

    observations = count = property(lambda self: COUNT)

    def at(self, mu: dict[str, float]) -> np.ndarray:
        return self.formula(self.points.T, **mu)

    def at_unit(self, s: np.ndarray) -> np.ndarray:
        t = self.low + (self.high - self.low) * s
        mu = np.exp(t) if self.space.logarithmic else t
        return self.formula(self.points.T[:, None], **dict(zip(self.space.names, mu.T[..., None], strict=True)))

    def linearised(self, s):
        steps = 1j * COMPLEX_STEP * np.eye(s.shape[1])
        sensitivities = [self.at_unit(s + step).imag / COMPLEX_STEP for step in steps]
        return self.at_unit(s) - self.values, np.stack(sensitivities, axis=-1)

    def given(self, truth: dict[str, float], noise: float, seed: int = 0) -> "Formula":
        """Data at the truth, with noise of this deviation."""
        self.values = self.at(truth) + noise * noise_of(seed)
        return self

    def estimate(self, noise: float | None = None) -> prism.Estimate:
        deviation = 1e-14 * np.sqrt(np.mean(self.values**2))
        return conclude(search(self, self.space, spread(STARTS, self.space.size), noise, deviation))
