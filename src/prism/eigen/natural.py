"""The natural gradient in the metric of the energy, with a damping that each step decides for the next.

    θ ← θ − ηs,      s = (G + ε tr(G)/P)⁻¹ g,      predicted decrease  2η g·s − η² s·Gs

A step is kept only where the energy is lower after it than before, at nodes that it was not made at; the damping ε is
multiplied by 4 where it is not, and halved where the decrease is more than half of the predicted one. For a product
near its minimum G is the Hessian but for the eigenvalue itself: each step takes off most of the error (Gauss and
Newton).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from prism.eigen.network import TensorNetwork
from prism.eigen.objective import EnergyBatch, EnergyObjective, System
from prism.numerics.compilation import PLAIN_LOOPS
from prism.numerics.damped_systems import positive_solution
from prism.shapes import Scalar
from prism.training.optimisers import Optimiser, StepInfo

MOST_DAMPING = 1e3
ROUNDING = 2.0
"""Units of rounding by which an energy may rise and count as equal."""
WHOLE_STEPS = 2.0
"""Times the decay: for the first half of a run steps are taken whole."""


class EnergyGradient(Optimiser[Float[Array, "networks"]]):
    """The natural gradient of the energy. Its state is the damping of every network."""

    rate: float = eqx.field(static=True, default=1.0)
    """η: the part of a step that is taken at first. Decays to zero over the second half of a run."""
    damping: float = eqx.field(static=True, default=1e-2)
    """ε at the start."""
    bound: float = eqx.field(static=True, default=0.5)
    """The longest step, relative to the length of all weights of a network."""

    natural = True
    compiler_options = PLAIN_LOOPS

    def init(self, model: TensorNetwork) -> Float[Array, "networks"]:
        return jnp.full(1 if model.shared else model.dimension, self.damping)

    def step(
        self,
        objective: EnergyObjective,
        model: TensorNetwork,
        state: Float[Array, "networks"],
        batch: EnergyBatch,
        decay: Scalar,
    ) -> tuple[TensorNetwork, Float[Array, "networks"], StepInfo]:
        networks = jnp.zeros(1, jnp.int32) if model.shared else batch.coordinates
        weights, system = objective.weights(model, batch), objective.system(model, batch)
        damping, rate = state[networks], self.rate * jnp.minimum(1.0, WHOLE_STEPS * decay)
        steps = jax.lax.map(lambda one: _solved(*one), (system.metric, system.gradient, damping))
        longest = self.bound * jnp.linalg.norm(weights, axis=1)
        steps = steps * jnp.minimum(1.0, longest / jnp.linalg.norm(steps, axis=1))[:, None]
        before = objective.judged(model, batch)
        after = objective.judged(objective.put(model, batch, weights - rate * steps), batch)
        rounding = ROUNDING * jnp.finfo(before.dtype).eps * jnp.maximum(jnp.abs(before), objective.sampling.pairs)
        better = after < before + rounding
        predicted = _predicted_decrease(system, steps, rate)
        least = 100.0 * jnp.finfo(damping.dtype).eps
        next_damping = (
            jnp.where(better, jnp.where(before - after + rounding > predicted / 2.0, 0.5, 1.0), 4.0) * damping
        )
        next_damping = jnp.clip(next_damping, least, MOST_DAMPING)
        kept = jnp.where(better[:, None], weights - rate * steps, weights)
        info = StepInfo(system.energy, jnp.isfinite(system.energy) & jnp.all(jnp.isfinite(system.gradient)))
        return objective.put(model, batch, kept), state.at[networks].set(next_damping), info


def _solved(metric: Float[Array, "w w"], gradient: Float[Array, "w"], damping: Scalar) -> Float[Array, "w"]:
    """s."""
    count = len(gradient)
    damped = metric + (damping * jnp.trace(metric) / count) * jnp.eye(count)
    return positive_solution(damped, gradient)


def _predicted_decrease(system: System, steps: Float[Array, "n w"], rate: Scalar) -> Float[Array, "n"]:
    linear = jnp.einsum("nw,nw->n", system.gradient, steps)
    quadratic = jnp.einsum("nw,nwv,nv->n", steps, system.metric, steps)
    return 2.0 * rate * linear - rate**2 * quadratic
