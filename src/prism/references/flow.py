"""w' = f(w):  what a reaction makes of a value where nothing diffuses."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.shapes import Scalar

Values = Float[Array, "..."]
"""One value, or one for each of the parameters that the reaction closes over."""

FLOW_STEPS = 16


def reaction_flow(reaction: Callable[[Array], Array], value: Values, time: Scalar, steps: int = FLOW_STEPS) -> Values:
    """w(t) of w' = f(w), w(0) = value, by steps of the classical fourth-order Runge-Kutta method.

    >>> round(float(reaction_flow(jnp.sin, jnp.asarray(1.0), jnp.asarray(0.3))), 4)
    1.2708
    """
    h = time / steps

    def advanced(_, w: Values) -> Values:
        first = reaction(w)
        second = reaction(w + 0.5 * h * first)
        third = reaction(w + 0.5 * h * second)
        return w + h / 6.0 * (first + 2.0 * second + 2.0 * third + reaction(w + h * third))

    return jax.lax.fori_loop(0, steps, advanced, value + jnp.zeros_like(reaction(value)))
