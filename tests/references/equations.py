"""u_t = Δu + f(u): the equations of the parabolic families, as functions for NumPy and for JAX."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from prism.references.picard import multilevel_picards
from prism.references.radial import radial_solutions
from prism.references.reference import Reference

TIME = 0.3


def initial(s):
    """5 / (10 + 2|x|²)."""
    return 5.0 / (10.0 + 2.0 * s)


def heat(mu1: float):
    return lambda u: mu1 * (1.0 - u * u) / (1.0 + u * u)


def sine_gordon(mu1: float, mu2: float = 1.0):
    return lambda u: mu1 * (jnp.sin(mu2 * u) if not isinstance(u, np.ndarray) else np.sin(mu2 * u))


def allen_cahn(mu1: float, mu2: float = 1.0):
    return lambda u: mu1 * u - mu2 * u**3


REACTIONS = {
    "heat": [heat(0.8), heat(1.0), heat(1.2)],
    "sine_gordon": [sine_gordon(0.8, 1.2), sine_gordon(1.0), sine_gordon(1.2, 0.8)],
    "beta": [sine_gordon(0.1), sine_gordon(2.1), sine_gordon(10.0)],
}
"""Three parameters of each equation."""


def radial_solution(*arguments: Any, **options: Any) -> Reference:
    """The radial series at one parameter."""
    return radial_solutions(*arguments, **options)[0]


def multilevel_picard(*arguments: Any, **options: Any) -> Reference:
    """Multilevel Picard iteration at one parameter."""
    return multilevel_picards(*arguments, **options)[0]
