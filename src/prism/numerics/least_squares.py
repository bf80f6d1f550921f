"""Levenberg's and Marquardt's damped Gauss-Newton step: the natural gradient of a least-squares loss, for few unknowns.

    min over δ of  |r + Jδ|² + λ |Dδ|²,     D the lengths of J's columns,

solved by QR of the stacked matrix, which keeps the digits that JᵀJ would lose. λ follows Nielsen's rule from the gain,
the decrease of |r|² over the one its linear model promised (Madsen, Nielsen and Tingleff 2004, algorithm 3.16).
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from prism.shapes import Scalar, Vector

Rows = Float[Array, "rows"]
RowsAndJacobian = Callable[[Vector], tuple[Rows, Float[Array, "rows n"]]]

FIRST_DAMPING = 0.3


class Levenberg(eqx.Module):
    """Unknowns, what they make of the rows, and how far the linear model is trusted. Rows that have not been looked at
    yet are infinite, and the first step is the look."""

    unknowns: Vector
    rows: Rows
    jacobian: Float[Array, "rows n"]
    damping: Scalar
    growth: Scalar
    moved: Bool[Array, ""]

    @staticmethod
    def start(unknowns: Vector, count: int) -> "Levenberg":
        number = lambda value: jnp.asarray(value, unknowns.dtype)
        rows = jnp.full(count, jnp.inf, unknowns.dtype)
        jacobian = jnp.zeros((count, unknowns.size), unknowns.dtype)
        return Levenberg(unknowns, rows, jacobian, number(FIRST_DAMPING), number(2.0), jnp.asarray(False))

    def step(self, look: RowsAndJacobian) -> "Levenberg":
        """Move where that lessens Σr²; else stay, with more damping."""
        seen = jnp.isfinite(self.rows[0])
        change = jnp.where(seen, damped_solution(self.jacobian, self.rows, self.damping), 0.0)
        rows, jacobian = look(self.unknowns + change)
        size, before = jnp.sum(rows**2), jnp.sum(self.rows**2)
        gain = (before - size) / (before - jnp.sum((self.rows + self.jacobian @ change) ** 2))
        easier = self.damping * jnp.where(seen, jnp.maximum(1 / 3, 1 - (2 * gain - 1) ** 3), 1.0)
        better = (size < before) & jnp.all(jnp.isfinite(jacobian))
        there = Levenberg(self.unknowns + change, rows, jacobian, easier, jnp.full_like(self.growth, 2.0), better)
        here = Levenberg(self.unknowns, self.rows, self.jacobian, self.damping * self.growth, 2 * self.growth, better)
        return jax.tree.map(lambda new, old: jnp.where(better, new, old), there, here)


def damped_solution(jacobian: Float[Array, "rows n"], rows: Rows, damping: Scalar) -> Vector:
    """δ, with columns brought to length one; a column of zeros has no say."""
    lengths = jnp.linalg.norm(jacobian, axis=0)
    lengths = jnp.where(lengths > 0, lengths, 1.0)
    count = lengths.shape[0]
    stacked = jnp.concatenate([jacobian / lengths[None], jnp.sqrt(damping) * jnp.eye(count, dtype=rows.dtype)])
    orthogonal, triangle = jnp.linalg.qr(stacked)
    target = -orthogonal[: rows.shape[0]].T @ rows
    return jax.scipy.linalg.solve_triangular(triangle, target) / lengths
