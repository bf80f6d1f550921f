"""SPRING, a natural gradient in the space of samples, and the residual's gradient as the metric of the lift.

For all weights, with rows J_n = ∂r_n/∂θ / √N and projected momentum (Goldshlager, Abrahamsen and Lin 2024):

    φ ← m φ + Jᵀ (J Jᵀ + λI)⁻¹ (r − m J φ),     θ ← θ − η φ.

For the d-sized lift one residual a point is one equation for d unknowns; its gradient in x is d. To leading order

    ∂_i r_n = Σ_k W_ik p_nk + ...,     p_n = ∂r_n/∂z_n,

with the same p for every coordinate i, so all d least-squares problems share one N × N matrix:

    W ← W − η (∇r)ᵀ (P Pᵀ + λI)⁻¹ P.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from prism.errors import InputError
from prism.networks.model import Model
from prism.objective.objective import Batch, Objective
from prism.shapes import Scalar
from prism.training.natural.jacobian import Jacobian, Weights
from prism.training.natural.rows import Rows, directional_rows, rows
from prism.training.optimisers import Optimiser, StepInfo

REVIEW = 5
"""Steps between two looks at how well the last one did what the linear model foretold."""
ATTEMPTS = 8
"""How often a system that cannot be solved is damped ten times more."""


class SpringState(eqx.Module):
    """Momentum, with a lift where that is in the kernel, and the two quantities that adapt."""

    momentum: Weights
    damping: Scalar
    slope_rate: Scalar
    count: Int[Array, ""]


class Spring(Optimiser[SpringState]):
    """The natural gradient of all weights (`in_kernel`: of the lift too), and the slope step of the lift (`slopes`).

    `damping` is relative to the kernel's mean diagonal. It rises where a step misses what it foretold, and falls
    back; `bound` limits a step relative to the weights. `slope_rows` adds a row v·∇ₓr along a random v for each pair.
    """

    rate: float = eqx.field(static=True, default=0.5)
    momentum: float = eqx.field(static=True, default=0.8)
    damping: float = eqx.field(static=True, default=1e-4)
    bound: float = eqx.field(static=True, default=0.5)
    in_kernel: bool = eqx.field(static=True, default=False)
    slopes: bool = eqx.field(static=True, default=True)
    slope_rows: bool = eqx.field(static=True, default=False)
    slope_rate: float = eqx.field(static=True, default=0.5)
    slope_damping: float = eqx.field(static=True, default=1e-4)

    def __check_init__(self):
        if self.slope_rows and self.in_kernel:
            raise InputError("rows of slopes know the weights after the lift alone; leave the lift out of the kernel")

    def init(self, model: Model) -> SpringState:
        still = jax.tree.map(jnp.zeros_like, Weights.of(model))
        return SpringState(
            still if self.in_kernel else still.without_lift(),
            jnp.full((), self.damping),
            jnp.full((), self.slope_rate),
            jnp.zeros((), jnp.int32),
        )

    def step(
        self, objective: Objective, model: Model, state: SpringState, batch: Batch, decay: Scalar
    ) -> tuple[Model, SpringState, StepInfo]:
        first, second = jax.random.split(batch.key)
        batch_rows = rows(objective, model, batch, first)
        r, count = batch_rows.residuals, batch_rows.slopes.shape[0]
        target = r
        if objective.independent:
            target = r.at[:count].set(objective.residuals(model, batch, second).reshape(-1))
        momentum, damping = self._natural(*self._system(objective, model, batch, batch_rows, target), state)
        weights = Weights.of(model)
        change = self._change(weights, momentum, decay)
        if self.slopes:
            slope_change = -decay * state.slope_rate * self._slope_step(batch_rows)
            change = eqx.tree_at(lambda c: c.lift, change, change.lift + slope_change)
        after = jax.tree.map(jnp.add, weights, change).put(model)
        loss = jnp.sum(r * target) / count
        finite = jnp.isfinite(loss) & jnp.isfinite(change.norm()) & jnp.isfinite(jnp.sum(change.lift**2))
        now = SpringState(momentum, damping, state.slope_rate, state.count + 1)
        due = (now.count % REVIEW == 0) | (now.count < REVIEW)
        foretold = (r + batch_rows.jacobian.push(change))[:count]
        review = lambda s: self._review(objective, after, batch, batch_rows, foretold, s)
        return after, jax.lax.cond(due, review, lambda s: s, now), StepInfo(loss, finite)

    def _system(
        self, objective: Objective, model: Model, batch: Batch, batch_rows: Rows, target: Float[Array, "M"]
    ) -> tuple[Jacobian, Float[Array, "R"]]:
        """The rows by what is in the kernel, and the target; with slopes as more of them."""
        jacobian = batch_rows.jacobian if self.in_kernel else batch_rows.jacobian.without_lift()
        if not self.slope_rows:
            return jacobian, target
        slopes, below = directional_rows(objective, model, batch, jax.random.split(batch.key)[0])
        return jacobian.above(below), jnp.concatenate([target, slopes])

    def _natural(self, jacobian: Jacobian, target: Float[Array, "R"], state: SpringState) -> tuple[Weights, Scalar]:
        """φ ← m φ + Jᵀ (J Jᵀ + λI)⁻¹ (r − m J φ), in units where J carries no 1/√N."""
        matrix = jacobian.kernel()
        level = jnp.maximum(jnp.trace(matrix) / target.shape[0], jnp.finfo(matrix.dtype).tiny)
        missed = target - self.momentum * jacobian.push(state.momentum)
        solution, damping = damped_solve(matrix / level, missed, state.damping)
        pulled = jacobian.pull(solution / level, state.momentum)
        return jax.tree.map(lambda old, new: self.momentum * old + new, state.momentum, pulled), damping

    def _change(self, weights: Weights, momentum: Weights, decay: Scalar) -> Weights:
        """−η φ, within the bound; a lift that is not in the kernel stays."""
        allowed = self.bound * weights.norm()
        length = self.rate * decay * momentum.norm()
        shrink = jnp.minimum(1.0, allowed / jnp.maximum(length, jnp.finfo(length.dtype).tiny))
        lift = momentum.lift if self.in_kernel else jnp.zeros_like(weights.lift)
        whole = Weights(momentum.small, momentum.heads, lift)
        return jax.tree.map(lambda phi: -self.rate * decay * shrink * phi, whole)

    def _slope_step(self, batch_rows: Rows) -> Float[Array, "coordinates width"]:
        """(∇r)ᵀ (P Pᵀ + λI)⁻¹ P."""
        p = batch_rows.responses
        matrix = p @ p.T
        level = jnp.maximum(jnp.trace(matrix) / p.shape[0], jnp.finfo(p.dtype).tiny)
        solution, _ = damped_solve(matrix / level, p, jnp.full((), self.slope_damping))
        return batch_rows.slopes.T @ (solution / level)

    def _review(
        self,
        objective: Objective,
        after: Model,
        batch: Batch,
        batch_rows: Rows,
        foretold: Float[Array, "N"],
        state: SpringState,
    ) -> SpringState:
        """Damping from the loss gained over the loss foretold; the rate of the slope step from whether it gained."""
        key, _ = jax.random.split(batch.key)
        r, slopes = objective.residuals_and_slopes(after, batch, key)
        kept = _kept(batch_rows.residuals[: r.shape[0]], foretold, r)
        damping = jnp.where(kept > 0.5, state.damping / 2, state.damping * 2)
        worse = jnp.sum(slopes**2) > 1.1 * jnp.sum(batch_rows.slopes**2)
        slope_rate = jnp.where(worse, 0.25 * state.slope_rate, 1.5 * state.slope_rate)
        return eqx.tree_at(
            lambda s: (s.damping, s.slope_rate),
            state,
            (jnp.clip(damping, self.damping, 1e3), jnp.minimum(slope_rate, self.slope_rate)),
        )


def _kept(before: Float[Array, "..."], foretold: Float[Array, "..."], after: Float[Array, "..."]) -> Scalar:
    """The decrease of the sum of squares over the one foretold; one where next to nothing was foretold."""
    start = jnp.sum(before**2)
    promised = start - jnp.sum(foretold**2)
    little = promised <= 1e-3 * start
    return jnp.where(little, 1.0, (start - jnp.sum(after**2)) / jnp.where(little, 1.0, promised))


def damped_solve(
    matrix: Float[Array, "N N"], target: Float[Array, "N *k"], damping: Scalar
) -> tuple[Float[Array, "N *k"], Scalar]:
    """(K + λI)⁻¹ b by Cholesky, with λ raised tenfold until it succeeds; and the λ that did."""
    identity = jnp.eye(matrix.shape[0], dtype=matrix.dtype)

    def attempt(level: Scalar) -> Float[Array, "N *k"]:
        return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(matrix + level * identity, lower=True), target)

    def failed(carry: tuple[Array, Scalar, Int[Array, ""]]) -> Bool[Array, ""]:
        solution, _, tries = carry
        return ~jnp.isfinite(jnp.sum(solution)) & (tries < ATTEMPTS)

    def again(carry: tuple[Array, Scalar, Int[Array, ""]]) -> tuple[Array, Scalar, Int[Array, ""]]:
        raised = jnp.maximum(10.0 * carry[1], jnp.finfo(matrix.dtype).eps)
        return attempt(raised), raised, carry[2] + 1

    first = (attempt(damping), damping, jnp.zeros((), jnp.int32))
    solution, level, _ = jax.lax.while_loop(failed, again, first)
    return solution, level
