"""The natural gradient of a product, in the metric of its energy, with a damping that each step decides for the next.

    θ ← θ − ηs,      s = (G + ε tr(G)/P)⁻¹ g,      predicted decrease  2η g·s − η² s·Bs

G is a mean over the batches so far, in which each counts `memory` times as much as the next: without it a step learns
its own batch and forgets others. A step is kept only where the energy is lower after it than before, at nodes that it
was not made at; the damping ε is multiplied by 4 where it is not, and halved where the decrease is more than half of
the predicted one, for which B is the metric of this batch alone. Near the minimum G is the Hessian but for the
eigenvalue itself: each step takes off most of the error (Gauss and Newton).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.eigen.metric import flat
from prism.eigen.network import TensorNetwork
from prism.eigen.objective import EnergyBatch
from prism.eigen.separable_objective import SeparableEnergy, System
from prism.numerics.compilation import PLAIN_LOOPS
from prism.numerics.damped_systems import positive_solution
from prism.shapes import Scalar
from prism.training.optimisers import Optimiser, StepInfo

MOST_DAMPING = 1e3
WHOLE_STEPS = 2.0
"""Times the decay: for the first half of a run steps are taken whole."""


class GradientState(eqx.Module):
    """What the steps so far leave to the next."""

    damping: Float[Array, "networks"]
    metric: Float[Array, "w w"] | None
    """The mean of the metrics so far, times what their weights add up to; None where nothing is remembered."""
    total: Scalar
    """What these weights add up to."""


class EnergyGradient(Optimiser[GradientState]):
    """The natural gradient of the energy of a product."""

    rate: float = eqx.field(static=True, default=1.0)
    """η: the part of a step that is taken at first. Decays to zero over the second half of a run."""
    damping: float = eqx.field(static=True, default=1e-2)
    """ε at the start."""
    bound: float = eqx.field(static=True, default=0.5)
    """The longest step, relative to the length of all weights of a network."""
    memory: float = eqx.field(static=True, default=0.5)
    """How much a metric counts one step later; networks of their own have no memory."""

    natural = True
    compiler_options = PLAIN_LOOPS

    def init(self, model: TensorNetwork) -> GradientState:
        damping = jnp.full(1 if model.shared else model.dimension, self.damping)
        weights = len(flat(model.factors))
        metric = jnp.zeros((weights, weights)) if model.shared and self.memory > 0.0 else None
        return GradientState(damping, metric, jnp.zeros(()))

    def step(
        self,
        objective: SeparableEnergy,
        model: TensorNetwork,
        state: GradientState,
        batch: EnergyBatch,
        decay: Scalar,
    ) -> tuple[TensorNetwork, GradientState, StepInfo]:
        networks = jnp.zeros(1, jnp.int32) if model.shared else batch.coordinates
        weights, system = objective.weights(model, batch), objective.system(model, batch)
        damping, rate = state.damping[networks], self.rate * jnp.minimum(1.0, WHOLE_STEPS * decay)
        metric, remembered = self._remembered(state, system)
        steps = jax.lax.map(lambda one: _solved(*one), (metric, system.gradient, damping))
        longest = self.bound * jnp.linalg.norm(weights, axis=1)
        steps = steps * jnp.minimum(1.0, longest / jnp.linalg.norm(steps, axis=1))[:, None]
        before = objective.judged(model, batch)
        after = objective.judged(objective.put(model, batch, weights - rate * steps), batch)
        # Not even within rounding may it rise: near the end steps would wander about.
        better = after < before
        trusted = before - after > _predicted_decrease(system, steps, rate) / 2.0
        least = 100.0 * jnp.finfo(damping.dtype).eps
        next_damping = jnp.where(better, jnp.where(trusted, 0.5, 1.0), 4.0) * damping
        next_damping = jnp.clip(next_damping, least, MOST_DAMPING)
        kept = jnp.where(better[:, None], weights - rate * steps, weights)
        info = StepInfo(system.energy, jnp.isfinite(system.energy) & jnp.all(jnp.isfinite(system.gradient)))
        remembered = eqx.tree_at(lambda s: s.damping, remembered, state.damping.at[networks].set(next_damping))
        return objective.put(model, batch, kept), remembered, info

    def _remembered(self, state: GradientState, system: System) -> tuple[Float[Array, "n w w"], GradientState]:
        """The metrics of a step, and the state with them."""
        if state.metric is None:
            return system.metric, state
        total = self.memory * state.total + 1.0
        metric = self.memory * state.metric + system.metric[0]
        return (metric / total)[None], GradientState(state.damping, metric, total)


def _solved(metric: Float[Array, "w w"], gradient: Float[Array, "w"], damping: Scalar) -> Float[Array, "w"]:
    """s."""
    count = len(gradient)
    damped = metric + (damping * jnp.trace(metric) / count) * jnp.eye(count)
    return positive_solution(damped, gradient)


def _predicted_decrease(system: System, steps: Float[Array, "n w"], rate: Scalar) -> Float[Array, "n"]:
    linear = jnp.einsum("nw,nw->n", system.gradient, steps)
    quadratic = jnp.einsum("nw,nwv,nv->n", steps, system.metric, steps)
    return 2.0 * rate * linear - rate**2 * quadratic
