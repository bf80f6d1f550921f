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


def linear_step(p: Float[Array, "N channels"], damping: float) -> Float[Array, "N channels"]:
    """(P Pᵀ + λI)⁻¹ P, λ relative to the mean diagonal: what a change of linear channels takes of every slope."""
    return damped_solution(p @ p.T, p, jnp.full((), damping))[0]


def small_solutions(matrices: Float[Array, "k k n"], targets: Float[Array, "k n"]) -> Float[Array, "k n"]:
    """M⁻¹ b of n positive definite systems of a few unknowns, by elimination written out over all of them at once.

    LAPACK would be called n times; inside a training step, beside other such calls, XLA's pool of two threads has been
    seen to stand still in them.
    """
    rows = [jnp.concatenate([matrix, target[None]]) for matrix, target in zip(matrices, targets, strict=True)]
    for pivot in range(len(rows)):
        leading = rows[pivot] / rows[pivot][pivot][None]
        rows = [leading if k == pivot else row - row[pivot][None] * leading for k, row in enumerate(rows)]
    return jnp.stack([row[-1] for row in rows])
