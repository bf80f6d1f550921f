"""Symmetric systems: a large one that may be singular, damped as much as it needs, or many small positive ones."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from prism.shapes import Scalar

LEAF = 32
"""The largest system that is left to LAPACK inside a large one."""
ATTEMPTS = 8
"""How often a system that cannot be solved is damped ten times more."""


def damped_solution(
    kernel: Float[Array, "N N"], target: Float[Array, "N *k"], damping: Scalar
) -> tuple[Float[Array, "N *k"], Scalar]:
    """(K + λκI)⁻¹ b by Cholesky, κ the mean diagonal of K, with λ raised tenfold until it succeeds; and that λ."""
    mean_diagonal = jnp.maximum(jnp.trace(kernel) / kernel.shape[0], jnp.finfo(kernel.dtype).tiny)
    matrix, identity = kernel / mean_diagonal, jnp.eye(kernel.shape[0], dtype=kernel.dtype)

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
    return solution / mean_diagonal, damping


def damped_pseudoinverse(p: Float[Array, "N k"], damping: float) -> Float[Array, "N k"]:
    """(P Pᵀ + λκI)⁻¹ P, κ the mean diagonal of P Pᵀ: the transpose of a damped pseudoinverse of P."""
    return damped_solution(p @ p.T, p, jnp.full((), damping))[0]


def small_solutions(matrices: Float[Array, "k k n"], targets: Float[Array, "k n"]) -> Float[Array, "k n"]:
    """M⁻¹ b of n positive definite systems of a few unknowns, by elimination written out over all of them at once.

    n calls of LAPACK inside a step can deadlock XLA's pool of CPU threads (seen with 2 threads, jax 0.10.2). Positive
    definite systems need no pivoting.
    """
    rows = [jnp.concatenate([matrix, target[None]]) for matrix, target in zip(matrices, targets, strict=True)]
    for pivot in range(len(rows)):
        leading = rows[pivot] / rows[pivot][pivot][None]
        rows = [leading if k == pivot else row - row[pivot][None] * leading for k, row in enumerate(rows)]
    return jnp.stack([row[-1] for row in rows])


def positive_solution(matrix: Float[Array, "N N"], target: Float[Array, "N"]) -> Float[Array, "N"]:
    """M⁻¹ b of one large positive definite system, in products of matrices: NaN where it is not positive.

    LAPACK's own threads and XLA's wait for each other where another process has a core too (seen with 2 cores, jax
    0.10.2: steps took ten times as long). Products are XLA's alone, and blocks of LEAF have one thread.
    """
    inverse = _inverse_factor(matrix)
    return inverse.T @ (inverse @ target)


def _inverse_factor(matrix: Float[Array, "N N"]) -> Float[Array, "N N"]:
    """L⁻¹ with L Lᵀ = M, from those of two halves:

    (L₁ 0; B L₂)⁻¹ = (L₁⁻¹ 0; −L₂⁻¹ B L₁⁻¹  L₂⁻¹),      B = M₂₁ L₁⁻ᵀ,      L₂ L₂ᵀ = M₂₂ − B Bᵀ
    """
    size = matrix.shape[0]
    if size <= LEAF:
        return jax.scipy.linalg.solve_triangular(jnp.linalg.cholesky(matrix), jnp.eye(size), lower=True)
    half = LEAF * max(1, size // (2 * LEAF))
    first = _inverse_factor(matrix[:half, :half])
    below = matrix[half:, :half] @ first.T
    second = _inverse_factor(matrix[half:, half:] - below @ below.T)
    corner = -second @ (below @ first)
    return jnp.block([[first, jnp.zeros((half, size - half))], [corner, second]])
