"""Symmetric systems that may be singular, solved with as much damping as they need."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from prism.shapes import Scalar

ATTEMPTS = 8
"""How often a system that cannot be solved is damped ten times more."""


def damped_solution(
    kernel: Float[Array, "N N"], target: Float[Array, "N *k"], damping: Scalar
) -> tuple[Float[Array, "N *k"], Scalar]:
    """(K + λκI)⁻¹ b by Cholesky, κ the mean diagonal of K, with λ raised tenfold until it succeeds; and that λ."""
    level = jnp.maximum(jnp.trace(kernel) / kernel.shape[0], jnp.finfo(kernel.dtype).tiny)
    matrix, identity = kernel / level, jnp.eye(kernel.shape[0], dtype=kernel.dtype)

    def attempt(damping: Scalar) -> Float[Array, "N *k"]:
        factor = jax.scipy.linalg.cho_factor(matrix + damping * identity, lower=True)
        return jax.scipy.linalg.cho_solve(factor, target)

    def failed(carry: tuple[Array, Scalar, Int[Array, ""]]) -> Bool[Array, ""]:
        solution, _, tries = carry
        return ~jnp.isfinite(jnp.sum(solution)) & (tries < ATTEMPTS)

    def again(carry: tuple[Array, Scalar, Int[Array, ""]]) -> tuple[Array, Scalar, Int[Array, ""]]:
        raised = jnp.maximum(10.0 * carry[1], jnp.finfo(matrix.dtype).eps)
        return attempt(raised), raised, carry[2] + 1

    first = (attempt(damping), damping, jnp.zeros((), jnp.int32))
    solution, damping, _ = jax.lax.while_loop(failed, again, first)
    return solution / level, damping
