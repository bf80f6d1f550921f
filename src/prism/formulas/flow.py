"""y' = f(y):  what a reaction makes of a value where nothing diffuses."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.shapes import Scalar

Values = Float[Array, "..."]
"""One value, or one for each of the parameters that the reaction closes over."""

FLOW_STEPS = 32
"""The relative error of y is about (t f')⁵/(120·32⁴): 2e-6 for t f' = 3."""


def reaction_flow(reaction: Callable[[Array], Array], value: Values, time: Scalar, steps: int = FLOW_STEPS) -> Values:
    """y(t) of y' = f(y), y(0) = value, by steps of the classical fourth-order Runge-Kutta method.

    >>> round(float(reaction_flow(jnp.sin, jnp.asarray(1.0), jnp.asarray(0.3))), 4)
    1.2708
    """
    h = time / steps

    def advanced(_, y: Values) -> Values:
        first = reaction(y)
        second = reaction(y + 0.5 * h * first)
        third = reaction(y + 0.5 * h * second)
        return y + h / 6.0 * (first + 2.0 * second + 2.0 * third + reaction(y + h * third))

    return jax.lax.fori_loop(0, steps, advanced, value + jnp.zeros_like(reaction(value)))
