"""SPRING, a natural gradient in the space of samples, and the residual's gradient as the metric of the lift.

For all weights, with rows J_n = ∂r_n/∂θ / √N and projected momentum (Goldshlager, Abrahamsen and Lin 2024):

    φ ← m φ + Jᵀ (J Jᵀ + λI)⁻¹ (r − m J φ),     θ ← θ − η φ.

For the d-sized lift one residual per point is one equation for d unknowns; its gradient in x, its slopes, is d. To
leading order

    ∂_i r_n = Σ_k W_ik p_nk + ...,     p_n = ∂r_n/∂z_n,

with the same p for every coordinate i, so all d least-squares problems share one N × N matrix:

    W ← W − η (∇r)ᵀ (P Pᵀ + λI)⁻¹ P.

What slopes these leave, blocks and quadratic forms take (`slope_steps.py`).
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from prism.errors import InputError
from prism.networks.model import Model
from prism.numerics.compilation import PLAIN_LOOPS
from prism.numerics.damped_systems import damped_pseudoinverse, damped_solution
from prism.objective.batches import Batch
from prism.objective.rows import Objective, Slopes
from prism.shapes import Scalar
from prism.training.natural.jacobian import Jacobian, Weights, slope_followers
from prism.training.natural.linear_rows import LinearRows, linear_rows
from prism.training.natural.slope_steps import slope_steps
from prism.training.optimisers import Optimiser, StepInfo

REVIEW_EVERY = 10
"""Every so many steps, and every second one among the first, a step sees the batch of the one before and judges it."""
MOST_DAMPING = 1e3
"""Above this a larger damping changes nothing but the length of a step."""


class SpringState(eqx.Module):
    """The momentum (with a lift where that is in the kernel), the two quantities that adapt, and what the last step
    promised: for the batch of which number, the sum of its squared residuals before, the predicted one after, and that
    of its slopes before."""

    momentum: Weights
    damping: Scalar
    lift_rate: Scalar
    batch_number: Int[Array, ""]
    squared_residuals: Scalar
    predicted_squared_residuals: Scalar
    squared_slopes: Scalar


class Spring(Optimiser[SpringState]):
    """The natural gradient of the network's weights in sample space, with a step of its own for the lift.

    `Spring()` moves the lift by the residual's slopes; `Spring(lift_in_kernel=True, lift_by_slopes=False)` moves it
    with all other weights.
    """

    rate: float = eqx.field(static=True, default=0.5)
    """η of the natural gradient: the part of the predicted solution that one step takes. Decays to zero over a run."""
    momentum: float = eqx.field(static=True, default=0.8)
    """m, the part of the last step's direction that is kept where the new rows do not speak against it; 0 for none."""
    damping: float = eqx.field(static=True, default=1e-4)
    """λ relative to the mean diagonal of the kernel: the least it can be. It doubles after a step that decreased the
    loss by less than half of what was predicted, and halves again after one that kept its word."""
    bound: float = eqx.field(static=True, default=0.5)
    """The longest step, relative to the length of all weights behind the lift."""
    lift_in_kernel: bool = eqx.field(static=True, default=False)
    """Whether the lift's weights take part in the natural gradient."""
    lift_by_slopes: bool = eqx.field(static=True, default=True)
    """Whether the lift moves by the residual's slopes."""
    lift_rate: float = eqx.field(static=True, default=0.5)
    """η of the lift's step by slopes: the most it can be. It falls to a quarter after a step that made the slopes
    larger, and rises again by half after one that did not."""
    lift_damping: float = eqx.field(static=True, default=1e-4)
    """λ of the lift's step by slopes, relative to the mean diagonal of P Pᵀ."""

    natural = True
    compiler_options = PLAIN_LOOPS

    @property
    def trains_followers(self) -> bool:
        return self.lift_by_slopes

    @property
    def copies(self) -> int:
        return 2  # the momentum

    @property
    def lift_copies(self) -> int:
        return 2 if self.lift_in_kernel else 1

    @property
    def follower_copies(self) -> int:
        return 1

    def check(self, slopes: Slopes | None) -> None:
        if slopes is not None and slopes.directions is None:
            raise InputError(
                "Spring takes ∇ₓr into its loss along random directions, not whole; give slopes=Slopes(1), or use Adam"
            )

    def init(self, model: Model) -> SpringState:
        if slope_followers(model)(model) and not self.trains_followers:
            raise InputError(
                "quadratic parts and blocks follow the residual's slopes, which this optimiser does not take; choose "
                "another lift, or give Spring(lift_by_slopes=True) (--lift-step slopes)"
            )
        zero = jax.tree.map(jnp.zeros_like, Weights.of(model))
        return SpringState(
            zero.without_followers() if self.lift_in_kernel else zero.without_lift(),
            jnp.full((), self.damping),
            jnp.full((), self.lift_rate),
            jnp.full((), -1, jnp.int32),
            *[jnp.zeros(())] * 3,
        )

    def batch_of(self, step: Int[Array, ""]) -> Int[Array, ""]:
        again = jnp.where(step < REVIEW_EVERY, step % 2 == 1, step % REVIEW_EVERY == 1)
        return step - again

    def step(
        self, objective: Objective, model: Model, state: SpringState, batch: Batch, decay: Scalar
    ) -> tuple[Model, SpringState, StepInfo]:
        rows = linear_rows(objective, model, batch, self.lift_by_slopes, self.lift_in_kernel)
        state = self._reviewed(state, batch, rows)
        target = rows.values
        if batch.second_draws is not None:
            target = target.at[: rows.pair_count].set(objective.equations(model, batch, batch.second_draws))
        momentum, damping = self._natural(rows.jacobian, target, state)
        weights = Weights.of(model)
        change = self._change(weights, momentum, decay)
        if self.lift_by_slopes:
            rate, lift = (
                decay * state.lift_rate,
                -rows.slopes.T @ damped_pseudoinverse(rows.responses, self.lift_damping),
            )
            left = rows.slopes + rows.responses @ lift.T
            steps = slope_steps(model.lift, batch.pairs().points, rows.by_lifted, left, self.lift_damping)
            change = replace(change, lift=change.lift + rate * lift, followers=tuple(rate * step for step in steps))
        after = jax.tree.map(jnp.add, weights, change).put(model)
        loss = jnp.sum(rows.values * target) / rows.pair_count
        finite = jnp.isfinite(loss) & jnp.isfinite(change.norm()) & jnp.isfinite(change.lift_norm())
        predicted = jnp.sum((rows.values + rows.jacobian.push(change))[: rows.pair_count] ** 2)
        promise = (batch.number, rows.squared_residuals, predicted, rows.squared_slopes)
        return after, SpringState(momentum, damping, state.lift_rate, *promise), StepInfo(loss, finite)

    def _natural(self, jacobian: Jacobian, target: Float[Array, "M"], state: SpringState) -> tuple[Weights, Scalar]:
        """φ ← m φ + Jᵀ (J Jᵀ + λI)⁻¹ (r − m J φ), in units where J carries no 1/√N."""
        jacobian = jacobian if self.lift_in_kernel else jacobian.without_lift()
        missed = target - self.momentum * jacobian.push(state.momentum)
        solution, damping = damped_solution(jacobian.kernel(), missed, state.damping)
        pulled = jacobian.pull(solution, state.momentum)
        return jax.tree.map(lambda old, new: self.momentum * old + new, state.momentum, pulled), damping

    def _change(self, weights: Weights, momentum: Weights, decay: Scalar) -> Weights:
        """−η φ, within the bound; a lift that is not in the kernel stays."""
        allowed = self.bound * weights.norm()
        length = self.rate * decay * momentum.norm()
        shrink = jnp.minimum(1.0, allowed / jnp.maximum(length, jnp.finfo(length.dtype).tiny))
        lift = momentum.lift if self.lift_in_kernel else jnp.zeros_like(weights.lift)
        whole = Weights(momentum.plain, momentum.heads, lift)
        return jax.tree.map(lambda phi: -self.rate * decay * shrink * phi, whole)

    def _reviewed(self, state: SpringState, batch: Batch, rows: LinearRows) -> SpringState:
        """Where the batch is that of the last step: damping from the decrease over the predicted one, the lift's rate
        from whether the slopes became larger."""
        before = state.squared_residuals
        promised = before - state.predicted_squared_residuals
        little = promised <= 1e-3 * before
        kept = jnp.where(little, 1.0, (before - rows.squared_residuals) / jnp.where(little, 1.0, promised))
        damping = jnp.where(kept > 0.5, state.damping / 2, state.damping * 2)
        worse = rows.squared_slopes > 1.1 * state.squared_slopes
        lift_rate = jnp.where(worse, 0.25 * state.lift_rate, 1.5 * state.lift_rate)
        adapted = (jnp.clip(damping, self.damping, MOST_DAMPING), jnp.minimum(lift_rate, self.lift_rate))
        again = batch.number == state.batch_number
        chosen = [
            jnp.where(again, new, old) for new, old in zip(adapted, (state.damping, state.lift_rate), strict=True)
        ]
        return eqx.tree_at(lambda s: (s.damping, s.lift_rate), state, chosen)
