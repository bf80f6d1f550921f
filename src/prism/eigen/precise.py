"""Levels at any μ in double precision, whatever the network was trained in, beside the true ones."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.eigen.levels import derivatives, levels_over
from prism.eigen.network import TensorNetwork
from prism.eigen.quadrature import BLOCK, gauss
from prism.errors import InputError
from prism.numerics.arguments import shown
from prism.numerics.keys import Purpose, child, items
from prism.numerics.precision import in_double_precision
from prism.problem.potential import Potential
from prism.problem.user_code import calling
from prism.references.reference import Reference
from prism.shapes import Key, Named
from prism.solution.evaluation import Column

NODES, FEWER_NODES = 96, 72
"""Gauss nodes per coordinate of a judgement; the fewer ones tell the error of quadrature."""
ROUNDING = 1e-12
"""Of a closed form in double precision, relative."""


def doubled(function: Callable[..., Any], *arguments: Any, **chosen: int) -> Any:
    """The function of these arguments, all in double precision, as NumPy; compiled once for each function of a module
    and what is chosen."""
    with jax.enable_x64(True):
        arrays = jax.tree.map(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf, arguments)
        found = _compiled(function, tuple(chosen.items()), in_double_precision(arrays))
        return jax.tree.map(np.asarray, found)


@eqx.filter_jit
def _compiled(function: Callable[..., Any], chosen: tuple[tuple[str, int], ...], arguments: Any) -> Any:
    return function(*arguments, **dict(chosen))


def levels_at(
    tensor: TensorNetwork, potential: Potential, mus: Float[Column, "n p"], count: int, nodes: int = NODES
) -> Float[np.ndarray, "n levels"]:
    """The lowest levels at many μ, one after the other, in double precision."""
    return doubled(levels_over, tensor, potential, mus, count=count, nodes=nodes)


def derivatives_at(
    tensor: TensorNetwork, potential: Potential, mu: Float[np.ndarray, "p"], count: int
) -> tuple[Float[np.ndarray, "levels p"], Float[np.ndarray, "levels p"]]:
    """∂λ/∂μ at one μ by Hellmann and Feynman's formula, and that of λ as it is, in double precision."""
    return doubled(_derivatives_at, tensor, potential, mu, count=count)


def _derivatives_at(tensor: TensorNetwork, potential: Potential, mu: Array, count: int) -> tuple[Array, Array]:
    return derivatives(tensor, potential, mu, count, gauss(NODES), BLOCK)


def exact_levels(potential: Potential, mus: Float[Column, "n p"], count: int) -> Float[np.ndarray, "n levels"]:
    """The truth at many μ."""
    found = doubled(_exact_at, potential, mus, count=count)
    if not np.all(np.isfinite(found)):
        mu = np.asarray(mus)[np.argmin(np.all(np.isfinite(found), axis=1))]
        where = ", ".join(f"{name} = {value:.4g}" for name, value in zip(potential.parameters.names, mu, strict=True))
        raise InputError(f"the exact level of {type(potential).__name__} is not finite at {where}")
    return found


def _exact_at(potential: Potential, mus: Array, count: int) -> Array:
    return jax.lax.map(lambda mu: potential.exact(potential.parameters.named(mu), count), mus)


def level_reference(potential: Potential, mu: Float[np.ndarray, "p"]) -> Reference:
    """The lowest level at one μ without a network: by a formula where it is known, else by the potential's own
    reference."""
    if potential.has_exact:
        value = float(exact_levels(potential, mu[None], 1)[0, 0])
        return Reference(value, ROUNDING * abs(value), "closed form")
    what = f"reference of {type(potential).__name__}"
    with calling(what):
        found = potential.reference(Named(dict(zip(potential.parameters.names, map(float, mu), strict=True))))
    if not isinstance(found, Reference):
        raise InputError(f"{what} is {shown(found)}; return a prism.Reference(value, uncertainty, method)")
    if not np.isfinite(found.value):
        raise InputError(f"{what} is not finite at {', '.join(f'{value:.4g}' for value in mu)}")
    return found


def held_out(potential: Potential, key: Key, count: int) -> Float[Array, "n p"]:
    """Parameters that training does not draw."""
    return jax.vmap(potential.parameters.sample)(items(child(key, Purpose.PARAMETERS), count))
