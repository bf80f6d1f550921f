"""Which potential a stored network belongs to, told by what JAX traces of it."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from prism.problem.fingerprint import traced_under
from prism.problem.potential import Potential
from prism.problem.traced_programs import digest_of_trace, without_addresses
from prism.shapes import Parameter, Scalar


def fingerprint(potential: Potential) -> str:
    """JAX's version and precision, and a hash of the traces of all functions of one coordinate."""
    arrays, static = eqx.partition(potential, eqx.is_array)
    numbers = jnp.zeros(()), jnp.zeros((), int), jnp.zeros(potential.parameters.size)
    traced = jax.make_jaxpr(lambda leaves, *at: _functions(eqx.combine(leaves, static), *at))(arrays, *numbers)
    digest = digest_of_trace(traced)
    offsets = [pair.offset for pair in potential.pairs]
    declared = f"{eqx.tree_pformat(potential.parameters)}{potential.dimension}{offsets}"
    digest.update(without_addresses(declared).encode())
    return f"{traced_under()}:{digest.hexdigest()}"


def _functions(potential: Potential, y: Scalar, i: Array, mu: Parameter) -> list[Array]:
    named = potential.parameters.named(mu)
    paired = [function for pair in potential.pairs for function in (pair.left, pair.right)]
    found = [function(y, i, named) for function in (potential.single, *paired)]
    return [jnp.asarray(value) for value in (*found, potential.half_width(i))]
